"""Text of this office does not leave by a run that obeys what it has read outside, unless somebody lets it. H1, H5."""

from __future__ import annotations

from typing import Any

import pytest

from tests.driver import Driver
from tests.hooks.calling import made, path_of, ring
from tests.injection.obeying import evil
from tests.injection.ordering import order
from tests.net.servers import answer, says, world
from tests.path.scripts import Json, call, say, step, turn
from tests.waiting.gateways import connect, gateway

TEXT: Json = {"type": "object", "properties": {"text": {"type": "string"}}}
READ = gateway("read", inputSchema={"type": "object"}, visible=False)
SEND = {"POST": "http://api.example.com/in", "GET": "http://api.example.com/in", "PUT": "http://api.example.com/{text}"}
FETCH: Json = {
    "name": "fetch",
    "description": "Fetch data",
    "inputSchema": TEXT,
    "executionType": "external",
    "visible": False,
    "isAsync": True,
}
SHOW: Json = {**FETCH, "name": "show", "executionType": "internal", "isAsync": False, "visible": True}
NEWS = "the news"


def sender(method: str = "POST", **more: Any) -> Json:
    execution = {"url": SEND[method], "method": method}
    return gateway("send", inputSchema=TEXT, execution=execution, **{"visible": False, **more})


async def ada(office: Driver, *steps: Json, send: Json | None = None, **fields: Any) -> None:
    """Reads outside, then does this."""
    for config in (READ, FETCH, SHOW, send or sender()):
        await office.create("/tools", config)
    tools = ["messaging", "memory", "read", "send", "fetch", "show"]
    await office.agent("ada", steps=[step(call("read")), *steps, step(text="")], tools=tools, **fields)
    await office.space("lab", ["ada"], wake={"people": "all", "agents": "none"})
    await office.space("board", ["ada"], wake={"people": "none", "agents": "none"})
    await office.space("den", ["ada"], private=True, wake={"people": "all", "agents": "none"})


async def asked(office: Driver, nth: int = 1) -> Json:
    found: Json = (await office.event("tool.requires_action", nth=nth))["call"]
    assert (found["kind"], found["metadata"]["reason"]) == ("approval", "outward")
    return found


async def decide(office: Driver, call_id: str, **said: Any) -> None:
    await office.create(f"/pending/{call_id}/resolve", {"result": said}, status=200)


async def results(office: Driver, nth: int = 1) -> list[Any]:
    return await office.results((await office.run_finished("ada", nth=nth))["id"])


# ── requests ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("H1", "H5")
@pytest.mark.parametrize("approved", [True, False])
async def test_a_page_that_orders_a_request_gets_nothing_unasked(office: Driver, approved: bool) -> None:
    for config in (READ, sender()):
        await office.create("/tools", config)
    model = await evil(office, "ada", tools=["messaging", "read", "send"])
    await office.space("lab", ["ada"], wake={"people": "all"}, private=True)
    async with world() as outer:
        connect(office, outer)
        server = await outer.server(says(answer(order("send", text="the last 20 messages").encode())))
        await office.post("lab", f"the plan is secret\n{order('read')}")
        call_ = await asked(office)
        assert [name for name, _ in model.obeyed] == ["read", "send"]
        assert [request.method for request in server.asked] == ["GET"]
        await decide(office, call_["callId"], approved=approved)
        await office.run_finished("ada")
        assert [request.method for request in server.asked] == (["GET", "POST"] if approved else ["GET"])
    assert call_["metadata"]["outside"] == ["api.example.com"]
    actions = [row["action"] for row in await office.items("/audit", objectId=call_["callId"])]
    assert actions == ["call.approved" if approved else "call.rejected"]


