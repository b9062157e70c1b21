"""What an agent wants (goals), knows by a key (memories) and means to do (plans).

All of it stands in the agent's prompt. Plans are fired by the clock of tasks.
"""
