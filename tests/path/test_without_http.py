"""Operations as a bridge calls them: a principal and a transaction, and no HTTP. Rights and effects are the same."""

from __future__ import annotations

import pytest

from bullpen.access import actions as access
from bullpen.access.types import Principal
from bullpen.errors import Forbidden, NotFound
from bullpen.operations import agents, answers, erasing, say
from bullpen.storage import Transaction
from bullpen.wire.nouns import Acceptance
from tests.driver import Api, Driver, Json
from tests.path import scripts
from tests.path.puppets import puppet

YES = {"approved": True}


async def principal_of(office: Driver, holder: Api) -> Principal:
    found = await office.office.store.read(lambda tx: access.principal_of(tx, holder.token or ""))
    assert found is not None
    return found


async def tell(office: Driver, caller: Principal, text: str, space: str = "studio") -> say.Said:
    async def body(tx: Transaction) -> say.Said:
        return await say.say(tx, caller, space, text, office.office.posting)

    return await office.office.store.transact(body)


async def ask_for_approval(office: Driver) -> str:
    """Ada wants to speak and must ask first; the id of her call."""
    await office.agent("ada", steps=[scripts.say("May I?")], policy={"send_message": "ask"})
    await office.space("studio", ["ada"], wake={"people": "all"})
    await office.post("studio", "speak")
    event = await office.event("tool.requires_action")
    call: Json = event["call"]
    return str(call["callId"])


async def answer(office: Driver, caller: Principal, call_id: str, result: object) -> Acceptance:
    opened = office.office
    return await answers.submit(opened.store, caller, opened.registry, opened.pool, opened.vault, call_id, result)


async def test_an_approval_is_answered_without_http(office: Driver) -> None:
    call_id = await ask_for_approval(office)
    owner = await principal_of(office, office)
    assert not (await answer(office, owner, call_id, YES)).duplicate
    await office.run_finished("ada")
    assert "May I?" in await office.texts("studio")
    assert (await answer(office, owner, call_id, YES)).duplicate


async def test_an_operation_refuses_who_may_not_approve(office: Driver) -> None:
    call_id = await ask_for_approval(office)
    id, api = await office.person("Mia")
    await office.create("/spaces/studio/members", {"memberId": id})
    mia = await principal_of(office, api)
    with pytest.raises(Forbidden):
        await answer(office, mia, call_id, YES)
    with pytest.raises(NotFound):
        await office.office.store.transact(lambda tx: answers.cancel(tx, mia, call_id))
    assert (await office.get(f"/pending/{call_id}"))["status"] == "waiting"


async def test_a_command_is_answered_without_http(office: Driver) -> None:
    await office.agent("ada", steps=[])
    await office.space("studio", ["ada"])
    said = await tell(office, await principal_of(office, office), "/status")
    status = (await office.messages("studio"))[-1]
    assert (status["type"], status["replyTo"]) == ("system", said.draft.id)
    assert status["text"] == "Ada is idle."


async def test_stop_interrupts_a_thinking_run_without_http(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=[scripts.say("never")], held=True)
    await office.space("studio", ["ada"], wake={"people": "all"})
    owner = await principal_of(office, office)
    await tell(office, owner, "hello")
    await ada.asked(1)
    await tell(office, owner, "/stop")
    assert (await office.run_finished("ada"))["status"] == "cancelled"


async def test_a_stranger_says_nothing_in_a_private_space(office: Driver) -> None:
    await office.space("studio", private=True)
    _, api = await office.person("Mia")
    with pytest.raises(NotFound):
        await tell(office, await principal_of(office, api), "/help")
    assert await office.texts("studio") == []


async def test_an_agent_is_deleted_without_http(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=[scripts.say("never")], held=True)
    await office.space("studio", ["ada"], wake={"people": "all"})
    await office.create("/hooks", {"agentId": "ada", "name": "bell"})
    owner = await principal_of(office, office)
    await office.post("studio", "hello")
    await ada.asked(1)
    await office.office.store.transact(lambda tx: agents.delete(tx, owner, "ada"))
    assert (await office.run_finished("ada"))["status"] == "cancelled"
    assert await office.items("/hooks") == []
    assert "ada" not in (await office.get("/spaces/studio"))["members"]
    await office.get("/agents/ada", status=404)


async def test_a_deleted_agent_can_still_be_erased(office: Driver) -> None:
    await office.agent("ada", steps=[], instructions="the code word is heron", blocks={"mood": "heron"})
    owner = await principal_of(office, office)
    store = office.office.store
    await store.transact(lambda tx: agents.delete(tx, owner, "ada"))
    await store.transact(lambda tx: erasing.begin(tx, owner, "agent", "ada"))
    await office.office.finish_erasures()
    noted = [row["action"] for row in await office.items("/audit", objectId="ada")]
    assert noted[:2] == ["agent.erased", "agent.deleted"]
    with pytest.raises(NotFound):
        await store.read(lambda tx: agents.get(tx, "ada"))


async def test_only_owners_erase_without_http(office: Driver) -> None:
    await office.agent("ada", steps=[])
    _, api = await office.person("Mia")
    mia = await principal_of(office, api)
    with pytest.raises(Forbidden):
        await office.office.store.transact(lambda tx: erasing.begin(tx, mia, "agent", "ada"))
    with pytest.raises(Forbidden):
        await office.office.store.transact(lambda tx: agents.delete(tx, mia, "ada"))
    assert (await office.get("/agents/ada"))["state"] == "idle"
