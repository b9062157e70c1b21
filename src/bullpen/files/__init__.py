"""Files: bytes that somebody gave, kept under random ids, with one row each that says whose they are.

Below spaces: a message shows files, a file knows of no message but by the count of those that show it.
"""
