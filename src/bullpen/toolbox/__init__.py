"""The tools we ship: a folder per family, a file per tool, the text that teaches it beside the code.

`FAMILIES` is what `app.py` fills the registry with. Tools act through the nouns' actions, inside the transaction they
are given.
"""

from collections.abc import Mapping, Sequence

from bullpen.toolbox import files, groups, memory, messaging, mind, skills, tasks
from bullpen.tools import Tool
from bullpen.tools.teaching import Lesson

FAMILIES: Mapping[str, Sequence[Tool]] = {
    "messaging": messaging.TOOLS,
    "memory": memory.TOOLS,
    "mind": mind.TOOLS,
    "files": files.TOOLS,
    "tasks": tasks.TOOLS,
    "groups": groups.TOOLS,
    "skills": skills.TOOLS,
}
LESSONS: Mapping[str, Sequence[Lesson]] = {
    "messaging": messaging.LESSONS,
    "memory": memory.LESSONS,
    "mind": mind.LESSONS,
    "files": files.LESSONS,
    "tasks": tasks.LESSONS,
    "groups": groups.LESSONS,
    "skills": skills.LESSONS,
}
