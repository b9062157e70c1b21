"""Checks every part of an installation for real, and says what to do about what is wrong.

Looks, writes nothing (but one small file, to see whether the disk keeps it) and needs no server: it reads the database
beside a running one, and says so when it cannot be reached. Above the nouns whose rows it reads; what only a running
process knows is asked by the command that calls this.
"""
