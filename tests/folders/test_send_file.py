"""send_file: what an agent made becomes an attachment that everyone in the space can read."""

from __future__ import annotations

import asyncio
import io
import os
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from bullpen.errors import ToolFailed
from bullpen.settings import FileSettings
from bullpen.tools import ToolContext, tool
from tests.driver import Driver, Offices
from tests.folders.hostile_paths import OUTSIDE
from tests.folders.stores import Storage, given
from tests.path.scripts import call, say, step


async def thread_of(office: Driver, agent: str = "ada") -> str:
    """The thread that the agent has in its space, after it was woken once."""
    [run, *_] = await office.runs(agentId=agent)
    return str(run["threadId"])


async def room(office: Driver, *calls: dict[str, Any], text: str = "send", **fields: Any) -> str:
    """An agent in a space that was woken once, for nothing, and then makes these calls when it reads `send`."""
    turns: list[dict[str, Any]] = [{"when": f"^{text}$", "steps": [step(*calls)]}, {"steps": []}]
    await office.agent("ada", turns, tools=["messaging", "files"], **fields)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    await office.run_finished("ada")
    return await thread_of(office)


async def put(office: Driver, thread: str, path: str, content: bytes) -> None:
    await office.office.folders.write(thread, path, given([content]))


async def sent(office: Driver) -> tuple[dict[str, Any], list[Any]]:
    await office.post("general", "send")
    run = await office.run_finished("ada", nth=2)
    return run, await office.results(run["id"])


@pytest.mark.proves("S2-16")
async def test_a_workspace_file_is_sent_with_or_without_a_caption(office: Driver) -> None:
    thread = await room(
        office,
        call("send_file", path="/workspace/out/report.txt", caption="Here it is."),
        call("send_file", path="out/report.txt"),
    )
    await put(office, thread, "out/report.txt", b"all is well")
    run, results = await sent(office)
    *_, first, second = await office.messages("general")
    for message, result, text, type in ((first, results[0], "Here it is.", "text"), (second, results[1], "", "file")):
        [file] = message["attachments"]
        assert result == {"messageId": message["id"], "fileId": file["id"], "status": "sent", "spaceId": "general"}
        assert (message["authorId"], message["text"], message["type"]) == ("ada", text, type)
        assert (file["name"], file["size"], file["spaceId"]) == ("report.txt", 11, "general")
        content = await office.http.get(f"/files/{file['id']}/content")
        assert (content.status_code, content.content) == (200, b"all is well")
    assert run["messageIds"] == [first["id"], second["id"]]
    assert run["outcome"] == "spoke"
    told = [event["message"] for event in office.events if event["type"] == "message_created"]
    assert told[-2:] == [first, second]


@pytest.mark.one_database
@pytest.mark.proves("S2-16")
async def test_sending_a_missing_file_reports_it_and_sends_nothing(office: Driver) -> None:
    thread = await room(office, call("send_file", path="/workspace/none.txt"), call("send_file", path="folder"))
    await put(office, thread, "folder/file", b"x")
    run, results = await sent(office)
    assert results == [
        {"error": "There is no '/workspace/none.txt' in your workspace."},
        {"error": "'folder' is a folder, not a file."},
    ]
    assert await office.texts("general") == ["hello", "send"]
    assert run["messageIds"] == []


@pytest.mark.one_database
@pytest.mark.proves("E1")
async def test_a_path_outside_the_workspace_is_recorded_as_an_error(office: Driver) -> None:
    paths = [path for path in OUTSIDE if path.encode(errors="ignore").decode() == path and len(path) < 30_000]
    # A run has 32 calls in a step, so there are several.
    steps = [step(*(call("send_file", path=path) for path in paths[at : at + 16])) for at in range(0, len(paths), 16)]
    await office.agent("ada", steps=steps, tools=["messaging", "files"], limits={"maxSteps": 50})
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "go")
    run = await office.run_finished("ada")
    returned = [entry for entry in await office.journal(run["id"]) if entry["type"] == "tool_return_message"]
    assert len(returned) == len(paths)
    for path, entry in zip(paths, returned, strict=True):
        assert entry["isError"], path
        assert entry["result"]["code"] == "path_outside_workspace", (path, entry["result"])
    assert await office.texts("general") == ["go"]


@pytest.mark.one_database
@pytest.mark.proves("E2", "E5")
async def test_links_and_pipes_in_the_folder_are_not_sent(office: Driver, tmp_path: Path) -> None:
    names = ["passwd", "etc/passwd", "hard", "pipe"]
    thread = await room(office, *(call("send_file", path=name) for name in names))
    await put(office, thread, "own", b"x")
    here = office.office.settings.data / "folders" / thread
    secret = tmp_path / "secret"
    secret.write_text("SECRET")
    (here / "passwd").symlink_to("/etc/passwd")
    (here / "etc").symlink_to("/etc")
    (here / "hard").hardlink_to(secret)
    os.mkfifo(here / "pipe")
    run, results = await sent(office)
    assert [result.get("code") for result in results] == ["path_outside_workspace"] * 3 + [None]
    assert all("error" in result for result in results)
    assert run["messageIds"] == []


@pytest.mark.one_database
async def test_a_sent_file_is_a_copy_unaffected_by_later_changes(office: Driver) -> None:
    thread = await room(office, call("send_file", path="note"))
    await put(office, thread, "note", b"first")
    await sent(office)
    await put(office, thread, "note", b"second")
    [file] = (await office.messages("general"))[-1]["attachments"]
    assert (await office.http.get(f"/files/{file['id']}/content")).content == b"first"


