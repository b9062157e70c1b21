"""Who speaks where: spaces, members, messages, reactions.

Posting is where the path begins: the message, an item for every thread it wakes, and the event are one transaction.
Knows who is addressed; does not know what agents do with it.
"""
