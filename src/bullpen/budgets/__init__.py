"""How much may be spent, and how much was: budgets, spending, and the threads that a used-up budget holds back.

What a step costs is said by `bullpen.llm.prices`; when budgets are looked at, and what becomes of a run then, by
`bullpen.runs`. Nothing here knows of runs but by their ids.
"""
