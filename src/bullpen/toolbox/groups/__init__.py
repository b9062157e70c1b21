"""Managing groups, from the main group: which there are, which chats could become one, and registering one."""

from bullpen.toolbox.groups.list_groups import list_groups
from bullpen.toolbox.groups.register_group import register_group
from bullpen.tools.teaching import Lesson

TOOLS = (register_group, list_groups)

LESSONS = (
    Lesson("In the main group, list_groups shows the chats that are not groups yet.", ("list_groups",)),
    Lesson(
        "In the main group you can make a chat a group: call register_group with the chat's jid. In a group people "
        "wake you with its trigger word, and you speak to that group only.",
        ("register_group",),
    ),
)
