"""Groups: registered from the main group, and each for itself.

What a run in a group that is not the main one does stays in that group: its messages, its memory, its files.
"""

from __future__ import annotations

from typing import Any

import pytest

from bullpen.testing import snapshot
from tests.driver import Api, Driver, Json
from tests.path.puppets import puppet
from tests.path.scripts import call, say, step, turn

FAMILY = {"jid": "tg:-1001234567890", "name": "Family", "folder": "family-chat", "trigger": "@Andy"}


class Room:
    """Ada does what she is told by a word; `ask` gives what came of her calls."""

    def __init__(self, office: Driver) -> None:
        self.office = office
        self._runs = 0

    async def ask(self, space: str, what: str, by: Api | None = None) -> list[Any]:
        await (by or self.office).create(f"/spaces/{space}/messages", {"text": what})
        self._runs += 1
        run = await self.office.run_finished("ada", nth=self._runs)
        return await self.office.results(run["id"])

    async def one(self, space: str, what: str, by: Api | None = None) -> Any:
        [result] = await self.ask(space, what, by)
        return result


TOOLS = ["messaging", "memory", "groups", "tasks"]


async def house(office: Driver, *turns: Json, scope: str = "space") -> Room:
    """A main group, two others and a channel, all with Ada in them."""
    if turns:  # else the caller has made her
        await office.agent("ada", list(turns), tools=TOOLS, scope=scope)
    await office.space("home", ["ada"], kind="group", main=True)
    for name in ("family", "work"):
        await office.space(name, ["ada"], kind="group", folder=name, trigger="@Andy")
    await office.space("team", ["ada"], wake={"people": "all"})
    return Room(office)


# ── registering ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("S2-05", "S2-42")
async def test_the_main_group_registers_a_chat_no_bridge_has_seen(office: Driver) -> None:
    more = {"provider": "script", "model": "silent"}
    room = await house(office, turn("register", step(call("register_group", **FAMILY, **more))))
    made = await room.one("home", "register")
    assert made == {
        "spaceId": "family-chat",
        "name": "Family",
        "trigger": "@Andy",
        "members": [office.owner_id, "ada"],
        "jid": FAMILY["jid"],
        "folder": "family-chat",
        **more,
    }
    space = await office.get("/spaces/family-chat")
    assert (space["kind"], space["main"], space["private"]) == ("group", False, True)
    assert (space["bridge"], space["wake"]) == (FAMILY["jid"], {"people": "trigger", "agents": "none"})
    actions = [row["action"] for row in await office.items("/audit")]
    assert "group.registered" in actions


@pytest.mark.proves("S2-06", "S2-43", "G4")
@pytest.mark.parametrize("space", ["family", "team"])
@pytest.mark.one_database
async def test_other_spaces_cannot_register_a_group(office: Driver, space: str) -> None:
    room = await house(office, turn("register", step(call("register_group", **FAMILY))))
    refused = await room.one(space, "@Andy register")
    assert refused["error"].startswith("Denied: register_group takes the right 'register_group'.")
    assert await office.items("/chats") == []


@pytest.mark.proves("S2-43", "G4")
@pytest.mark.parametrize("door", ["hook", "trigger"])
@pytest.mark.one_database
async def test_hooks_and_triggers_cannot_register_a_group(office: Driver, door: str) -> None:
    """Not even for an owner, who made the hook: whoever has its address could."""
    room = await house(office, {"steps": [step(call("register_group", **FAMILY), call("list_groups"))]})
    if door == "hook":
        hook = await office.create("/hooks", {"agentId": "ada", "name": "ci"})
        await office.http.post(hook["url"].replace(office.office.url, "http://office"), json={"text": "register"})
    else:
        await office.create("/agents/ada/trigger", {"serviceName": "ci", "payload": "register"})
    results = await office.results((await office.run_finished("ada"))["id"])
    assert [result["error"].split(" takes")[0] for result in results] == [
        "Denied: register_group",
        "Denied: list_groups",
    ]
    assert "family-chat" not in {space["id"] for space in await room.office.items("/spaces")}


