"""Rights only shrink along a chain of work: a run may do what its agent, its cause and its space all allow.

The cause's rights are those it had when it spoke, as far as it still has them when the run begins.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from sqlalchemy import bindparam, select, update

from bullpen.access import rules as access
from bullpen.storage import Statement, Transaction
from bullpen.storage.tables import people, runs, threads
from bullpen.testing import invariants, snapshot
from bullpen.tools import ToolContext, tool
from tests.driver import Api, Driver, Offices
from tests.path.puppets import puppet
from tests.path.scripts import SILENT, call, say, step, turn

MENTIONS = {"people": "mention", "agents": "mention"}

_GRANTS = Statement(select(runs.c.agent_id, runs.c.space_id, runs.c.grants).order_by(runs.c.id))
_THREADS = Statement(select(threads.c.scope, threads.c.cause_kind, threads.c.cause_id, threads.c.grants))
_ERASE = Statement(update(people).where(people.c.id == bindparam("id_")).values(erased_at="2026-01-01T00:00:00Z"))

Part = Callable[[Driver, str], Awaitable[None]]


async def grants(office: Driver) -> list[set[str]]:
    """What each run may, oldest first."""

    async def body(tx: Transaction) -> Any:
        return await tx.all(_GRANTS)

    return [set(access.parsed(row[2])) for row in await office.office.store.read(body)]


async def check(office: Driver) -> None:
    seen = invariants.Seen(await snapshot.read(office.office.settings.database_url))
    assert invariants.violations(seen) == []


async def member(office: Driver, name: str, space_id: str) -> Api:
    id, api = await office.person(name)
    await office.create(f"/spaces/{space_id}/members", {"memberId": id})
    return api


async def limited(office: Driver, *scopes: str) -> Api:
    """The owner, with a token that may only so much."""
    body = {"name": "limited", "personId": office.owner_id, "scopes": list(scopes)}
    return Api(office.office, (await office.create("/tokens", body))["token"])


# ── agent ∩ cause ∩ space ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("P10", "V12")
@pytest.mark.one_database
async def test_members_asking_in_the_main_group_get_no_owner_rights(office: Driver) -> None:
    await office.agent("ada", steps=SILENT)
    await office.space("base", ["ada"], kind="group", main=True)
    await office.space("side", ["ada"], kind="group", trigger="hey")
    peter = await member(office, "Peter", "base")
    await office.post("base", "hello")
    await office.run_finished("ada", nth=1)
    await peter.create("/spaces/base/messages", {"text": "make me a group"})
    await office.run_finished("ada", nth=2)
    await office.post("side", "hey")
    await office.run_finished("ada", nth=3)
    own = {"read_space", "post", "schedule"}
    # The owner in the main group, a member in the main group, the owner elsewhere. Nobody's agent is an owner.
    assert await grants(office) == [own | {"register_group"}, own, own]
    await check(office)


@pytest.mark.proves("P10", "V12")
@pytest.mark.one_database
async def test_a_chain_of_agents_only_loses_rights(office: Driver) -> None:
    await office.agent("ada", [turn("start", say("@bo next", spaceId="side"))])
    await office.agent("bo", [turn("next", say("@cy last", spaceId="base"))])
    await office.agent("cy", steps=SILENT)
    await office.space("base", ["ada", "bo", "cy"], kind="group", main=True, wake=MENTIONS)
    await office.space("side", ["ada", "bo"], wake=MENTIONS)
    await office.post("base", "@ada start")
    await office.run_finished("cy")
    first, through, back = await grants(office)
    # Through a space that lets less be done, and back into the main group: what was lost stays lost.
    assert first == {"read_space", "post", "schedule", "register_group"}
    assert through == back == {"read_space", "post", "schedule"}
    await check(office)


@pytest.mark.one_database
async def test_a_run_for_two_spaces_holds_only_rights_both_grant(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=SILENT, held=True, scope="agent")
    await office.space("base", ["ada"], kind="group", main=True)
    await office.space("side", ["ada"], wake={"people": "all"})
    await office.post("base", "wait")
    await ada.asked(1)
    await office.post("base", "from base")
    await office.post("side", "from the side")
    ada.release()
    run = await office.run_finished("ada", nth=2)
    assert run["trigger"]["items"] == 2
    first, second = await grants(office)
    assert "register_group" in first
    assert "register_group" not in second


async def test_a_triggers_fresh_thread_never_exceeds_its_causes_rights(office: Driver) -> None:
    await office.agent("ada", steps=SILENT)
    bell = await limited(office, "manage_agents", "post")
    await bell.create("/agents/ada/trigger", {"serviceName": "bell", "payload": {}})
    await office.run_finished("ada")
    assert await grants(office) == [{"post"}]

    async def body(tx: Transaction) -> Any:
        return await tx.one(_THREADS)

    assert list(await office.office.store.read(body)) == ["fresh", "person", office.owner_id, "manage_agents,post"]
    await check(office)


# ── a call is judged by its run ─────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
async def test_a_call_needing_a_right_the_run_lacks_is_denied(offices: Offices) -> None:
    @tool(effect="tx", grant="register_group")
    async def make_group(context: ToolContext) -> dict[str, Any]:
        """Make a group."""
        return {"made": True}

    office = await offices.open(families={"groups": [make_group]})
    await office.agent("ada", steps=[step(call("make_group"))], tools=["messaging", "groups"])
    await office.space("base", ["ada"], kind="group", main=True)
    peter = await member(office, "Peter", "base")
    await office.post("base", "a group, please")
    assert await office.results((await office.run_finished("ada"))["id"]) == [{"made": True}]
    await peter.create("/spaces/base/messages", {"text": "a group, please"})
    (refused,) = await office.results((await office.run_finished("ada", nth=2))["id"])
    assert refused["error"].startswith("Denied: make_group takes the right 'register_group'.")


@pytest.mark.one_database
async def test_a_token_without_post_cannot_make_an_agent_speak(office: Driver) -> None:
    await office.agent("ada", steps=[say("hi"), step(call("read_messages"))], scope="agent")
    await office.space("general", ["ada"])
    reader = await limited(office, "manage_agents", "read")
    await reader.create("/agents/ada/trigger", {"serviceName": "bell", "payload": {}})
    run = await office.run_finished("ada")
    said, read = await office.results(run["id"])
    assert said["error"].startswith("Denied: send_message takes the right 'post'.")
    assert "in no space" in read["error"]
    assert run.get("outcome") != "spoke"


# ── rights that were taken meanwhile ────────────────────────────────────────────────────────────────────


async def change(office: Driver, id: str, **fields: Any) -> None:
    await office.ask("PATCH", f"/people/{id}", json=fields)


async def disable(office: Driver, id: str) -> None:
    await change(office, id, disabled=True)


async def erase(office: Driver, id: str) -> None:
    async def body(tx: Transaction) -> None:
        await tx.run(_ERASE, id_=id)

    await office.office.store.transact(body)


@pytest.mark.parametrize("part_with", [disable, erase])
async def test_a_person_who_lost_access_has_their_waiting_work_cancelled(office: Driver, part_with: Part) -> None:
    ada = await puppet(office, "ada", steps=[say("hello")], held=True)
    await office.space("general", ["ada"], wake={"people": "all"})
    peter, quinn = await member(office, "Peter", "general"), await member(office, "Quinn", "general")
    await office.post("general", "wait")
    await ada.asked(1)
    await peter.create("/spaces/general/messages", {"text": "for Peter"})
    await quinn.create("/spaces/general/messages", {"text": "for Quinn"})
    await office.post("general", "for the owner")
    for id in ("psn_peter", "psn_quinn"):
        await part_with(office, id)
    ada.release()
    await office.run_finished("ada", nth=3)
    stopped = await office.run_finished("ada", nth=2)
    assert (stopped["status"], stopped["stopReason"], stopped["trigger"]["items"]) == ("cancelled", "no_rights", 2)
    assert stopped["error"].startswith("The person this run works for no longer has access: ")
    # The model was not even asked, and the owner's own message was answered.
    assert len(await office.journal(stopped["id"])) == 1
    assert [run["outcome"] for run in await office.runs() if "outcome" in run] == ["spoke", "spoke"]
    await check(office)


async def test_only_the_disabled_persons_waiting_message_is_dropped(office: Driver) -> None:
    """Equal when they spoke, they would have been one run; by now one of them may nothing."""
    ada = await puppet(office, "ada", steps=SILENT, held=True)
    await office.space("general", ["ada"], wake={"people": "all"})
    peter, quinn = await member(office, "Peter", "general"), await member(office, "Quinn", "general")
    await office.post("general", "wait")
    await ada.asked(1)
    await peter.create("/spaces/general/messages", {"text": "for Peter"})
    await quinn.create("/spaces/general/messages", {"text": "for Quinn"})
    await disable(office, "psn_peter")
    ada.release()
    await office.run_finished("ada", nth=3)
    assert [(run["trigger"]["authorId"], run["stopReason"]) for run in await office.runs()][1:] == [
        ("psn_peter", "no_rights"),
        ("psn_quinn", "done"),
    ]


async def test_a_demoted_persons_waiting_work_runs_with_their_remaining_rights(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=SILENT, held=True)
    await office.space("base", ["ada"], kind="group", main=True)
    id, admin = await office.person("Ann")
    await change(office, id, role="admin")
    await office.create("/spaces/base/members", {"memberId": id})
    await admin.create("/spaces/base/messages", {"text": "first"})
    await ada.asked(1)
    await admin.create("/spaces/base/messages", {"text": "second"})
    await change(office, id, role="member")
    ada.release()
    await office.run_finished("ada", nth=2)
    first, second = await grants(office)
    assert first - second == {"register_group"}
    await check(office)


@pytest.mark.one_database
async def test_a_promotion_adds_no_rights_to_messages_already_posted(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=SILENT, held=True)
    await office.space("base", ["ada"], kind="group", main=True)
    id, peter = await office.person("Peter")
    await office.create("/spaces/base/members", {"memberId": id})
    await office.post("base", "wait")
    await ada.asked(1)
    await peter.create("/spaces/base/messages", {"text": "first"})
    await change(office, id, role="owner")
    ada.release()
    await office.run_finished("ada", nth=2)
    assert "register_group" not in (await grants(office))[1]
