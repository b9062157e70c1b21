"""Agent files of Letta are read as they come: two formats, files inside texts, and whatever somebody broke."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bullpen.errors import Invalid
from bullpen.memory import letta


def af(**more: Any) -> dict[str, Any]:
    """A file as Letta's server writes it, with one agent."""
    agent = {
        "id": "agent-0",
        "name": "Rosa the gardener",
        "description": "Knows plants",
        "system": "You are Rosa. Help people with their garden.",
        "agent_type": "memgpt_v2_agent",
        "llm_config": {"handle": "openai/gpt-4.1", "model": "gpt-4.1"},
        "timezone": "Europe/Lisbon",
        "block_ids": ["block-0", "block-1"],
        "tool_ids": ["tool-0", "tool-1"],
        "messages": [
            {"role": "system", "content": [{"type": "text", "text": "You are Rosa."}]},
            {"role": "user", "content": [{"type": "text", "text": '{"type": "heartbeat", "time": "now"}'}]},
            {
                "role": "user",
                "content": [{"type": "text", "text": '{"type": "user_message", "message": "When do I prune roses?"}'}],
                "created_at": "2026-01-02T09:00:00Z",
            },
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "I should look that up."}],
                "tool_calls": [{"function": {"name": "send_message", "arguments": '{"message": "In February."}'}}],
            },
            {"role": "tool", "content": [{"type": "text", "text": '{"status": "OK"}'}]},
        ],
        "secrets": {"GARDEN_KEY": "never-to-be-read"},
    }
    blocks = [
        {"id": "block-0", "label": "persona", "value": "I am Rosa.", "limit": 5000, "description": "Who I am"},
        {"id": "block-1", "label": "rules", "value": "Be kind.", "limit": 2, "read_only": True},
        {"id": "block-9", "label": "stranger", "value": "Of another agent"},
    ]
    tools = [
        {"id": "tool-0", "name": "archival_memory_search"},
        {"id": "tool-1", "name": "water_plants", "source_code": "import os"},
    ]
    return {"agents": [agent | more], "blocks": blocks, "tools": tools, "mcp_servers": [{"id": "mcp-0"}]}


def read_one(file: Any) -> letta.LettaAgent:
    [agent] = letta.read(json.dumps(file).encode())
    return agent


def test_an_agent_comes_with_blocks_conversation_and_tools() -> None:
    agent = read_one(af())
    assert (agent.id, agent.name, agent.model) == ("rosa-the-gardener", "Rosa the gardener", "openai:gpt-4.1")
    assert agent.instructions == "You are Rosa. Help people with their garden."
    assert [(each.label, each.content, each.limit) for each in agent.blocks] == [
        ("persona", "I am Rosa.", 5000),
        ("rules", "Be kind.", 8),
    ]
    assert [each.content for each in agent.passages] == ["A person: When do I prune roses?", "You: In February."]
    assert agent.passages[0].metadata == {"source": "letta", "at": "2026-01-02T09:00:00Z"}
    assert agent.tools == ["memory", "messaging"]


def test_what_cannot_come_along_is_named() -> None:
    losses = "\n".join(read_one(af()).losses)
    for word in ("'rules' was read-only", "water_plants", "GARDEN_KEY", "MCP servers"):
        assert word in losses
    assert "never-to-be-read" not in losses


def test_an_older_file_is_one_agent() -> None:
    file = {
        "agent_type": "memgpt_agent",
        "name": "Old",
        "system": "Be old.",
        "core_memory": [{"label": "human", "value": "Ada", "limit": 100}],
        "messages": [{"role": "user", "text": "Hello"}, {"role": "assistant", "text": "Hello Ada"}],
        "tools": [{"name": "send_message"}],
    }
    agent = read_one(file)
    assert [each.label for each in agent.blocks] == ["human"]
    assert [each.content for each in agent.passages] == ["A person: Hello", "You: Hello Ada"]


def test_a_file_inside_a_text_is_read() -> None:
    raw = json.dumps(json.dumps(af())).encode()
    assert letta.is_letta(raw)
    assert [each.name for each in letta.read(raw)] == ["Rosa the gardener"]


def test_passages_are_taken_from_every_place() -> None:
    file = af(archival_memory=[{"text": "Clay holds water", "tags": ["soil"]}])
    file["passages"] = [{"text": "Roses like clay", "agent_id": "agent-0"}, {"text": "Not hers", "agent_id": "agent-7"}]
    stored = [each for each in read_one(file).passages if "conversation" not in each.tags]
    assert [(each.content, each.tags) for each in stored] == [
        ("Roses like clay", ("letta",)),
        ("Clay holds water", ("letta", "soil")),
    ]


def test_a_block_that_is_too_long_loses_nothing() -> None:
    file = af()
    file["blocks"][0]["value"] = "x" * 45_000
    agent = read_one(file)
    rest = [each.content for each in agent.passages if "block" in each.tags]
    assert len(agent.blocks[0].content) + sum(map(len, rest)) == 45_000


@pytest.mark.parametrize("raw", [b"", b"{}", b"[]", b'"text"', b'{"agents": 7}', b"\xff\xfe", b'{"agents": []}'])
def test_what_is_no_agent_file_is_refused(raw: bytes) -> None:
    assert not letta.is_letta(raw)
    with pytest.raises(Invalid):
        letta.read(raw)


_JSON = st.recursive(st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=9), st.lists, max_leaves=6)


@given(st.sampled_from(sorted(af()["agents"][0])), _JSON)
def test_a_broken_field_breaks_nothing_else(name: str, value: Any) -> None:
    agent = read_one(af(**{name: value}))
    assert isinstance(agent.name, str)
    assert agent.tools
