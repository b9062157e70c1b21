"""How a kind of tool is carried out, a module for each kind. The door around them all is tools/execute.py.

The kinds that hold nothing make a function, which the stateless `Executor` calls. One that holds something for long (a
session, a process) is an `Executor` of its own: see tools/types.py and tools/open_executors.py.
"""