@pytest.mark.proves("E13")
@pytest.mark.parametrize(
    "field, value",
    [
        ("folder", "../../etc"),
        ("folder", "/etc"),
        ("folder", "Family"),
        ("folder", "a--b"),
        ("folder", "-a"),
        ("folder", ""),
        ("folder", "x" * 65),
        ("jid", "1001234567890"),
        ("jid", "tg:"),
        ("jid", "tg:a b"),
        ("jid", "tg:a/b"),
        ("jid", "TG:1"),
        ("trigger", " "),
        ("trigger", "a\nb"),
        ("name", ""),
        ("name", "nul\x00"),
        ("provider", "nobody"),
    ],
)
@pytest.mark.one_database
async def test_invalid_groups_are_refused_by_the_tool_and_the_api(office: Driver, field: str, value: str) -> None:
    room = await house(office, turn("register", step(call("register_group", **{**FAMILY, field: value}))))
    before = len(await office.items("/spaces"))
    assert "error" in await room.one("home", "register")
    body: Json = {"kind": "group", **FAMILY, field: value}
    body["bridge"] = body.pop("jid")
    await office.create("/spaces", body, status=422)
    assert len(await office.items("/spaces")) == before
    assert not (office.office.settings.data / "folders").exists()


async def test_a_chat_and_a_folder_belong_to_one_group(office: Driver) -> None:
    room = await house(
        office,
        turn("first", step(call("register_group", **FAMILY))),
        turn("chat", step(call("register_group", **{**FAMILY, "folder": "other"}))),
        turn("folder", step(call("register_group", **{**FAMILY, "jid": "tg:-2"}))),
    )
    assert "spaceId" in await room.one("home", "first")
    assert "is registered already" in (await room.one("home", "chat"))["error"]
    assert "has the folder" in (await room.one("home", "folder"))["error"]
    for body in ({"bridge": FAMILY["jid"]}, {"folder": FAMILY["folder"]}):
        await office.ask("PATCH", "/spaces/work", json=body, status=409)
    # Let go of, both are free again.
    await office.ask("PATCH", "/spaces/family-chat", json={"bridge": None, "folder": "former"})
    await office.ask("PATCH", "/spaces/work", json={"bridge": FAMILY["jid"], "folder": FAMILY["folder"]})


@pytest.mark.proves("S2-44")
async def test_chats_seen_by_bridges_are_listed_as_available_until_registered(office: Driver) -> None:
    room = await house(
        office, turn("list", step(call("list_groups"))), turn("register", step(call("register_group", **FAMILY)))
    )
    for name in ("Fam", "The family"):
        await office.ask("PUT", f"/chats/{FAMILY['jid']}", json={"name": name})
    listed = await room.one("home", "list")
    assert [(chat["jid"], chat["name"]) for chat in listed["available"]] == [(FAMILY["jid"], "The family")]
    assert {group["spaceId"] for group in listed["groups"]} == {"home", "family", "work"}
    await room.one("home", "register")
    listed = await room.one("home", "list")
    assert listed["available"] == []
    assert FAMILY["jid"] in {group.get("jid") for group in listed["groups"]}
    [chat] = await office.items("/chats", registered=True)
    assert chat["spaceId"] == "family-chat"
    assert await office.items("/chats", registered=False) == []


@pytest.mark.one_database
async def test_a_member_cannot_create_main_groups_or_claim_chats(office: Driver) -> None:
    _, pia = await office.person("Pia")
    for body in ({"main": True}, {"bridge": FAMILY["jid"]}):
        await pia.create("/spaces", {"id": "mine", "kind": "group", **body}, status=403)
    await pia.create("/spaces", {"id": "mine", "kind": "group"})
    await pia.ask("PATCH", "/spaces/mine", json={"bridge": FAMILY["jid"]}, status=403)
    await pia.get("/chats", status=403)


