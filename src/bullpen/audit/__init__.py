"""Who did what that somebody may have to account for: one row each, in a chain of hashes.

A row is written by the transaction whose change it tells of, so neither happens without the other. It names people and
things by id and never holds a secret or what somebody said, so nothing in it has to be erased. Does not know what the
actions mean, nor who may read them.
"""
