"""The model port: a transcript goes in, what the model wants comes out.

Knows nothing of runs, spaces or tools beyond their names and schemas. Providers differ in files of their own; the
`script` provider needs no network and plays written turns, so that rooms can be rehearsed offline and in CI.
"""
