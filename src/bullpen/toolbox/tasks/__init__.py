"""Scheduling: tasks that wake the agent at their times, in the space it is in."""

from bullpen.toolbox.tasks.cancel_task import cancel_task
from bullpen.toolbox.tasks.list_tasks import list_tasks
from bullpen.toolbox.tasks.pause_task import pause_task
from bullpen.toolbox.tasks.resume_task import resume_task
from bullpen.toolbox.tasks.schedule_task import schedule_task
from bullpen.tools.teaching import Lesson

TOOLS = (schedule_task, list_tasks, pause_task, resume_task, cancel_task)

LESSONS = (
    Lesson(
        "You can do things later: call schedule_task with what you want to do then, and you are woken at that time "
        "with those words. Times are local times of the space's zone. Look at the next times in the result and tell "
        "people when it will be. An isolated task starts without history: put everything it needs in the prompt.",
        ("schedule_task",),
    ),
)
