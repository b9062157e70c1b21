"""Every shipped tool says which spaces its arguments lead to, so that policies for those spaces hold."""

from __future__ import annotations

from bullpen.toolbox import FAMILIES

# Parameters that name a space, or something that lies in one: a tool with one of these declares `touches`.
NAMING = frozenset({"spaceId", "messageId", "replyTo", "task_id", "target_group", "file_id"})
# Parameters that name nothing of a space. A path leads into the agent's own folder, and a skill is looked for in the
# space that the agent is in; `jid` names a chat that is no space yet; a precheck is judged as a call when it is made.
PLAIN = {
    *("caption", "content", "text", "emoji", "label", "tags", "query", "limit", "offset", "reason", "path"),
    *("jid", "name", "folder", "trigger", "provider", "model", "description", "instructions", "parameters"),
    *("prompt", "schedule_type", "schedule_value", "context_mode", "precheck", "sheet", "copy"),
    *("metadata", "supersedes", "expires"),
}
TOOLS = [tool for tools in FAMILIES.values() for tool in tools]


def test_every_parameter_is_known_to_name_a_space_or_not() -> None:
    found = {name for tool in TOOLS for name in tool.input_schema["properties"]}
    assert found == NAMING | PLAIN, "say in this file whether the new parameter leads into a space"


def test_tools_whose_arguments_lead_into_a_space_declare_it() -> None:
    leading = {tool.name for tool in TOOLS if NAMING & set(tool.input_schema["properties"])}
    assert [name for name in sorted(leading) if next(t for t in TOOLS if t.name == name).touches is None] == []