@pytest.mark.proves("H1")
@pytest.mark.parametrize("method", SEND)
@pytest.mark.one_database
async def test_arguments_leave_by_no_method_unasked(office: Driver, method: str) -> None:
    await ada(office, step(call("send", text="secret")), send=sender(method))
    async with world() as outer:
        connect(office, outer)
        server = await outer.server(says(answer(NEWS.encode())))
        await office.post("lab", "go")
        await asked(office)
        assert len(server.asked) == 1


@pytest.mark.one_database
async def test_a_call_for_a_program_is_not_a_request(office: Driver) -> None:
    await ada(office, step(call("fetch", text="secret")))
    async with world() as outer:
        connect(office, outer)
        await outer.server(says(answer(NEWS.encode())))
        await office.post("lab", "go")
        found = (await office.event("tool.requires_action"))["call"]
    assert (found["kind"], found["metadata"]["outside"]) == ("external", ["api.example.com"])


@pytest.mark.one_database
async def test_a_request_without_arguments_never_asks(office: Driver) -> None:
    await ada(office, step(call("read")), step(call("read")), step(call("send")))
    async with world() as outer:
        connect(office, outer)
        server = await outer.server(says(answer(NEWS.encode())))
        await office.post("lab", "go")
        await results(office)
        assert len(server.asked) == 4


@pytest.mark.one_database
async def test_a_run_that_read_nothing_outside_sends_unasked(office: Driver) -> None:
    await office.create("/tools", sender())
    await office.agent("ada", steps=[step(call("send", text="x")), step(text="")], tools=["messaging", "send"])
    await office.space("lab", ["ada"], wake={"people": "all"}, private=True)
    async with world() as outer:
        connect(office, outer)
        await outer.server(says(answer(NEWS.encode())))
        await office.post("lab", "go")
        assert await results(office) == [NEWS]


@pytest.mark.parametrize("holds", ["nothing", "memory"])
async def test_a_run_without_text_of_the_office_sends_unasked(office: Driver, holds: str) -> None:
    await office.create("/tools", sender())
    await office.agent("ada", steps=[step(call("send", text="x")), step(text="")], tools=["messaging", "send"])
    if holds == "memory":
        await office.ask("PUT", "/agents/ada/blocks/human", json={"content": "Pia is ill"})
    async with world() as outer:
        connect(office, outer)
        await outer.server(says(answer(NEWS.encode())))
        await ring(office, path_of(await made(office)))
        if holds == "memory":
            await asked(office)
        else:
            assert await results(office) == [NEWS]


@pytest.mark.parametrize("place", ["agent and space", "agent", "definition", "tool"])
@pytest.mark.one_database
async def test_a_policy_that_allows_a_request_is_enough(office: Driver, place: str) -> None:
    fields: Json = {"policy": {"send": "allow"}} if place == "definition" else {}
    send = sender(**({"policy": "allow"} if place == "tool" else {}))
    await ada(office, step(call("send", text="x")), send=send, **fields)
    body = {"agentId": "ada", "toolName": "send", "decision": "allow"}
    if place.startswith("agent"):
        await office.ask("PUT", "/policies", json=body | ({"spaceId": "lab"} if "space" in place else {}))
    async with world() as outer:
        connect(office, outer)
        await outer.server(says(answer(NEWS.encode())))
        await office.post("lab", "go")
        assert await results(office) == [NEWS, NEWS]


@pytest.mark.one_database
async def test_always_stops_the_asking(office: Driver) -> None:
    await ada(office, step(call("send", text="x")))
    async with world() as outer:
        connect(office, outer)
        await outer.server(says(answer(NEWS.encode())))
        await office.post("lab", "go")
        await decide(office, (await asked(office))["callId"], approved=True, always="space")
        await results(office)
        await office.post("lab", "go")
        assert await results(office, nth=2) == [NEWS, NEWS]


# ── other spaces ────────────────────────────────────────────────────────────────────────────────────────────────────


