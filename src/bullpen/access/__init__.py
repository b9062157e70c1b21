"""Who may do what: people, tokens, grants, and the one authorize().

Knows principals and rights; does not know what the objects are for. Rights come from identity, never from an
address or a header.
"""
