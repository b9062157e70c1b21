"""What an operator sees of a process: its figures and its log lines.

Stands low, just above the settings, so that storage, engine, runs and api may all count and log. It knows none of
them: they say what happened, this package keeps it in memory and writes it down. Everything here is per process and is
lost when the process ends; what must outlast it is a row of `audit`. Nothing here is asked before anything is done.
"""
