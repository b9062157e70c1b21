"""What an agent stores for somebody who may store it is a skill at once. The space is told, and can undo it."""

from __future__ import annotations

import pytest

from bullpen.access import actions as people
from bullpen.access import rules as access
from bullpen.access.types import Principal
from bullpen.operations import say
from bullpen.spaces import actions as spaces
from bullpen.storage import Transaction
from tests.driver import Driver, Json
from tests.hooks.calling import made, path_of, ring
from tests.path.scripts import say as saying
from tests.skills.offices import STANDUP, TOOLS, call, stored, studio, told, turn

AT = "/spaces/studio/skills/standup"
KEEP = turn("keep it", call("store_skill", name="standup", **STANDUP))
CHANGE = turn("change it", call("store_skill", name="standup", **{**STANDUP, "instructions": "Say boo."}))


async def notices(office: Driver) -> list[Json]:
    return [message for message in await office.messages("studio") if message["type"] == "system"]


@pytest.mark.proves("S2-08", "S2-48")
async def test_what_a_person_asks_for_is_a_skill_at_once(office: Driver) -> None:
    await studio(office, KEEP)
    kept = await told(office, "keep it")
    assert kept["status"] == "active"
    skill = await office.get(AT)
    assert (skill["status"], skill["undoable"], skill["writtenBy"]) == ("active", True, "ada")
    (notice,) = await notices(office)
    says = "Ada stored the skill /standup, as Olga had asked. It can be started now, and anybody here can undo this."
    assert notice["text"] == says
    assert notice["metadata"] == {"skill": {"name": "standup", "hash": skill["hash"]}}
    await office.post("studio", "/standup")
    await office.run_finished("ada", nth=2)


async def test_undo_of_a_new_skill_removes_it(office: Driver) -> None:
    await studio(office, KEEP)
    await told(office, "keep it")
    hash = (await office.get(AT))["hash"]
    await office.create(f"{AT}/undo", {"hash": hash}, status=204)
    await office.get(AT, status=404)
    assert (await notices(office))[-1]["text"] == "Olga took the change back: /standup is gone."
    await office.create(f"{AT}/undo", {"hash": hash}, status=404)
    actions = [row["action"] for row in await office.items("/audit", objectKind="skill")]
    assert "skill.undone" in actions


async def test_undo_restores_what_a_person_had_stored(office: Driver) -> None:
    await studio(office, CHANGE)
    before = await stored(office)
    assert before["undoable"] is False
    await told(office, "change it")
    assert (await office.get(AT))["instructions"] == "Say boo."
    left = await office.create(f"{AT}/undo", {}, status=200)
    assert (left["instructions"], left["writtenBy"]) == (STANDUP["instructions"], office.owner_id)
    refused = await office.create(f"{AT}/undo", {}, status=409)
    assert "nothing to undo" in refused["error"]["message"]


async def test_undo_never_takes_back_a_later_version(office: Driver) -> None:
    await studio(office, KEEP, CHANGE)
    await told(office, "keep it")
    seen = (await office.get(AT))["hash"]
    await told(office, "change it", nth=2)
    refused = await office.create(f"{AT}/undo", {"hash": seen}, status=409)
    assert refused["error"]["fields"] == {"hash": "old"}
    assert (await office.get(AT))["instructions"] == "Say boo."
    await stored(office, instructions="Mine.")
    await office.create(f"{AT}/undo", {}, status=409)
    assert (await office.get(AT))["instructions"] == "Mine."


async def test_many_changes_forget_no_version_of_a_person(office: Driver) -> None:
    wishes = [call("store_skill", name="standup", **{**STANDUP, "instructions": f"{n}"}) for n in range(6)]
    await studio(office, turn("change it", *wishes))
    await stored(office)
    await told(office, "change it")
    said = []
    while (found := await office.get(AT))["undoable"]:
        said.append(found["instructions"])
        await office.create(f"{AT}/undo", {"hash": found["hash"]}, status=200)
    assert said == ["5", "4", "3", "2"]
    assert found["instructions"] == STANDUP["instructions"]


