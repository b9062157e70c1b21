"""Search by meaning: vectors of what was written, kept up to date in the background, and the nearest to a question.

It knows texts, scopes and vectors, and neither who may read what nor how results are ranked with words: see
memory/search.py and operations/searching.py.
"""
