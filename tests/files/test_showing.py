"""Pictures of an agent's own folder: shown as they were when it read them, or not at all."""

from __future__ import annotations

import pytest

from bullpen.llm.types import Attachment, ToolTurn, Transcript
from bullpen.testing import snapshot
from tests.driver import Driver
from tests.files.offering import give, picture
from tests.path.puppets import puppet
from tests.path.scripts import call, say, step

pytestmark = pytest.mark.one_database


def pictures(transcript: Transcript) -> list[list[Attachment]]:
    """Those of each result."""
    return [list(turn.attachments) for turn in transcript.turns if isinstance(turn, ToolTurn)]


async def put_aside(office: Driver) -> None:
    """Until nobody drives the run that was paused."""

    async def holds() -> bool:
        owned = "SELECT count(*) FROM leases WHERE owner IS NOT NULL"
        [(count,)] = await snapshot.ask(office.office.settings.database_url, owned)
        return not count

    await office.until(holds)


async def test_a_changed_picture_is_not_shown_for_another(office: Driver) -> None:
    """A run that another process goes on with reads it again: here, after a pause."""
    await office.space("general", wake={"people": "all"})
    red = (await give(office, picture(), "red.png", space="general"))["id"]
    steps = [
        step(call("read_file", file_id=red, copy=True)),
        step(call("read_file", path="{{results[0].path}}")),
        say("seen"),
        step(text=""),
    ]
    seen = await puppet(office, "ada", steps=steps, tools=["messaging", "files"])
    seen.takes_pictures = True  # type: ignore[attr-defined]
    await office.create("/spaces/general/members", {"memberId": "ada"})
    await office.post("general", "look")
    await seen.asked(2)
    seen.hold()
    shown = await seen.asked(3)
    first, second = pictures(shown)
    assert [file.type for file in (*first, *second)] == ["image/jpeg", "image/jpeg"]
    assert first[0].data == second[0].data
    await office.create("/agents/ada/pause", {})
    await put_aside(office)
    [copied] = list((office.office.settings.data / "folders").rglob("red-*.png"))
    copied.write_bytes(picture(size=(7, 7)))
    seen.release()
    await office.create("/agents/ada/resume", {})
    await office.run_finished("ada")
    first, second = pictures(seen.shown[-1])[:2]
    assert (len(first), second) == (1, [])


async def test_of_many_pictures_the_first_ten_are_shown(office: Driver) -> None:
    await office.space("general", wake={"people": "all"})
    red = (await give(office, picture(size=(20, 20)), "red.png", space="general"))["id"]
    seen = await puppet(
        office, "ada", steps=[step(*[call("read_file", file_id=red)] * 12), step(text="")], tools=["messaging", "files"]
    )
    seen.takes_pictures = True  # type: ignore[attr-defined]
    await office.create("/spaces/general/members", {"memberId": "ada"})
    await office.post("general", "look")
    await office.run_finished("ada")
    assert [len(files) for files in pictures(seen.shown[1])] == [1] * 10 + [0] * 2
    last = [turn for turn in seen.shown[1].turns if isinstance(turn, ToolTurn)][-1]
    assert "not shown here" in last.content[-1]["text"]