async def test_erasing_a_group_removes_its_memory_and_frees_its_chat(office: Driver) -> None:
    """The same id, chat and agent again know nothing of it."""
    room = await house(
        office,
        turn("keep", step(call("store_memory", content="secret"), call("update_memory", label="mood", content="sly"))),
        turn("find", step(call("search_memory", query="secret"))),
    )
    await office.ask("PATCH", "/spaces/family", json={"bridge": FAMILY["jid"]})
    await room.ask("family", "@Andy keep")
    exported = (await office.http.get("/spaces/family/export")).text
    assert "secret" in exported
    assert "sly" in exported
    await office.ask("DELETE", "/spaces/family")
    assert await office.items("/chats") == []
    await office.space("family", ["ada"], kind="group", folder="family", trigger="@Andy", bridge=FAMILY["jid"])
    assert (await room.one("family", "@Andy find"))["passages"] == []
    seen = await snapshot.read(office.office.settings.database_url)
    assert ([b for b in seen["blocks"] + seen["block_versions"] if b["space_id"]], seen["passages"]) == ([], [])


# ── each for itself ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("S2-06", "G1", "S1-16")
@pytest.mark.parametrize("scope", ["space", "agent"])
@pytest.mark.one_database
async def test_an_agent_in_a_group_can_reach_only_that_group(office: Driver, scope: str) -> None:
    """Reading and entering elsewhere too: each is refused and kept, and nothing is sent."""
    room = await house(
        office,
        turn(
            "spread",
            say("psst", spaceId="work"),
            step(call("enter_space", spaceId="team"), call("read_messages", spaceId="home")),
            step(call("leave_space"), call("send_message", text="here", spaceId="family")),
        ),
        scope=scope,
    )
    results = await room.ask("family", "@Andy spread")
    assert [("error" in result) for result in results] == [True, True, True, False, False]
    assert all("from here" in result["error"] for result in results[:3])
    for space in ("work", "team", "home"):
        assert await office.items(f"/spaces/{space}/messages") == []


@pytest.mark.proves("G1")
@pytest.mark.one_database
async def test_a_group_cannot_react_to_messages_elsewhere(office: Driver) -> None:
    await house(office, turn("x", say("x")))
    said = await office.post("work", "nobody is meant")
    await office.agent("bo", [turn("react", step(call("react_to_message", messageId=said["id"], emoji="👍")))])
    for space in ("family", "work"):
        await office.create(f"/spaces/{space}/members", {"memberId": "bo"})
    await office.post("family", "@Andy react")
    [result] = await office.results((await office.run_finished("bo"))["id"])
    assert "There is no message" in result["error"]


@pytest.mark.proves("S2-05")
@pytest.mark.one_database
async def test_the_main_group_can_send_wherever_its_agent_is(office: Driver) -> None:
    room = await house(office, turn("tell", say("dinner", spaceId="family")))
    assert (await room.one("home", "tell"))["status"] == "sent"
    [message] = await office.items("/spaces/family/messages")
    assert message["text"] == "dinner"


@pytest.mark.parametrize("scope", ["space", "agent"])
async def test_memories_made_in_a_group_are_found_only_there(office: Driver, scope: str) -> None:
    room = await house(
        office,
        turn("keep", step(call("store_memory", content="the cake is a surprise"))),
        turn("find", step(call("search_memory", query="cake"))),
        scope=scope,
    )
    await room.one("family", "@Andy keep")
    assert len((await room.one("family", "@Andy find"))["passages"]) == 1
    for space in ("work", "home", "team"):
        assert (await room.one(space, "@Andy find"))["passages"] == []
    await room.one("work", "@Andy keep")
    assert len((await room.one("work", "@Andy find"))["passages"]) == 1
    await room.one("home", "keep")
    assert len((await room.one("team", "find"))["passages"]) == 1


