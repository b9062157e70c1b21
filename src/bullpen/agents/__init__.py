"""What an agent is: a named definition of instructions, model, tools and limits.

Knows how definitions are kept and read from files. Does not know what an agent is doing: that is threads and runs.
"""
