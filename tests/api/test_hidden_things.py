"""What somebody may not see does not exist for them: not by name, not by id, not in a list, not in a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.driver import Api, Driver, Json
from tests.feed.streams import following
from tests.feed.worlds import World
from tests.path.scripts import SILENT, call, step

# Each names a space or a message by an id that may be real or made up; the answers must not tell which.
SPACE_REQUESTS: list[tuple[str, str, Json | None]] = [
    ("GET", "/spaces/{id}", None),
    ("GET", "/spaces/{id}/messages", None),
    ("POST", "/spaces/{id}/messages", {"text": "let me in"}),
    ("POST", "/spaces/{id}/read", {"seq": 1}),
    ("GET", "/spaces/{id}/pins", None),
    ("POST", "/spaces/{id}/typing", None),
    ("POST", "/spaces/{id}/preview", {"text": "@ada"}),
    ("POST", "/spaces/{id}/members", {"memberId": "{me}"}),
    ("DELETE", "/spaces/{id}/members/{me}", None),
    ("PATCH", "/spaces/{id}", {"name": "mine"}),
    ("GET", "/search?q=secret&spaceId={id}", None),
    ("GET", "/events?spaceId={id}", None),
]
MESSAGE_REQUESTS: list[tuple[str, str, Json | None]] = [
    ("GET", "/messages/{id}", None),
    ("PATCH", "/messages/{id}", {"text": "changed"}),
    ("DELETE", "/messages/{id}", None),
    ("POST", "/messages/{id}/reactions", {"emoji": "👀"}),
    ("DELETE", "/messages/{id}/reactions/👍", None),
    ("PUT", "/messages/{id}/pin", None),
    ("DELETE", "/messages/{id}/pin", None),
    ("GET", "/messages/{id}/why", None),
    ("GET", "/messages/{id}/why?agentId=ada", None),
]


@dataclass(frozen=True)
class Scene:
    office: Driver
    outsider_id: str
    outsider: Api
    agent: Api
    dm: str
    private: str
    said: list[Json]  # in the DM and in the private space


@pytest.fixture
async def scene(office: Driver) -> Scene:
    """Pat talks with Ada, alone; the owner's cellar is private. Max and the agent Bo are in neither."""
    pat, as_pat = await office.person("Pat")
    max_id, as_max = await office.person("Max")
    await office.agent("ada", steps=SILENT)
    await office.agent("bo", steps=SILENT)
    await office.space("hall", [pat, max_id, "bo"])
    await office.space("cellar", [pat], private=True)
    dm = (await office.dm(pat, "ada"))["id"]
    said = []
    for space_id in (dm, "cellar"):
        message = await as_pat.create(f"/spaces/{space_id}/messages", {"text": "the secret @ada"})
        await as_pat.create(f"/messages/{message['id']}/reactions", {"emoji": "👍"})
        said.append(message)
    await office.idle()
    return Scene(office, max_id, as_max, await office.as_agent("bo"), dm, "cellar", said)


async def asked(caller: Api, me: str, method: str, path: str, body: Json | None, id: str) -> tuple[int, str]:
    """The answer, with the id that was asked for taken out of it."""
    filled = None if body is None else {name: me if value == "{me}" else value for name, value in body.items()}
    more: dict[str, Any] = {} if filled is None else {"json": filled}
    answer = await caller.http.request(method, path.replace("{id}", id).replace("{me}", me), **more)
    return answer.status_code, answer.text.replace(id, "…")


def the_other_way_round(dm: str) -> str:
    _, first, second = dm.split("-")
    return f"dm-{second}-{first}"


@pytest.mark.one_database
@pytest.mark.proves("G13", "G17")
async def test_a_hidden_space_answers_like_one_that_does_not_exist(scene: Scene) -> None:
    hidden = [scene.dm, the_other_way_round(scene.dm), scene.private]
    for caller, me in ((scene.outsider, scene.outsider_id), (scene.agent, "bo")):
        for method, path, body in SPACE_REQUESTS:
            answers = [await asked(caller, me, method, path, body, id) for id in hidden]
            made_up = [await asked(caller, me, method, path, body, id) for id in ("dm-pat-zoe", "attic")]
            assert {status for status, _ in answers} == {404}, (me, method, path, answers)
            assert set(answers) == set(made_up), (me, method, path)


@pytest.mark.one_database
@pytest.mark.proves("G13")
async def test_an_owner_cannot_read_a_dm_that_includes_a_person(scene: Scene) -> None:
    for method, path, body in SPACE_REQUESTS:
        for id in (scene.dm, the_other_way_round(scene.dm)):
            status, _ = await asked(scene.office, scene.office.owner_id, method, path, body, id)
            assert status == 404, (method, path)