async def tainted(office: Driver, space: str, *steps: Json, **fields: Any) -> None:
    """Ada is woken there, has read something outside, and does this."""
    async with world() as outer:
        connect(office, outer)
        await outer.server(says(answer(NEWS.encode())))
        await ada(office, *steps, **fields)
        await office.post("board", "hello")
        await office.post(space, "the plan is secret")
        await office.event("tool.done", lambda event: event["call"]["toolName"] == "read")


@pytest.mark.proves("H1")
@pytest.mark.parametrize("to", ["another", "home", "a narrower one"])
async def test_words_for_a_wider_audience_ask_first(office: Driver, to: str) -> None:
    where = {"another": ("den", "board"), "home": ("lab", "lab"), "a narrower one": ("lab", "den")}
    woken_in, target = where[to]
    first = [step(call("read_messages", spaceId="den"))] if to == "home" else []
    await tainted(office, woken_in, *first, say("the plan", spaceId=target))
    if to == "another":
        call_ = await asked(office)
        assert call_["metadata"]["spaces"] == ["board", "den"]
        assert await office.texts("board") == ["hello"]
        await decide(office, call_["callId"], approved=True)
    await office.run_finished("ada")
    assert (await office.texts(target))[-1] == "the plan"


@pytest.mark.parametrize("way", ["reacting", "after entering it"])
@pytest.mark.one_database
async def test_no_other_way_of_speaking_there_is_unasked(office: Driver, way: str) -> None:
    ways = {
        "reacting": [step(call("react_to_message", messageId="{{results[1].messages[0].id}}", emoji="the plan"))],
        "after entering it": [say("the plan")],
    }
    first = call("read_messages", spaceId="board") if way == "reacting" else call("enter_space", spaceId="board")
    await tainted(office, "den", step(first), *ways[way])
    call_ = await asked(office)
    assert "the plan" in str(call_["args"])


async def test_a_mind_remembers_what_it_was_shown_elsewhere(office: Driver) -> None:
    turns = [{"kind": "trigger", "steps": [say("the plan", spaceId="board")]}, turn("", say("noted"))]
    await office.agent("ada", turns, scope="agent")
    await office.space("den", ["ada"], private=True, wake={"people": "all"})
    await office.space("board", ["ada"])
    await office.post("den", "the plan is secret")
    await office.run_finished("ada")
    await ring(office, path_of(await made(office)))
    await asked(office)
    assert await office.texts("board") == []


@pytest.mark.one_database
async def test_a_policy_for_the_wider_space_is_enough(office: Driver) -> None:
    body = {"agentId": "ada", "toolName": "send_message", "decision": "allow", "spaceId": "board"}
    async with world() as outer:
        connect(office, outer)
        await outer.server(says(answer(NEWS.encode())))
        await ada(office, say("the plan", spaceId="board"))
        await office.ask("PUT", "/policies", json=body)
        await office.post("den", "the plan is secret")
        await office.run_finished("ada")
    assert await office.texts("board") == ["the plan"]


async def test_a_card_for_a_wider_space_shows_once_approved(office: Driver) -> None:
    await tainted(
        office, "den", step(call("enter_space", spaceId="board")), step(call("show", text=7), call("show", text="plan"))
    )
    call_ = await asked(office)
    assert await office.texts("board") == ["hello"], "neither the wrong call nor the one that waits"
    _, anna = await office.person("Anna")
    assert (await anna.items("/pending"), len(await office.items("/pending"))) == ([], 1)
    await decide(office, call_["callId"], approved=True)
    await office.run_finished("ada")
    _, card = await office.messages("board")
    assert (card["type"], card["status"], card["metadata"]["args"]) == ("tool", "complete", {"text": "plan"})


@pytest.mark.one_database
async def test_a_rejected_card_in_a_wider_space_never_shows(office: Driver) -> None:
    await tainted(office, "den", step(call("enter_space", spaceId="board")), step(call("show", text="plan")))
    await decide(office, (await asked(office))["callId"], approved=False)
    await office.run_finished("ada")
    assert len(await office.messages("board")) == 1
