"""Messages show files: everywhere a message is shown, and for as long as it is."""

from __future__ import annotations

import asyncio

import pytest

from bullpen.storage import Statement
from bullpen.storage.statements import SQLITE
from tests.driver import Driver, Json, Offices
from tests.files.offering import content, faults, give, picture, until_kept
from tests.path.puppets import puppet, told, untimed
from tests.path.scripts import SILENT, call, step


async def test_a_message_shows_files_wherever_it_is_shown(office: Driver) -> None:
    await office.space("general")
    mine, theirs = await give(office, picture(), "p.png"), await give(office, name="b.txt", space="general")
    posted = await office.post("general", "look at these", attachments=[mine["id"], theirs["id"]])
    shown = [{**mine, "spaceId": "general"}, theirs]
    assert (posted["attachments"], posted["type"]) == (shown, "text")
    assert (await office.messages("general"))[0]["attachments"] == shown
    assert (await office.get(f"/messages/{posted['id']}"))["attachments"] == shown
    assert (await office.items("/search", q="look"))[0]["attachments"] == shown
    told = await office.event("message_created")
    assert told["message"]["attachments"] == shown
    exported = await office.http.get("/spaces/general/export")
    assert exported.text.count(mine["id"]) == 2  # in the message, and as a file
    assert await office.get(f"/files/{mine['id']}") == shown[0]
    assert await faults(office) == []


@pytest.mark.one_database
async def test_a_file_alone_is_a_message_without_text(office: Driver) -> None:
    await office.space("general")
    file = await give(office)
    posted = await office.create("/spaces/general/messages", {"attachments": [file["id"]]})
    assert (posted["type"], posted["text"]) == ("file", "")
    empty: list[Json] = [{}, {"text": ""}, {"text": "", "attachments": []}, {"attachments": []}]
    for nothing in empty:
        said = await office.create("/spaces/general/messages", nothing, status=422)
        assert said["error"]["fields"] == {"text": "say something, or attach a file"}


async def test_only_own_files_or_the_spaces_files_can_be_attached(office: Driver) -> None:
    _, peter = await office.person("Peter")
    await office.space("general", ["psn_peter"])
    await office.space("den", private=True)
    own, elsewhere, in_space = await give(office), await give(office, space="den"), await give(office, space="general")
    for id in (own["id"], elsewhere["id"], "fil_unknown", "x\u202e"):
        said = await peter.create("/spaces/general/messages", {"text": "ha", "attachments": [id]}, status=422)
        assert said["error"]["fields"] == {"attachments": f"unknown: {id}"}
    await office.create("/spaces/general/messages", {"text": "ha", "attachments": [elsewhere["id"]]}, status=422)
    await peter.create("/spaces/general/messages", {"text": "this one", "attachments": [in_space["id"]]})
    assert len(await office.messages("general")) == 1
    assert await faults(office) == []


@pytest.mark.one_database
async def test_a_message_shows_at_most_ten_files_each_once(office: Driver) -> None:
    await office.space("general")
    made = [(await give(office, name=f"{n}.txt"))["id"] for n in range(11)]
    await office.create("/spaces/general/messages", {"text": "", "attachments": made}, status=422)
    await office.create("/spaces/general/messages", {"text": "", "attachments": made[:1] * 2}, status=422)
    posted = await office.post("general", "", attachments=made[9::-1])
    assert [file["id"] for file in posted["attachments"]] == made[9::-1]


async def test_a_message_sent_again_shows_the_same_files(office: Driver) -> None:
    await office.space("general")
    one, two = (await give(office))["id"], (await give(office))["id"]
    first = await office.post("general", "a", attachments=[one], clientMessageId="c")
    assert await office.post("general", "a", attachments=[one], clientMessageId="c") == first
    for other in ([two], [], [one, two]):
        body = {"text": "a", "attachments": other, "clientMessageId": "c"}
        await office.create("/spaces/general/messages", body, status=409)
    assert await faults(office) == []


