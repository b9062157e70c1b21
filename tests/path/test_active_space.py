"""Where an agent is, so that what it says appears there: entering, leaving, and starting a run. design.md §6.2."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from bullpen.storage import Statement
from bullpen.storage.tables import threads
from tests.driver import Driver
from tests.path.puppets import puppet
from tests.path.scripts import SILENT, call, say, step, turn

NOWHERE = "You are in no space now. Say which with spaceId. Your spaces: red (channel), blue (channel)."


async def rooms(office: Driver, *names: str) -> None:
    for name in names:
        await office.space(name, ["ada"], wake={"people": "all"})


@pytest.mark.proves("S4-21", "S1-02")
async def test_leaving_a_space_lasts_until_the_next_entry_or_run(office: Driver) -> None:
    wander = [
        step(
            call("send_message", text="here"),
            call("leave_space"),
            call("send_message", text="lost"),
            call("leave_space"),
        ),
        step(call("enter_space", spaceId="blue"), call("send_message", text="over here")),
        step(call("leave_space")),
    ]
    await office.agent("ada", [turn("wander", *wander), turn("again", say("back home"))])
    await rooms(office, "red", "blue")
    await office.post("blue", "just so that it is not empty")
    await office.run_finished("ada")
    await office.post("red", "wander")
    run = await office.run_finished("ada", nth=2)
    sent, left, lost, nowhere, entered, there, _ = await office.results(run["id"])
    assert sent["spaceId"] == "red"
    assert left == {"success": True, "left": "red"}
    assert lost == {"error": NOWHERE}
    assert nowhere == {"success": True, "left": None}
    assert {key: entered[key] for key in ("spaceId", "name", "kind")} == {
        "spaceId": "blue",
        "name": "blue",
        "kind": "channel",
    }
    assert [message["text"] for message in entered["messages"]] == ["just so that it is not empty"]
    assert there["spaceId"] == "blue"
    # A run that is interrupted goes on from this row.
    kept = Statement(select(threads.c.active_space_id).where(threads.c.anchor == "red"))
    assert [tuple(row) for row in await office.office.store.read(lambda tx: tx.all(kept))] == [(None,)]
    await office.post("red", "again")
    await office.run_finished("ada", nth=3)
    assert await office.texts("red") == ["wander", "here", "again", "back home"]
    assert await office.texts("blue") == ["just so that it is not empty", "over here"]


@pytest.mark.proves("S4-21")
@pytest.mark.one_database
async def test_built_in_tools_are_default_and_never_show_as_cards(office: Driver) -> None:
    """design.md §6.19: no list means `messaging`, which holds the five; the mind's seven come with a later issue."""
    builtins = ("enter_space", "leave_space", "send_message", "read_messages", "skip")
    steps = [
        step(
            call("read_messages"),
            call("leave_space"),
            call("enter_space", spaceId="red"),
            call("send_message", text="hi"),
            call("skip", reason="done"),
        )
    ]
    ada = await puppet(office, "ada", steps=steps)
    await rooms(office, "red")
    await office.post("red", "hello")
    run = await office.run_finished("ada")
    assert set(builtins) <= {spec.name for spec in ada.tools[0]}
    journal = await office.journal(run["id"])
    assert [e["toolName"] for e in journal if e["type"] == "tool_return_message" and not e["isError"]] == [
        *["read_messages", "leave_space", "enter_space", "send_message", "skip"]
    ]
    assert [(message["type"], message["text"]) for message in await office.messages("red")] == [
        ("text", "hello"),
        ("text", "hi"),
    ]
    assert (run["outcome"], run["stopReason"]) == ("spoke", "skipped")


@pytest.mark.one_database
async def test_only_a_members_space_can_be_entered_or_read(office: Driver) -> None:
    await office.space("secret", private=True)
    await office.post("secret", "the password is swordfish")
    calls = [call(tool, spaceId=id) for tool in ("enter_space", "read_messages") for id in ("secret", "nowhere")]
    await office.agent("ada", steps=[step(*calls, call("send_message", text="still home"))])
    await rooms(office, "red")
    await office.post("red", "hello")
    run = await office.run_finished("ada")
    *refused, sent = await office.results(run["id"])
    mine = "Your spaces: red (channel)."
    told = "You are not a member of a space {!r}, or those you work for now are not. {}"
    assert refused == [{"error": told.format(id, mine)} for id in ("secret", "nowhere")] * 2
    assert sent["spaceId"] == "red"


