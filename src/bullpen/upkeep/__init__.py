"""Keeping an office for years: backup and restore, export and erasure, and forgetting what is old.

Works on the office from outside its daily life. Knows every noun, since it must find all that was ever kept of one;
nothing below knows of it. Whoever calls it (a command, a route, the server's own timer) has checked who may.
"""
