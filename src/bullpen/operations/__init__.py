"""What several nouns do together, for every door: the API, the command line, bridges.

An operation is a plain function. It checks that the caller may do it, changes all nouns that take part, and notes it in
the audit log. It knows nothing of HTTP. Doors parse, call one operation, and answer. An operation receives an open
transaction; one that needs several of them takes the store instead.
"""
