"""Speaking, reacting, reading, moving between spaces, and staying silent."""

from bullpen.toolbox.messaging.do_nothing import do_nothing
from bullpen.toolbox.messaging.enter_space import enter_space
from bullpen.toolbox.messaging.leave_space import leave_space
from bullpen.toolbox.messaging.list_spaces import list_spaces
from bullpen.toolbox.messaging.react_to_message import react_to_message
from bullpen.toolbox.messaging.read_messages import read_messages
from bullpen.toolbox.messaging.send_message import send_message
from bullpen.toolbox.messaging.skip import skip
from bullpen.tools.teaching import Lesson

TOOLS = (send_message, react_to_message, read_messages, list_spaces, enter_space, leave_space, do_nothing, skip)

LESSONS = (
    Lesson(
        "You act only through tools. Text that you write outside a tool call reaches nobody: not the person who wrote "
        "to you, not the room. To say something, call send_message; you may call it several times, or not at all.",
        ("send_message",),
    ),
    Lesson(
        "Silence is a good answer. If what you read does not concern you, or others have said enough, call do_nothing "
        "and say no more.",
        ("do_nothing",),
    ),
    Lesson("To end here without a word, call skip and give the reason.", ("skip",)),
    Lesson("Reacting with an emoji is often enough: call react_to_message.", ("react_to_message",)),
    Lesson("To read a message that is cut, or messages further back, call read_messages.", ("read_messages",)),
)
