"""Managing groups, from the main group: which there are, which chats could become one, and registering one."""

from bullpen.toolbox.groups.list_groups import list_groups
from bullpen.toolbox.groups.register_group import register_group

TOOLS = (register_group, list_groups)

TEACHING = """\
In the main group you can register other chats as groups: call list_groups to see the chats that are there, then \
register_group with the chat's jid. In a group people wake you with its trigger word, and you speak to that group \
only."""