async def test_a_group_changes_its_agents_blocks_for_itself_alone(office: Driver) -> None:
    be = turn("be", step(call("update_memory", label="mood", content="grumpy")))
    ada = await puppet(office, "ada", [be], tools=TOOLS)
    room = await house(office)
    await office.ask("PUT", "/agents/ada/blocks/mood", json={"content": "cheerful"})
    await room.one("family", "@Andy be")
    assert (await office.get("/agents/ada/blocks/mood"))["content"] == "cheerful"
    for space, mood in (("family", "grumpy"), ("work", "cheerful"), ("home", "cheerful")):
        await room.ask(space, "@Andy hm")
        assert mood in ada.shown[-1].system


@pytest.mark.one_database
async def test_one_mind_gets_a_separate_thread_in_a_group(office: Driver) -> None:
    room = await house(office, turn("hello", say("I heard you")), scope="agent")
    await room.ask("home", "hello, the code is 4711")
    await room.ask("family", "@Andy hello")
    runs = {run["spaceId"]: run["threadId"] for run in await office.runs()}
    assert runs["home"] != runs["family"]
    await room.ask("team", "hello again")
    runs = {run["spaceId"]: run["threadId"] for run in await office.runs()}
    assert runs["team"] == runs["home"]


async def test_a_groups_task_runs_in_the_groups_own_thread(office: Driver) -> None:
    """Whatever else the agent's mind spans."""
    room = await house(office, turn("look", say("psst", spaceId="home")), scope="agent")
    body = {"spaceId": "family", "prompt": "look", "scheduleType": "interval", "scheduleValue": "1h"}
    task = await office.create("/tasks", body)
    await office.create(f"/tasks/{task['id']}/run", {})
    run = await office.run_finished("ada")
    assert run["spaceId"] == "family"
    assert "from here" in (await office.results(run["id"]))[0]["error"]
    room._runs = 1
    await room.ask("family", "@Andy hm")
    assert len({run["threadId"] for run in await office.runs()}) == 1


@pytest.mark.parametrize("mode", ["group", "isolated"])
@pytest.mark.one_database
async def test_a_groups_files_are_available_to_every_task_in_it(office: Driver, mode: str) -> None:
    send = turn("send", step(call("send_file", path="/workspace/list.txt")))
    await office.agent("ada", [send], tools=["messaging", "files"])
    for name in ("family", "work"):
        await office.space(name, ["ada"], kind="group", folder=name, trigger="@Andy")
    await office.office.folders.use("group-family", lambda folder: folder.write("list.txt", b"milk"))
    for name in ("family", "work"):
        body = {"spaceId": name, "prompt": "send", "scheduleType": "interval", "scheduleValue": "1h"}
        task = await office.create("/tasks", {**body, "contextMode": mode})
        await office.create(f"/tasks/{task['id']}/run", {})
    results = [await office.results((await office.run_finished("ada", nth=nth))["id"]) for nth in (1, 2)]
    assert sorted("error" in result for [result] in results) == [False, True]
    assert [m["attachments"][0]["name"] for m in await office.messages("family")] == ["list.txt"]
    # They go when the group does.
    await office.office.sweep_folders()
    assert await office.office.folders.use("group-family", lambda folder: folder.entries())
    await office.ask("DELETE", "/spaces/family")
    assert not (office.office.settings.data / "folders" / "group-family").exists()


# ── the trigger word ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
async def test_groups_need_their_trigger_word_but_main_groups_do_not(office: Driver) -> None:
    room = await house(office, turn(".", say("yes?")))
    await office.create("/spaces/family/messages", {"text": "ada, are you there? andy? @Andyy"})
    await room.ask("home", "anything")
    await room.ask("family", "well, @andy: hello")
    woken = [run["spaceId"] for run in await office.runs()]
    assert woken == ["home", "family"]
