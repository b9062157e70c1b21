"""Reading Letta's agent files (`.af`): agents with their blocks, passages, conversation and tools. Pure.

A file comes from somewhere else, so nothing in it is believed: what has another shape than expected is left out, and
each thing that cannot be carried over stands in `losses`, in a sentence for the person who imports. Values of secrets
are never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from bullpen.errors import Invalid

MOST_AGENTS: Final = 50
MOST_CHARACTERS: Final = 20_000  # of one passage or block: as long as ours may be
MOST_LABEL: Final = 200

# What their tools are called, and the family or tool of ours that does the same.
_TOOLS: Final[Mapping[str, str]] = {
    "send_message": "messaging",
    "conversation_search": "messaging",
    **dict.fromkeys(
        (
            "archival_memory_insert",
            "archival_memory_search",
            "core_memory_append",
            "core_memory_replace",
            "memory",
            "memory_apply_patch",
            "memory_finish_edits",
            "memory_insert",
            "memory_replace",
            "memory_rethink",
            "rethink_memory",
        ),
        "memory",
    ),
}
_PROVIDERS: Final = {"anthropic": "anthropic", "openai": "openai", "google_ai": "google", "google": "google"}
# Messages that their server writes by itself, as JSON in the place of a person's words.
_NOBODY_SAID: Final = frozenset({"heartbeat", "login", "system_alert", "boot"})
_NOT_IN_A_NAME: Final = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class LettaBlock:
    label: str
    content: str
    description: str = ""
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class LettaPassage:
    content: str
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class LettaAgent:
    id: str
    name: str
    description: str = ""
    instructions: str = ""
    model: str | None = None
    timezone: str | None = None
    tools: list[str] = field(default_factory=list)  # families of ours
    blocks: list[LettaBlock] = field(default_factory=list)
    passages: list[LettaPassage] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)


def is_letta(raw: bytes) -> bool:
    """Does this look like an agent file, whatever it is called?"""
    try:
        return bool(_agents(_load(raw)))
    except Invalid:
        return False


def read(raw: bytes) -> list[LettaAgent]:
    """The agents of a file. Invalid, if it holds none."""
    file = _load(raw)
    agents = _agents(file)
    if not agents:
        raise Invalid("This is no agent file of Letta: it holds no agents.")
    if len(agents) > MOST_AGENTS:
        raise Invalid(f"The file holds {len(agents)} agents. At most {MOST_AGENTS} can be imported at once.")
    return [_agent(file, each) for each in agents]


def _load(raw: bytes) -> Mapping[str, Any]:
    try:
        found = orjson.loads(raw)
        if isinstance(found, str):  # their server has written files that are a JSON text in a JSON text
            found = orjson.loads(found)
    except orjson.JSONDecodeError as error:
        raise Invalid(f"This is no agent file of Letta: it is not JSON ({error}).") from None
    if not isinstance(found, dict):
        raise Invalid("This is no agent file of Letta: it holds no agents.")
    return found


def _agents(file: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Newer files hold several agents; older ones are one."""
    if isinstance(file.get("agents"), list):
        return _objects(file["agents"])
    return [file] if "core_memory" in file and "agent_type" in file else []


def _agent(file: Mapping[str, Any], found: Mapping[str, Any]) -> LettaAgent:
    name = _text(found.get("name")) or "Agent from Letta"
    agent = LettaAgent(_id(name), name[:100], _text(found.get("description")), _text(found.get("system")))
    agent.timezone = _text(found.get("timezone")) or None
    _read_model(agent, found.get("llm_config"))
    _read_blocks(agent, file, found)
    _read_passages(agent, file, found)
    _read_messages(agent, found)
    _read_tools(agent, file, found)
    _read_losses(agent, file, found)
    return agent


def _id(name: str) -> str:
    return _NOT_IN_A_NAME.sub("-", name.lower()).strip("-")[:64] or "letta-agent"


def _read_model(agent: LettaAgent, config: Any) -> None:
    """`openai/gpt-4.1` is ours as `openai:gpt-4.1`."""
    named = _text(config.get("handle")) if isinstance(config, dict) else ""
    provider, _, model = named.partition("/")
    if provider in _PROVIDERS and model:
        agent.model = f"{_PROVIDERS[provider]}:{model}"
    elif named:
        agent.losses.append(
            f"The model {named!r} is not one that Bullpen knows by this name. Choose one for the agent."
        )