async def test_a_proposal_outlives_an_undo(office: Driver) -> None:
    await studio(office, KEEP)
    await told(office, "keep it")
    await stored(office, status="proposed", instructions="Perhaps.")
    left = await office.create(f"{AT}/undo", {}, status=200)
    assert (left["status"], left["proposal"]["instructions"]) == ("proposed", "Perhaps.")
    assert "+Perhaps." in left["proposal"]["diff"].splitlines()


@pytest.mark.one_database
async def test_only_people_of_the_space_undo(office: Driver) -> None:
    await studio(office, KEEP)
    await told(office, "keep it")
    _, anna = await office.person("Anna")
    for api, status in ((anna, 403), (await office.as_agent("ada"), 403)):
        await api.create(f"{AT}/undo", {}, status=status)
    assert (await office.get(AT))["status"] == "active"


WAYS = ["a policy", "a task", "an agent in between", "a guest", "outside text"]


@pytest.mark.parametrize("way", WAYS)
async def test_anything_else_is_a_proposal(office: Driver, way: str) -> None:
    policy: Json = {"policy": {"store_skill": "ask"}} if way == "a policy" else {}
    trigger = {"kind": "task", "steps": [{"calls": [call("store_skill", name="standup", **STANDUP)]}, {}]}
    await studio(office, trigger, KEEP, **policy)
    await office.agent("bo", [{"kind": "trigger", "steps": [saying("red", spaceId="studio")]}, turn("", _passed_on())])
    await office.create("/spaces/studio/members", {"memberId": "bo"})
    await office.ask("PATCH", "/spaces/studio", json={"wake": {"agents": "mention"}})
    if way == "a task":
        later = {"spaceId": "studio", "agentId": "ada", "prompt": "keep it", "scheduleType": "interval"}
        task = await office.create("/tasks", {**later, "scheduleValue": "1h"})
        await office.create(f"/tasks/{task['id']}/run", {})
    elif way == "an agent in between":
        await office.post("studio", "@bo tell her")
    elif way == "a guest":
        await _say_as_guest(office)
    else:
        if way == "outside text":
            await ring(office, path_of(await made(office, agent="bo")))
            await office.run_finished("bo")
        await office.post("studio", "@ada keep it")
    run = await office.run_finished("ada")
    kept = next(result for result in await office.results(run["id"]) if "command" in result)
    assert kept["status"] == "proposed"
    assert (await office.get(AT))["status"] == "proposed"


def _passed_on() -> Json:
    return call("send_message", text="@ada keep it")


async def _say_as_guest(office: Driver) -> None:
    """As a bridge brings it: guests have no way to sign in."""

    async def join(tx: Transaction) -> Principal:
        gus = await people.insert_guest(tx, "Gus")
        await spaces.ensure_member(tx, "studio", gus.id)
        return Principal("person", gus.id, gus.name, access.GUEST)

    gus = await office.office.store.transact(join)
    await office.office.store.transact(lambda tx: say.say(tx, gus, "studio", "@ada keep it", office.office.posting))


@pytest.mark.one_database
async def test_allow_also_holds_for_runs_of_nobody(office: Driver) -> None:
    trigger = {"kind": "task", "steps": [{"calls": [call("store_skill", name="standup", **STANDUP)]}, {}]}
    await studio(office, trigger, tools=TOOLS, policy={"store_skill": "allow"})
    later = {"spaceId": "studio", "agentId": "ada", "prompt": "x", "scheduleType": "interval", "scheduleValue": "1h"}
    task = await office.create("/tasks", later)
    await office.create(f"/tasks/{task['id']}/run", {})
    await office.run_finished("ada")
    assert (await office.get(AT))["status"] == "active"
    (notice,) = [each for each in await notices(office) if "skill" in each["metadata"]]
    assert notice["text"].startswith("Ada stored the skill /standup. It can be started now")


async def test_an_erasure_reaches_earlier_versions(office: Driver) -> None:
    await studio(office, CHANGE)
    id, pia = await office.person("Pia")
    await office.create("/spaces/studio/members", {"memberId": id})
    await stored(pia, instructions="Pia's very own words.")
    await told(office, "change it")
    await office.ask("POST", f"/people/{id}/erase", json={})
    await office.idle()
    assert await office.create(f"{AT}/undo", {}) is None, "nothing is left that it could say again"
