"""HTTP and SSE, one file per noun. The edge: it opens transactions, and turns errors into responses.

Knows requests and principals; decides nothing itself. Bodies are read with a cap and parsed once (`body.py`), errors
are one table (`errors.py`), lists are one shape (`pages.py`).
"""