async def test_one_mind_enters_the_space_it_was_spoken_to_in(office: Driver) -> None:
    ada = await puppet(office, "ada", [turn("", step(call("send_message", text="hi")))], scope="agent")
    await rooms(office, "red", "blue")
    for nth, space in enumerate(("red", "blue"), start=1):
        await office.post(space, "hello")
        run = await office.run_finished("ada", nth=nth)
        assert run["spaceId"] == space
        assert await office.texts(space) == ["hello", "hi"]
    assert len({run["threadId"] for run in await office.runs()}) == 1
    assert len(ada.shown) == 4


@pytest.mark.one_database
async def test_one_mind_spoken_to_in_several_spaces_is_in_none(office: Driver) -> None:
    steps = [step(call("send_message", text="to whom?"), call("send_message", text="to red", spaceId="red"))]
    ada = await puppet(office, "ada", [turn("wait", *SILENT), turn("", *steps)], scope="agent", held=True)
    await rooms(office, "red", "blue")
    await office.post("red", "wait")
    await ada.asked(1)
    await office.post("red", "from red")
    await office.post("blue", "from blue")
    ada.release()
    run = await office.run_finished("ada", nth=2)
    assert run["trigger"]["items"] == 2
    assert "spaceId" not in run
    assert (await office.results(run["id"]))[0] == {"error": NOWHERE}
    assert await office.texts("red") == ["wait", "from red", "to red"]
    assert await office.texts("blue") == ["from blue"]


@pytest.mark.one_database
async def test_one_mind_without_auto_enter_enters_a_space_by_tool(office: Driver) -> None:
    steps = [
        step(call("send_message", text="early"), call("enter_space", spaceId="red"), call("send_message", text="hi"))
    ]
    await office.agent("ada", steps=steps, scope="agent", autoEnter=False)
    await rooms(office, "red", "blue")
    for nth in (1, 2):
        await office.post("red", "hello")
        run = await office.run_finished("ada", nth=nth)
        assert "spaceId" not in run
        assert (await office.results(run["id"]))[0] == {"error": NOWHERE}
    assert await office.texts("red") == ["hello", "hi", "hello", "hi"]


@pytest.mark.proves("S4-21")
async def test_read_messages_supports_offset_limit_and_query_from_the_newest(office: Driver) -> None:
    calls = [
        call("read_messages"),
        call("read_messages", limit=3),
        call("read_messages", offset=2, limit=2),
        call("read_messages", offset=23),
        call("read_messages", offset=24),
        call("read_messages", offset=1000),
        call("read_messages", query="NUMBER 2", limit=2),
        call("read_messages", query="number 2", limit=2, offset=1),
        call("read_messages", query="%"),
        call("read_messages", query="_"),
        call("read_messages", query="ÄPFEL"),
        call("read_messages", query="  "),
        call("read_messages", spaceId="red", limit=1),
        call("read_messages", query="2", offset=2**63),
    ]
    await office.agent("ada", [turn("^read$", step(*calls))])
    await rooms(office, "red", "blue")
    for n in range(1, 21):
        await office.post("blue", f"number {n}")
    gone = await office.post("blue", "number 21, a mistake")
    await office.ask("DELETE", f"/messages/{gone['id']}")
    await office.post("blue", "Äpfel für Ödön")
    await office.post("blue", "100% snake_case")
    await office.post("blue", "read")
    await office.idle()
    run = (await office.runs(agentId="ada"))[-1]
    results = await office.results(run["id"])
    texts = [[message["text"] for message in result.get("messages", [])] for result in results]
    assert texts[0] == [*(f"number {n}" for n in range(5, 21)), "", "Äpfel für Ödön", "100% snake_case", "read"]
    assert [message["seq"] for message in results[0]["messages"]] == list(range(5, 25))
    assert results[0]["messages"][16]["deleted"] is True
    assert results[0]["total"] == 24
    assert texts[1:13] == [
        ["Äpfel für Ödön", "100% snake_case", "read"],
        ["", "Äpfel für Ödön"],
        ["number 1"],
        [],
        [],
        ["number 2", "number 20"],
        ["number 2"],
        ["100% snake_case"],
        ["100% snake_case"],
        ["Äpfel für Ödön"],
        texts[0],
        [],
    ]
    assert results[0]["messages"][0]["from"] == "Olga"
    assert "offset: Input should be less than or equal to" in results[13]["error"]
    assert run["status"] == "completed"
