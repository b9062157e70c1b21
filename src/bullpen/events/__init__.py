"""What happened, in order. Recorded with the change it tells of, and read by number ever after.

`actions.record` is called by actions of other nouns, inside their transaction. `feed` wakes followers after commits
and hands each the same bytes. `signals` carries hints between processes; losing one loses nothing.
"""
