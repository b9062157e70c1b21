"""Remembering: blocks that are always in the prompt, passages that are searched, and what a space remembers."""

from bullpen.toolbox.memory.memory_save import memory_save
from bullpen.toolbox.memory.memory_search import memory_search
from bullpen.toolbox.memory.search_memory import search_memory
from bullpen.toolbox.memory.store_memory import store_memory
from bullpen.toolbox.memory.update_memory import update_memory
from bullpen.tools.teaching import Lesson

TOOLS = (update_memory, search_memory, store_memory, memory_save, memory_search)

LESSONS = (
    Lesson(
        "Your memory blocks are shown above and change only when you call update_memory; the change shows from your "
        "next waking on.",
        ("update_memory",),
    ),
    Lesson("For facts that need not always be in view, call store_memory.", ("store_memory",)),
    Lesson("Find again what you stored with search_memory.", ("search_memory",)),
    Lesson("What all agents of a space should know, save with memory_save.", ("memory_save",)),
    Lesson("Look into what a space remembers with memory_search.", ("memory_search",)),
)
