"""Which model it is that answers: the agent's, or the one that a space asks for; and what that costs at the start."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from bullpen.llm.models import in_space
from bullpen.testing.model_server import KEY, ModelServer, plays
from bullpen.testing.wires import Text
from tests.driver import Offices

pytestmark = pytest.mark.one_database

LOCAL = {"provider": "openai-chat", "name": "small", "baseUrl": "http://10.0.0.5:11434/v1", "apiKeyVariable": "LOCAL"}


@pytest.mark.parametrize(
    "spec, provider, name, chosen",
    [
        ("anthropic:a", None, None, "anthropic:a"),
        ("anthropic:a", None, 7, "anthropic:a"),
        ("anthropic:a", None, "b", {"provider": "anthropic", "name": "b"}),
        ("anthropic:a", "anthropic", None, "anthropic:a"),
        ("anthropic:a", "openai", "gpt-x", {"provider": "openai", "name": "gpt-x"}),
        ("anthropic:a", None, "openai:gpt-x", {"provider": "openai", "name": "gpt-x"}),
        ("anthropic:a", None, "llama3:8b", {"provider": "anthropic", "name": "llama3:8b"}),
        ("anthropic:a", "openai-chat", "llama3:8b", {"provider": "openai-chat", "name": "llama3:8b"}),
        (LOCAL, None, "large", {**LOCAL, "name": "large"}),
        # To another provider go neither this one's address nor its key.
        (LOCAL, "openai", "gpt-x", {"provider": "openai", "name": "gpt-x"}),
        ("anthropic:a", None, {"provider": "openai", "name": "x", "baseUrl": "https://evil.example", "key": "k"},
         {"provider": "openai", "name": "x"}),
        ({"provider": "script", "turns": []}, None, "silent", {"provider": "script", "name": "silent"}),
    ],
)  # fmt: skip
def test_a_space_chooses_among_models_and_no_more(spec: Any, provider: str | None, name: Any, chosen: Any) -> None:
    assert in_space(spec, provider, name) == chosen


def test_a_provider_alone_means_its_usual_model() -> None:
    assert in_space("script:echo", "anthropic", None)["name"].startswith("claude-")
    assert in_space("script:echo", "openai", None)["name"].startswith("gpt-")


async def test_the_model_of_a_space_answers_there_and_nowhere_else(offices: Offices, server: ModelServer) -> None:
    office = await offices.open(variables={"OPENAI_API_KEY": KEY}, openai_base_url=f"{server.url}/v1")
    server.gives(plays(Text("")))
    await office.agent("ada", model="openai:usual")
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.space("lab", ["ada"], wake={"people": "all"}, provider="openai-chat", model="odd")
    for number, space in enumerate(("general", "lab"), start=1):
        await office.post(space, "hello")
        await office.run_finished("ada", nth=number)
    assert [(asked.wire, asked.json["model"]) for asked in server.asked] == [("responses", "usual"), ("chat", "odd")]


LAZY = """
import sys
import bullpen.app
wrong = [name for name in sys.modules if name.split(".")[0] in ("openai", "anthropic", "pydantic_ai", "aiohttp")
         or name in ("bullpen.llm.elsewhere", "bullpen.llm.anthropic", "bullpen.llm.streaming", "bullpen.net.client")]
assert not wrong, wrong
"""


def test_a_server_starts_without_any_providers_code() -> None:
    subprocess.run([sys.executable, "-c", LAZY], check=True)
