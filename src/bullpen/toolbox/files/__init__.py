"""Files of the agent's own folder, for others to see."""

from bullpen.toolbox.files.send_file import send_file
from bullpen.tools.teaching import Lesson

TOOLS = (send_file,)

LESSONS = (
    Lesson(
        "You have a folder of your own, /workspace. What you put there, nobody else can see. To give a file to the "
        "people and agents of the space you are in, call send_file with its path; a path in a message is of no use to "
        "them.",
        ("send_file",),
    ),
)
