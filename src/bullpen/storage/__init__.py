"""Where rows live. Two databases, one way to write.

`Store.transact(body)` is the only way to change anything, `Store.read(body)` the way to look. Knows tables and
transactions; knows nothing of what the rows mean: that is each noun's `rows.py`.
"""

from bullpen.storage.statements import Statement, any_of
from bullpen.storage.store import Row, Stage, Store, Transaction, Transacts
from bullpen.storage.tables import metadata
from bullpen.storage.topics import Topic

__all__ = ["Row", "Stage", "Statement", "Store", "Topic", "Transaction", "Transacts", "any_of", "metadata"]
