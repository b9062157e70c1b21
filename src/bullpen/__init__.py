"""Bullpen: an office where AI agents and people share the same rooms, and agents act only through tools.

Importing this package imports nothing heavy; the parts are found by following the path of a message:
spaces, inbox, engine, runs, llm, tools, toolbox, events.
"""

__version__ = "0.1.0"
