"""bullpen models, as people type it: connect, list, check, price, choose, remove."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bullpen.testing.model_server import KEY, model_server, plays
from bullpen.testing.wires import Text
from tests.cli.processes import bullpen, output

PROJECT = 'agents:\n  - {id: ada, name: Ada, model: "script:silent"}\n'


async def test_a_provider_is_connected_checked_priced_and_removed(office_data: Path) -> None:
    async with model_server(plays(Text("yes"))) as server:
        reach = {"ANTHROPIC_BASE_URL": server.url}

        def type_all() -> None:
            made = output(office_data, "models", "add", "anthropic", "--name", "Claude", "--key", stdin=KEY, **reach)
            assert f"{made}  Claude" in output(office_data, "models", **reach)
            offered = output(office_data, "models", "list", "claude", **reach)
            assert offered.splitlines()[1].split()[:2] == ["a-model", "yes"]
            assert "no price set" in offered
            assert "answered" in output(office_data, "models", "check", "Claude", "a-model", **reach)
            output(office_data, "models", "price", "Claude", "a-model", "2.5", "10", "--context", "32000", **reach)
            priced = output(office_data, "models", "list", made, **reach).splitlines()[1]
            assert priced.split() == ["a-model", "yes", "2.5", "10", "2.5", "32000"]
            output(office_data, "models", "default", "Claude", "a-model", **reach)
            (kept,) = json.loads(output(office_data, "models", "--json", **reach))["items"]
            assert (kept["defaultModel"], kept["hasKey"]) == ("a-model", True)
            assert KEY not in json.dumps(kept)
            output(office_data, "models", "remove", "Claude", **reach)
            assert "No connections yet" in bullpen(office_data, "models", **reach).stderr

        await asyncio.to_thread(type_all)


async def test_a_failed_check_says_what_failed_and_fails(office_data: Path) -> None:
    async with model_server(plays(Text("yes")), key="another") as server:
        reach = {"ANTHROPIC_BASE_URL": server.url}

        def type_all() -> None:
            output(office_data, "models", "add", "anthropic", "--name", "Claude", "--key", stdin=KEY, **reach)
            done = bullpen(office_data, "models", "check", "Claude", "a-model", **reach)
            assert (done.returncode, done.stdout) == (1, "")
            assert "does not accept the key" in done.stderr
            assert KEY not in done.stderr

        await asyncio.to_thread(type_all)


def test_a_local_address_waits_for_an_owner_on_the_page(office_data: Path) -> None:
    done = bullpen(office_data, "models", "add", "http://127.0.0.1:11434", "--name", "Ollama")
    assert done.returncode == 0
    assert "An owner opens it on the page: " in done.stderr
    assert "/models" in done.stderr
    assert "http://127.0.0.1:11434/v1 (not opened yet)" in output(office_data, "models")


@pytest.mark.parametrize(
    "args, said",
    [
        (("remove", "nowhere"), "There is no connection 'nowhere'. `bullpen models` lists them."),
        (("add", "anthropic", "--key"), "No key was given, so nothing is changed."),
        (("add", "ftp://127.0.0.1"), "http"),
    ],
)
def test_an_invalid_models_command_fails_with_a_clear_message(
    applied_project: Callable[[str], Path], tmp_path: Path, args: tuple[str, ...], said: str
) -> None:
    data = shutil.copytree(applied_project(PROJECT), tmp_path / "data")
    done = bullpen(data, "models", *args)
    assert done.returncode == 1
    assert said in done.stderr
