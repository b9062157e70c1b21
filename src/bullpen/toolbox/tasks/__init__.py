"""Scheduling: tasks that wake the agent at their times, in the space it is in."""

from bullpen.toolbox.tasks.cancel_task import cancel_task
from bullpen.toolbox.tasks.list_tasks import list_tasks
from bullpen.toolbox.tasks.pause_task import pause_task
from bullpen.toolbox.tasks.resume_task import resume_task
from bullpen.toolbox.tasks.schedule_task import schedule_task

TOOLS = (schedule_task, list_tasks, pause_task, resume_task, cancel_task)

TEACHING = """\
You can do things later: call schedule_task with what you want to do then, and you are woken at that time with those \
words. Times are local times of the space's zone. Look at the next times in the result and tell people when it will \
be. A task of its own kind needs all that you have to know in its prompt if its context_mode is isolated."""