@pytest.mark.one_database
@pytest.mark.proves("G13", "G17")
async def test_an_unreadable_message_answers_like_one_that_does_not_exist(scene: Scene) -> None:
    for caller, me in ((scene.outsider, scene.outsider_id), (scene.agent, "bo")):
        for method, path, body in MESSAGE_REQUESTS:
            answers = [await asked(caller, me, method, path, body, message["id"]) for message in scene.said]
            made_up = await asked(caller, me, method, path, body, "msg_00000000000000000000000000")
            assert set(answers) == {made_up}, (me, method, path)
            assert made_up[0] == 404, (me, method, path)


@pytest.mark.one_database
@pytest.mark.proves("G17")
async def test_a_message_one_may_not_read_cannot_be_replied_to(scene: Scene) -> None:
    for path in ("/spaces/hall/messages", "/spaces/hall/preview"):
        answers = set()
        for id in (scene.said[0]["id"], scene.said[1]["id"], "msg_00000000000000000000000000"):
            answers.add(await asked(scene.outsider, "", "POST", path, {"text": "re", "replyTo": id}, id))
        ((status, _),) = answers
        assert status == 422


@pytest.mark.proves("G13", "G17")
async def test_lists_searches_and_counts_omit_hidden_spaces(scene: Scene) -> None:
    for caller in (scene.outsider, scene.agent):
        before = await caller.get("/spaces", params={"limit": 200})
        assert {space["id"] for space in before["items"]} == {"hall"}
        for query in ("secret", '"the secret"', "sec", "👍", scene.dm, "cellar", "ada"):
            assert await caller.get("/search", params={"q": query}) == {"items": []}
        author = scene.said[0]["authorId"]
        assert await caller.get("/search", params={"q": "secret", "authorId": author}) == {"items": []}
        assert await caller.get("/search", params={"q": "secret", "cursor": scene.said[0]["id"]}) == {"items": []}
        assert await caller.get("/runs", params={"spaceId": scene.dm}) == {"items": []}
        assert await caller.get("/runs", params={"agentId": "ada"}) == {"items": []}


@pytest.mark.one_database
@pytest.mark.proves("G13")
async def test_followers_hear_nothing_of_hidden_spaces(scene: Scene) -> None:
    async with following(scene.outsider) as max_hears, following(scene.agent) as bo_hears:
        cellar = await scene.office.post("cellar", "another secret")
        await scene.office.create(f"/messages/{cellar['id']}/reactions", {"emoji": "🤫"})
        await scene.office.post("hall", "for all")
        for stream in (max_hears, bo_hears):
            await stream.until_text("for all")
            assert {event.get("spaceId") for event in stream.events if "spaceId" in event} == {"hall"}


@pytest.mark.one_database
@pytest.mark.proves("G13")
async def test_an_agents_tools_reveal_nothing_about_dms_of_others(scene: Scene) -> None:
    tools = [("send_message", {"text": "hi"}), ("read_messages", {}), ("enter_space", {})]
    for name, args in tools:
        wrong: list[str] = []
        for id in (scene.dm, the_other_way_round(scene.dm), "dm-pat-zoe"):
            agent = f"spy_{name}_{len(wrong)}"
            await scene.office.agent(agent, steps=[step(call(name, spaceId=id, **args))])
            await scene.office.space(f"room-{agent}".replace("_", "-"), [agent], wake={"people": "all"})
            await scene.office.post(f"room-{agent}".replace("_", "-"), "go")
            run = await scene.office.run_finished(agent)
            (result,) = await scene.office.results(run["id"])
            assert "error" in result, (name, result)
            wrong.append(str(result).replace(id, "…").replace(agent.replace("_", "-"), "…").replace(agent, "…"))
        assert len(set(wrong)) == 1, wrong
    assert len(await scene.office.messages("hall")) == 0


@pytest.mark.proves("G17")
async def test_run_pages_are_full_and_cursors_never_name_hidden_runs(world: World) -> None:
    hidden = {run["id"] for run in await world["ada"].items("/runs")} - {
        run["id"] for run in await world.office.items("/runs")
    }
    assert hidden
    seen, cursor = [], None
    while True:
        query = {"limit": 1} if cursor is None else {"limit": 1, "cursor": cursor}
        found = await world.office.get("/runs", params=query)
        seen += [run["id"] for run in found["items"]]
        cursor = found.get("next")
        assert cursor not in hidden
        if cursor is None:
            break
        assert len(found["items"]) == 1
    assert seen == [run["id"] for run in await world.office.items("/runs")]
