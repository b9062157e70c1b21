"""A mind of one's own: goals, memories by key, and plans that wake the agent."""

from bullpen.toolbox.mind.delete_goals import delete_goals
from bullpen.toolbox.mind.delete_memories import delete_memories
from bullpen.toolbox.mind.delete_plans import delete_plans
from bullpen.toolbox.mind.get_plans import get_plans
from bullpen.toolbox.mind.set_goals import set_goals
from bullpen.toolbox.mind.set_memories import set_memories
from bullpen.toolbox.mind.set_plans import set_plans
from bullpen.tools.teaching import Lesson

TOOLS = (set_goals, delete_goals, set_memories, delete_memories, set_plans, delete_plans, get_plans)

LESSONS = (
    Lesson(
        "Goals that you set are shown above each time you wake: call set_goals when you take one on, and when it is "
        "completed or abandoned.",
        ("set_goals",),
    ),
    Lesson("Keep facts that you always need under keys with set_memories.", ("set_memories",)),
    Lesson(
        "To do something later, call set_plans: you are woken at that time with the instruction. Put all you need to "
        "know into it, look at the times in the result, and tell people when it will be.",
        ("set_plans",),
    ),
)
