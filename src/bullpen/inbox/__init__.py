"""What a thread has not yet looked at.

The inbox is the truth about work: a run starts only if an item is unclaimed, and claims its items in the transaction
that starts it. Delivering the same thing twice keeps one item.
"""