def _read_blocks(agent: LettaAgent, file: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    wanted = set(_texts(found.get("block_ids")))
    blocks = [each for each in _objects(file.get("blocks")) if each.get("id") in wanted]
    seen: set[str] = set()
    for each in [*blocks, *_objects(found.get("core_memory")), *_objects(found.get("memory_blocks"))]:
        label = _text(each.get("label"))[:MOST_LABEL]
        if not label or label in seen:
            continue
        seen.add(label)
        content, limit = _text(each.get("value")), each.get("limit")
        if rest := content[MOST_CHARACTERS:]:
            agent.passages += _pieces(rest, ("letta", "block"), None)
            agent.losses.append(
                f"Block {label!r} has {len(content)} characters. The first {MOST_CHARACTERS} are the block; the rest "
                "became passages, which the agent can search."
            )
        content = content[:MOST_CHARACTERS]
        room = limit if isinstance(limit, int) and not isinstance(limit, bool) else len(content)
        room = min(MOST_CHARACTERS, max(room, len(content), 1))
        agent.blocks.append(LettaBlock(label, content, _text(each.get("description")), room))
        if each.get("read_only") is True:
            agent.losses.append(f"Block {label!r} was read-only. Here the agent can change its own blocks.")


def _read_passages(agent: LettaAgent, file: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    """Files hold them in several places, if at all."""
    its_id = found.get("id")
    shared = [each for each in _objects(file.get("passages")) if each.get("agent_id") in (None, its_id)]
    for each in [*shared, *_objects(found.get("passages")), *_objects(found.get("archival_memory"))]:
        if content := _text(each.get("text")) or _text(each.get("content")):
            tags = tuple(tag[:100] for tag in _texts(each.get("tags"))[:40])
            agent.passages += _pieces(content, ("letta", *tags), each.get("created_at"))


def _read_messages(agent: LettaAgent, found: Mapping[str, Any]) -> None:
    """What people and the agent said becomes passages: it can be searched, and stands in no room that it was not in."""
    others = 0
    for message in _objects(found.get("messages")):
        said = list(_said(message))
        if not said:
            others += message.get("role") != "system"
        for who, text in said:
            agent.passages += _pieces(f"{who}: {text}", ("letta", "conversation"), message.get("created_at"))
    if others:
        agent.losses.append(f"{others} messages that hold no words (calls and results of tools) were left out.")


def _said(message: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Who said what in a message: a person's words, or what the agent sent."""
    if message.get("role") == "user" and (text := _person_said(_content(message))):
        yield _text(message.get("name")) or "A person", text
    if message.get("role") == "assistant":
        for call in _objects(message.get("tool_calls")):
            function = call.get("function")
            if isinstance(function, dict) and function.get("name") == "send_message":
                arguments = _parsed(function.get("arguments"))
                if text := _text(arguments.get("message")):
                    yield "You", text
        if not message.get("tool_calls") and (text := _content(message)):
            yield "You", text


def _content(message: Mapping[str, Any]) -> str:
    content = message.get("content", message.get("text"))
    if isinstance(content, list):
        return "\n".join(_text(part.get("text")) for part in _objects(content)).strip()
    return _text(content).strip()


def _person_said(content: str) -> str:
    """Their server wraps what people say into JSON, and writes such JSON itself."""
    wrapped = _parsed(content)
    if not wrapped:
        return content
    return "" if wrapped.get("type") in _NOBODY_SAID else _text(wrapped.get("message"))


def _pieces(content: str, tags: Sequence[str], at: Any) -> Iterator[LettaPassage]:
    metadata = {"source": "letta", **({"at": at[:40]} if isinstance(at, str) else {})}
    for start in range(0, len(content), MOST_CHARACTERS):
        yield LettaPassage(content[start : start + MOST_CHARACTERS], tuple(tags), metadata)


def _read_tools(agent: LettaAgent, file: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    wanted = set(_texts(found.get("tool_ids")))
    tools = [each for each in _objects(file.get("tools")) if each.get("id") in wanted or "agents" not in file]
    names = {_text(each.get("name")) for each in tools} | set(_texts(found.get("tools")))
    known = {_TOOLS[name] for name in names if name in _TOOLS}
    agent.tools = sorted(known | {"messaging", "memory"})
    if unknown := sorted(name for name in names - set(_TOOLS) if name):
        agent.losses.append(
            f"These tools have no counterpart: {', '.join(unknown)}. Define those that you need "
            "(docs/guide/tools.md); their Python code was not taken over."
        )


def _read_losses(agent: LettaAgent, file: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    if agent.instructions and any(
        name in agent.instructions for name in _TOOLS if "_" in name and name != "send_message"
    ):
        agent.losses.append("The instructions speak of Letta's tools. Read them, and say it in your own words.")
    secrets = {*_names(found.get("secrets")), *_names(found.get("tool_exec_environment_variables"))}
    if secrets:
        agent.losses.append(
            f"Variables are not imported: set {', '.join(sorted(secrets))} yourself, if tools need them."
        )
    for name, what in (
        ("tool_rules", "rules for tools"),
        ("identity_ids", "identities"),
        ("files_agents", "open files"),
    ):
        if found.get(name):
            agent.losses.append(f"Its {what} have no counterpart.")
    for name, what in (
        ("groups", "groups of agents"),
        ("files", "files"),
        ("mcp_servers", "MCP servers"),
        ("skills", "skills"),
    ):
        if file.get(name):
            agent.losses.append(f"The file holds {what}, which are not imported.")


# ── values of unknown shape ─────────────────────────────────────────────────────────────────────────────────────────


def _objects(found: Any) -> list[Mapping[str, Any]]:
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _texts(found: Any) -> list[str]:
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _names(found: Any) -> list[str]:
    """Of a mapping, or of a list of things with a key."""
    if isinstance(found, dict):
        return [name for name in found if isinstance(name, str)]
    return [name for each in _objects(found) if (name := _text(each.get("key")))]


def _text(found: Any) -> str:
    return found.replace("\x00", "") if isinstance(found, str) else ""


def _parsed(found: Any) -> Mapping[str, Any]:
    if isinstance(found, dict):
        return found
    try:
        value = orjson.loads(found) if isinstance(found, str) and found.lstrip().startswith("{") else None
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}
