"""Nudges, leases, workers: who drives which thread, on one machine or many.

The nudge is a hint; the inbox is the truth. The engine never imports what it drives: `app.py` gives it the function.
Losing a nudge loses nothing (the sweep finds the thread), and one too many does nothing (the claim finds no work).
"""