async def test_a_file_is_deleted_with_the_last_message_showing_it(office: Driver) -> None:
    await office.space("general")
    file = await give(office, picture(), "p.png")
    first = await office.post("general", "a", attachments=[file["id"]])
    second = await office.post("general", "b", attachments=[file["id"]])
    said = await office.ask("DELETE", f"/files/{file['id']}", status=409)
    assert "Delete the message" in said["error"]["message"]
    gone = await office.ask("DELETE", f"/messages/{first['id']}")
    assert gone["attachments"] == []
    assert (await office.event("message_deleted"))["message"]["attachments"] == []
    assert await content(office, file["id"])
    await office.ask("DELETE", f"/messages/{second['id']}")
    await office.get(f"/files/{file['id']}", status=404)
    await until_kept(office, [])
    assert await faults(office, swept=True) == []


@pytest.mark.one_database
async def test_editing_the_words_leaves_the_files(office: Driver) -> None:
    await office.space("general")
    file = await give(office, space="general")
    posted = await office.post("general", "a", attachments=[file["id"]])
    edited = await office.ask("PATCH", f"/messages/{posted['id']}", json={"text": "b"})
    assert (edited["text"], edited["attachments"]) == ("b", [file])


@pytest.mark.parametrize("round", range(3))
async def test_concurrent_attach_and_delete_never_loses_an_attached_file(offices: Offices, round: int) -> None:
    office = await offices.open(drive=False)
    await office.space("general")
    file = await give(office, space="general")
    first = await office.post("general", "a", attachments=[file["id"]])
    show = office.http.post("/spaces/general/messages", json={"text": "b", "attachments": [file["id"]]})
    shown, _ = await asyncio.gather(show, office.http.delete(f"/messages/{first['id']}"))
    there = (await office.http.get(f"/files/{file['id']}")).status_code
    assert (shown.status_code, there) in ((201, 200), (422, 404))
    assert await faults(office) == []


async def test_messages_without_files_run_no_extra_statements(offices: Offices) -> None:
    """Neither posting nor listing looks for files when there are none."""
    office = await offices.open(drive=False)
    await office.space("general")
    asked: list[str] = []
    transaction = type(await office.office.store.read(_itself))
    names = ("all", "one", "run", "many")
    originals = {name: getattr(transaction, name) for name in names}

    def listening(name: str) -> object:
        async def ask(self: object, statement: Statement, *args: object, **params: object) -> object:
            asked.append(statement.on(SQLITE).sql)
            return await originals[name](self, statement, *args, **params)

        return ask

    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.setattr(transaction, name, listening(name))
        await office.post("general", "hello")
        await office.messages("general")
    about_files = [sql for sql in asked if "message_files" in sql or "FROM files" in sql or "file_usage" in sql]
    assert asked
    assert about_files == []


async def _itself(tx: object) -> object:
    return tx


# ── what agents see ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
async def test_an_agent_sees_attached_files_with_their_ids(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=[step(call("read_messages", limit=5)), *SILENT])
    await office.space("general", ["ada"], wake={"people": "all"})
    file = await give(office, b"x" * 2048, "two  lines.txt")
    posted = await office.post("general", "see this", attachments=[file["id"]])
    await office.run_finished("ada")
    name = f'<outside id="{file["id"]}" source="file">two lines.txt</outside id="{file["id"]}">'
    line = f"    [file: {name} (text/plain, 2 KB), id {file['id']}]"
    assert [untimed(text) for text in told(ada.shown[0])] == [
        f"New for you:\n[{posted['id']} in general] Olga (person {office.owner_id}): see this\n{line}",
    ]
    read = (await office.results((await office.runs())[0]["id"]))[0]
    shown = {"id": file["id"], "name": "two lines.txt", "type": "text/plain", "size": 2048}
    assert read["messages"][0]["attachments"] == [shown]


@pytest.mark.one_database
async def test_an_agent_is_woken_by_a_file_without_words(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=SILENT)
    await office.space("general", ["ada"], wake={"people": "all"})
    file = await give(office)
    posted = await office.post("general", "", attachments=[file["id"]])
    await office.run_finished("ada")
    name = f'<outside id="{file["id"]}" source="file">note.txt</outside id="{file["id"]}">'
    line = f"[file: {name} (text/plain, 5 bytes), id {file['id']}]"
    assert untimed(told(ada.shown[0])[0]) == (
        f"New for you:\n[{posted['id']} in general] Olga (person {office.owner_id}): {line}"
    )
