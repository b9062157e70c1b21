"""What an agent remembers: blocks, which are always in its prompt, and passages, which it searches.

Everything is keyed by the agent; no function here can reach another's.
"""
