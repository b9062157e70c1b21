"""Vectors follow their texts: after a crash, a change of the model, an edit meanwhile, a deletion, a backup."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack

import pytest
from sqlalchemy import bindparam, delete, insert, text

from bullpen.doctor.database import examine
from bullpen.llm.embedding import Vector
from bullpen.meaning import exact, rows
from bullpen.meaning.background import Background
from bullpen.meaning.exact import Vectors
from bullpen.meaning.types import Near
from bullpen.memory import actions as memory
from bullpen.memory.actions import Wish
from bullpen.memory.rules import Place, agent_scope
from bullpen.memory.types import Origin
from bullpen.settings import load_settings
from bullpen.storage import Statement, Store, Transaction
from bullpen.storage.sqlite import SqliteReader
from bullpen.storage.tables import vectors
from bullpen.testing.embedding import TinyEmbedder
from tests.databases import Database
from tests.driver import Offices
from tests.memory.meaning import contents, embedded, open_office, remember, tiny, vectors_of

WAITS = Statement(
    text(
        "SELECT pid FROM pg_locks WHERE NOT granted "
        "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
)


async def test_what_was_written_before_is_caught_up_with(database: Database) -> None:
    async with AsyncExitStack() as stack:
        office = await Offices(database, stack).open()
        await office.agent("ada")
        await remember(office, "ada", "An automobile.")
        assert not any((await office.office.store.read(rows.count_waiting)).values())
    async with AsyncExitStack() as stack:
        office = await open_office(Offices(database, stack))
        await embedded(office)
        assert await contents(office, "ada", "car") == ["An automobile."]


async def test_what_a_dead_process_left_is_embedded_by_the_next(database: Database) -> None:
    embedder = tiny()
    async with AsyncExitStack() as stack:
        office = await open_office(Offices(database, stack), embedder)
        await office.agent("ada")
        await embedded(office)
        embedder.gate.clear()
        await remember(office, "ada", "An automobile.", "A feline.")
    async with AsyncExitStack() as stack:
        office = await open_office(Offices(database, stack))
        await embedded(office)
        assert await contents(office, "ada", "cat") == ["A feline.", "An automobile."]


async def test_another_model_embeds_everything_anew(database: Database) -> None:
    async with AsyncExitStack() as stack:
        office = await open_office(Offices(database, stack))
        await office.agent("ada")
        await remember(office, "ada", "An automobile.")
        await embedded(office)
    async with AsyncExitStack() as stack:
        embedder = tiny(model="tiny-2")
        office = await open_office(Offices(database, stack), embedder)
        await embedded(office)
        assert [row["model"] for row in await vectors_of(office)] == ["tiny-2"]
        assert await contents(office, "ada", "car") == ["An automobile."]
    async with AsyncExitStack() as stack:
        office = await Offices(database, stack).open()
        await remember(office, "ada", "A feline.")
        assert await office.office.store.read(rows.select_wanted) is None
        assert await contents(office, "ada", "car") == []


async def test_a_text_that_changes_meanwhile_keeps_no_old_vector(offices: Offices) -> None:
    embedder = tiny()
    office = await open_office(offices, embedder)
    await office.agent("ada")
    await embedded(office)
    embedder.gate.clear()
    [id] = await remember(office, "ada", "An automobile.")

    async def asked() -> bool:
        return ["An automobile."] in embedder.asked

    await office.until(asked)
    await office.ask("PATCH", f"/passages/{id}", json={"content": "A feline."})
    embedder.gate.set()
    await embedded(office)
    [row] = await vectors_of(office)
    assert bytes(row["vector"]) == exact.pack(embedder.vector("A feline."))


async def test_a_text_that_is_deleted_meanwhile_gets_no_vector(offices: Offices) -> None:
    embedder = tiny()
    office = await open_office(offices, embedder)
    await office.agent("ada")
    await embedded(office)
    embedder.gate.clear()
    [id] = await remember(office, "ada", "An automobile.")

    async def asked() -> bool:
        return ["An automobile."] in embedder.asked

    await office.until(asked)
    await office.ask("DELETE", f"/passages/{id}")
    embedder.gate.set()
    await remember(office, "ada", "A feline.")
    await embedded(office)
    assert len(await vectors_of(office)) == 1


async def test_a_vector_goes_with_its_text(offices: Offices) -> None:
    office = await open_office(offices)
    await office.agent("ada")
    await office.space("general", ["ada"])
    [first, _] = await remember(office, "ada", "An automobile.", "A feline.")
    await office.post("general", "Hello there.")
    await embedded(office)
    assert len(await vectors_of(office)) == 3
    await office.ask("DELETE", f"/passages/{first}")
    assert len(await vectors_of(office)) == 2
    await office.ask("POST", "/agents/ada/erase")
    await office.ask("DELETE", "/spaces/general")
    assert await vectors_of(office) == []
    assert not any((await office.office.store.read(rows.count_waiting)).values())


async def test_one_text_that_is_refused_keeps_no_other_waiting(offices: Offices) -> None:
    embedder = tiny()
    embedder.refuses.add("poison")
    office = await open_office(offices, embedder)
    await office.agent("ada")
    await remember(office, "ada", "An automobile.", "poison", "A feline.")

    async def holds() -> bool:
        return len(await vectors_of(office)) == 2

    await office.until(holds)
    assert await contents(office, "ada", "cat") == ["A feline.", "An automobile."]


async def test_a_model_that_is_away_is_asked_again(offices: Offices) -> None:
    embedder = tiny()
    embedder.away = True
    office = await open_office(offices, embedder)
    await office.agent("ada")
    await remember(office, "ada", "An automobile.")

    async def tried() -> bool:
        return bool(office.office.embedding and office.office.embedding.trouble)

    await office.until(tried)
    embedder.away = False
    await embedded(office)
    assert len(await vectors_of(office)) == 1


async def test_what_is_being_written_while_vectors_become_wanted_gets_one(offices: Offices) -> None:
    """Its writer has seen nobody who wants vectors, and commits after every text was looked at."""
    if offices.database.kind == "sqlite":
        return  # one writer at a time
    office = await offices.open()
    await office.agent("ada")
    store, written, may_commit = office.office.store, asyncio.Event(), asyncio.Event()

    async def write(tx: Transaction) -> None:
        await memory.store(tx, Place(agent_scope("ada")), "ada", Wish("An automobile."), Origin())
        written.set()
        await may_commit.wait()

    async def looked_or_waits() -> bool:
        complete = await store.read(lambda tx: rows.is_complete(tx, "tiny"))
        return complete or await store.read(lambda tx: tx.value(WAITS)) is not None

    async def holds() -> bool:
        return len(await vectors_of(office)) == 1

    async with asyncio.TaskGroup() as group:
        group.create_task(store.transact(write))
        await written.wait()
        background = Background(store, tiny(), "another process")
        background.start()
        await office.until(looked_or_waits)
        may_commit.set()
    await office.until(holds)
    await background.stop()


async def test_of_two_processes_one_embeds(offices: Offices) -> None:
    if offices.database.kind == "sqlite":
        pytest.skip("one process owns a SQLite file")
    first, second = tiny(), tiny()
    office = await open_office(offices, first)
    await office.agent("ada")
    await embedded(office)
    await open_office(offices, second)
    await remember(office, "ada", *(f"text {n}" for n in range(30)))
    await embedded(office)
    asked = [text for texts in [*first.asked, *second.asked] for text in texts]
    assert sorted(asked) == sorted(f"text {n}" for n in range(30))


# ── the nearest ─────────────────────────────────────────────────────────────────────────────────────────────────────


INSERT = Statement(
    insert(vectors).values({name: bindparam(name) for name in ("kind", "item_id", "scope", "model", "vector")})
)
DELETE = Statement(delete(vectors).where(vectors.c.item_id == bindparam("id")))


async def fill(store: Store, texts: Sequence[str], scope: str, tiny: TinyEmbedder) -> None:
    made = [{"item_id": text, "vector": exact.pack(tiny.vector(text))} for text in texts]
    same = {"kind": "message", "scope": scope, "model": "tiny"}
    await store.transact(lambda tx: tx.many(INSERT, [{**same, **each} for each in made]))


def by_hand(texts: Sequence[str], wanted: Vector, limit: int, tiny: TinyEmbedder) -> list[float]:
    scores = [sum(a * b for a, b in zip(tiny.vector(text), wanted, strict=True)) for text in texts]
    return sorted(scores, reverse=True)[:limit]


@pytest.mark.parametrize("most_bytes", [1 << 30, 200_000, 1])
async def test_the_nearest_are_exact_however_little_memory_there_is(store: Store, most_bytes: int) -> None:
    tiny = TinyEmbedder()
    looked_through = Vectors(store, "tiny", most_bytes)
    texts = [f"number {n} of {n % 7} and {n * 31 % 11}" for n in range(300)]
    wanted = tiny.vector("number 12 of 5")
    await fill(store, texts[:200], "one", tiny)
    found: list[Near] = []
    for known in (200, 300):
        if known == 300:
            await fill(store, texts[200:], "two" if most_bytes == 1 << 30 else "one", tiny)
        found, whole = await looked_through.nearest("message", ["one", "two"], wanted, 10)
        assert whole
        assert [near.similarity for near in found] == pytest.approx(by_hand(texts[:known], wanted, 10, tiny), abs=2e-3)
        assert looked_through.size <= most_bytes
    await store.transact(lambda tx: tx.run(DELETE, id=found[0].id))
    again, _ = await looked_through.nearest("message", ["one", "two"], wanted, 10)
    assert found[0].id not in [near.id for near in again]
    assert len(again) == 10


# ── for operators ───────────────────────────────────────────────────────────────────────────────────────────────────


async def test_metrics_tell_how_far_it_is_behind(offices: Offices) -> None:
    embedder = tiny()
    office = await open_office(offices, embedder)
    await office.agent("ada")
    await embedded(office)
    embedder.gate.clear()
    await remember(office, "ada", "An automobile.")
    told = (await office.http.get("http://office/metrics")).text
    assert 'bullpen_embeddings_waiting{kind="passage"} 1' in told
    embedder.gate.set()
    await embedded(office)
    told = (await office.http.get("http://office/metrics")).text
    assert 'bullpen_embeddings_waiting{kind="passage"} 0' in told
    assert 'bullpen_embeddings_total{what="text",ending="embedded"}' in told


async def test_doctor_says_how_many_texts_wait(database: Database) -> None:
    embedder = tiny()
    async with AsyncExitStack() as stack:
        office = await open_office(Offices(database, stack), embedder)
        await office.agent("ada")
        await embedded(office)
        assert await told_by_doctor(database) == ["Every text has its vector of tiny."]
        embedder.gate.clear()
        await remember(office, "ada", "An automobile.", "A feline.")
        assert await told_by_doctor(database) == ["2 texts wait for vectors of tiny."]


async def told_by_doctor(database: Database) -> list[str]:
    settings = load_settings({}, data=database.data, database_url=database.url)
    store = SqliteReader(database.path) if database.kind == "sqlite" else database.store()
    found = [each async for each in examine(settings, store, running=True)]
    return [finding.message for finding in found if finding.part == "meaning"]
