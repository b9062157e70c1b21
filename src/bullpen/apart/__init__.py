"""Child processes for code that reads hostile bytes: schemas and pictures today.

`pool.py` is the side of the server, `process.py` the program of a child, `frames.py` what travels between them. The
functions that run in a child live here too (`schemas.py`, `pictures.py`) and import nothing else of ours. A child has
limits on time and memory and sees nothing of our environment, so what kills it does not touch the server.
"""
