"""Files that people attach, and files of the agent's own folder: reading, writing, and sending them."""

from bullpen.toolbox.files.read_file import read_file
from bullpen.toolbox.files.send_file import send_file
from bullpen.toolbox.files.write_file import write_file
from bullpen.tools.teaching import Lesson

TOOLS = (send_file, read_file, write_file)

LESSONS = (
    Lesson(
        "Files that people attach are listed as [file: …, id fil_…]. You see their names only; to know what is in one, "
        "call read_file with its id.",
        ("read_file",),
    ),
    Lesson(
        "You have a folder of your own, /workspace. What you put there, nobody else can see. To give a file to the "
        "people and agents of the space you are in, call send_file with its path; a path in a message is of no use to "
        "them.",
        ("send_file",),
    ),
    Lesson("To make a file there, call write_file.", ("write_file", "send_file")),
)