@pytest.mark.one_database
async def test_a_sent_picture_gets_a_thumbnail(office: Driver) -> None:
    thread = await room(office, call("send_file", path="photo.png"))
    picture = io.BytesIO()
    Image.new("RGB", (640, 480), "red").save(picture, "PNG")
    await put(office, thread, "photo.png", picture.getvalue())
    await sent(office)
    [file] = (await office.messages("general"))[-1]["attachments"]
    assert (file["type"], file["thumbnail"]["width"]) == ("image/png", 320)


@pytest.mark.one_database
async def test_sending_a_file_counts_toward_the_message_limit(office: Driver) -> None:
    thread = await room(office, *[call("send_file", path="x")] * 3, limits={"maxMessages": 2})
    await put(office, thread, "x", b"x")
    run, results = await sent(office)
    assert len(run["messageIds"]) == 2
    assert "2 of 2 messages" in results[2]["error"]


@pytest.mark.one_database
async def test_an_agent_in_no_space_sends_to_nobody(office: Driver) -> None:
    thread = await room(office, call("leave_space"), call("send_file", path="x"))
    await put(office, thread, "x", b"x")
    _, results = await sent(office)
    assert "no space" in results[1]["error"]
    assert [id async for id in office.office.blobs.ids()] == [], "not even the bytes were copied"


async def test_sending_files_over_the_size_or_space_limit_is_refused(offices: Offices) -> None:
    office = await offices.open(files=FileSettings(file_bytes=1000, space_bytes=1500))
    thread = await room(office, *(call("send_file", path=path) for path in ("large", "some", "some")))
    await put(office, thread, "large", b"x" * 1001)
    await put(office, thread, "some", b"x" * 1000)
    run, results = await sent(office)
    assert "larger than 1000 bytes" in results[0]["error"]
    assert results[1]["status"] == "sent"
    assert "error" in results[2]
    assert len(run["messageIds"]) == 1


@pytest.mark.one_database
async def test_the_agent_is_taught_how_to_send_files(office: Driver) -> None:
    await room(office, call("send_file", path="x"))
    listed = office.office.registry.listed(["files"])
    assert {tool.name for tool in listed} == {"send_file", "read_file", "write_file"}
    assert "/workspace" in office.office.world.teaching.choose(("files",))[0]


@pytest.mark.one_database
async def test_with_s3_files_are_stored_and_read_there(offices: Offices, storage: Storage) -> None:
    office = await offices.open(s3=storage.settings(prefix="office"))
    thread = await room(office, call("send_file", path="report"))
    await put(office, thread, "report", b"far away")
    await sent(office)
    [file] = (await office.messages("general"))[-1]["attachments"]
    assert storage.keys() == [f"office/{file['id']}"]
    assert (await office.http.get(f"/files/{file['id']}/content")).content == b"far away"
    made = await office.ask(
        "POST", "/files", params={"spaceId": "general"}, files={"file": ("a.txt", b"uploaded")}, status=201
    )
    assert set(storage.keys()) == {f"office/{file['id']}", f"office/{made['id']}"}


@pytest.mark.one_database
async def test_unavailable_storage_is_reported_to_the_agent_and_uploader(offices: Offices, storage: Storage) -> None:
    office = await offices.open(s3=storage.settings(bucket="nowhere"))
    thread = await room(office, call("send_file", path="report"))
    await put(office, thread, "report", b"x")
    run, results = await sent(office)
    assert results[0]["code"] == "unavailable"
    assert "NoSuchBucket" in results[0]["error"]
    assert run["messageIds"] == []
    refused = await office.ask(
        "POST", "/files", params={"spaceId": "general"}, files={"file": ("a.txt", b"x")}, status=503
    )
    assert "file storage" in refused["error"]["message"]


# ── prepare ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_preparation_precedes_the_transaction_and_its_failure_ends_the_call(
    offices: Offices,
) -> None:
    seen: list[str] = []

    async def fetch(context: ToolContext, word: str) -> str:
        assert context.transaction is None
        seen.append(word)
        if word == "bad":
            raise ToolFailed("That is no good.")
        if word == "slow":
            await asyncio.Event().wait()
        return word.upper()

    @tool(effect="tx", prepare=fetch, timeout_ms=1000)
    async def shout(context: ToolContext, word: str) -> str:
        """Shout a word."""
        assert context.transaction is not None
        return f"{context.prepared}!"

    office = await offices.open(families={"shouting": [shout]})
    steps = [step(*(call("shout", word=word) for word in ("hello", "bad", "slow"))), say("done")]
    await office.agent("ada", steps=steps, tools=["messaging", "shouting"])
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "go")
    run = await office.run_finished("ada")
    assert (await office.results(run["id"]))[:3] == [
        "HELLO!",
        {"error": "That is no good."},
        {"error": "Tool timed out after 1000ms"},
    ]
    assert seen == ["hello", "bad", "slow"]
    assert (await office.texts("general"))[-1] == "done"


# ── the folder's end ────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_threads_folder_is_deleted_with_its_space_or_agent(office: Driver) -> None:
    """Before the erasure is answered; others stay."""
    for name in ("ada", "bo", "cy"):
        await office.agent(name, [], tools=["files"])
        await office.space(f"{name}-room", [name], wake={"people": "all"})
        await office.post(f"{name}-room", "hello")
        await office.run_finished(name)
        await put(office, await thread_of(office, name), "file", b"x")
    threads = {name: await thread_of(office, name) for name in ("ada", "bo", "cy")}
    await office.ask("DELETE", "/spaces/ada-room")
    folders = office.office.settings.data / "folders"
    assert {path.name for path in folders.iterdir()} == {".partial", threads["bo"], threads["cy"]}
    await office.create("/agents/bo/erase", {})
    assert {path.name for path in folders.iterdir()} == {".partial", threads["cy"]}
