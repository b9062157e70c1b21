"""How much the server costs: CPU and ratios, measured in one run, against `budgets.py`.

`make bench` runs everything; `python -m bench run sse` runs parts. Wall time on a shared machine says little, so what
is counted is CPU of the whole process, threads and kernel included; things that are compared take turns in the same
minutes, and a figure is the median of its rounds. Never part of the tests: a figure that is over its aim is
shown, not failed.
"""
