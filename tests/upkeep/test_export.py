"""Export: everything kept of somebody, in the shapes of the API, for those who may have it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import orjson
import pytest

from tests.driver import Api
from tests.path.talk import talk
from tests.upkeep.offices import MEMORY, WORD, Lived

Json = dict[str, Any]


async def exported(api: Api, path: str) -> list[Json]:
    response = await api.http.get(path)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/x-ndjson"
    lines = [orjson.loads(line) for line in response.content.splitlines()]
    assert lines[0]["type"] == "export"
    assert lines[-1] == {"type": "end", "end": {"lines": len(lines)}}
    return lines


def of_type(lines: list[Json], type: str) -> list[Json]:
    return [line[type] for line in lines if line["type"] == type]


async def test_a_space_is_exported_as_the_api_shows_it(lived: Lived) -> None:
    office = lived.office
    await talk(office, "attic", [f"line {n}" for n in range(450)])  # more than two pages
    await office.idle()
    lines = await exported(office, "/spaces/attic/export")
    newest = await office.messages("attic", after=400)
    messages = of_type(lines, "message")
    assert [m["seq"] for m in messages] == list(range(1, messages[-1]["seq"] + 1))
    assert messages[-len(newest) :] == newest
    assert Counter(run["id"] for run in of_type(lines, "run")) == Counter(
        run["id"] for run in await office.runs(spaceId="attic")
    )
    assert of_type(lines, "runMessage"), "an owner also gets what agents thought"


@pytest.mark.one_database
async def test_members_export_a_space_without_journals_and_outsiders_cannot(lived: Lived) -> None:
    office = lived.office
    await office.space("secret", private=True)
    lines = await exported(lived.erin, "/spaces/general/export")
    assert of_type(lines, "run")
    assert not of_type(lines, "runMessage")
    await lived.erin.get("/spaces/secret/export", status=404)
    mona = await office.as_agent("mona")
    await mona.get("/spaces/general/export", status=403)


@pytest.mark.one_database
async def test_a_personal_export_includes_dms_only_for_the_person_themselves(lived: Lived) -> None:
    office = lived.office
    lines = await exported(lived.erin, f"/people/{lived.erin_id}/export")
    said = [message["text"] for message in of_type(lines, "message")]
    assert f"between us: {WORD}" in said
    assert f"{WORD} edited" in said
    assert [r["emoji"] for r in of_type(lines, "reaction")] == ["🦫"]
    assert [token["personId"] for token in of_type(lines, "token")] == [lived.erin_id]
    assert "hash" not in str(lines)
    assert {m["spaceId"] for m in of_type(lines, "membership")} >= {"general"}
    seen_by_owner = [m["text"] for m in of_type(await exported(office, f"/people/{lived.erin_id}/export"), "message")]
    assert f"{WORD} edited" in seen_by_owner
    assert f"between us: {WORD}" not in seen_by_owner
    await lived.erin.get(f"/people/{office.owner_id}/export", status=403)
    await office.get("/people/psn_nobody/export", status=404)


@pytest.mark.one_database
async def test_an_agent_is_exported_with_its_memory_words_and_journals(lived: Lived) -> None:
    office = lived.office
    lines = await exported(office, "/agents/mona/export")
    assert of_type(lines, "agent")[0]["instructions"] == f"You remember {MEMORY}."
    assert of_type(lines, "block")[0]["content"] == f"the {MEMORY} note"
    assert of_type(lines, "passage")[0]["content"] == f"a {MEMORY} passage"
    assert {entry["toolName"] for entry in of_type(lines, "runMessage") if "toolName" in entry} == {
        "read_messages",
        "react_to_message",
    }
    await lived.erin.get("/agents/mona/export", status=403)
    await (await office.as_agent("mona")).get("/agents/mona/export", status=403)
    await office.get("/agents/nobody/export", status=404)
