"""The checker of invariants finds what it is there to find: each case breaks a healthy database in one way."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bullpen.storage.lock import FolderLock
from bullpen.testing import snapshot
from bullpen.testing.bridges import Arrival, read_journal
from bullpen.testing.forks import Forks
from bullpen.testing.histories import (
    Effect,
    Follower,
    Send,
    append_effect,
    read_effects,
    read_follower,
    read_sends,
    write_follower,
    write_sends,
)
from bullpen.testing.invariants import CHECKS, NOT_YET, Seen, check, main
from tests.durability.chapters import CHAPTERS
from tests.durability.lives import LONG
from tests.durability.worlds import in_memory
from tests.waits import BOUND


@pytest.fixture(scope="module")
def told(forks: Forks) -> Iterator[Path]:
    """A database in which the whole story was told."""
    with in_memory() as folder:
        path = folder / "bullpen.db"
        forks.run("tell", seconds=LONG, url=f"sqlite:///{path}", data=str(folder), chapters=list(CHAPTERS))
        yield path


@pytest.fixture
def path(told: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(told, tmp_path / "bullpen.db"))


async def broken(path: Path, *statements: str, at_rest: bool = True, lease_ms: int | None = None) -> set[str]:
    """The invariants that do not hold after these statements."""
    return {id for id, lines in (await found(path, *statements, at_rest=at_rest, lease_ms=lease_ms)).items() if lines}


async def found(
    path: Path, *statements: str, at_rest: bool = True, lease_ms: int | None = None
) -> dict[str, list[str]]:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return check(Seen(await snapshot.read(f"sqlite:///{path}"), at_rest=at_rest, lease_ms=lease_ms))


ANY_RUN = "(SELECT id FROM runs WHERE agent_id = 'tess')"
ITS_THREAD = "(SELECT thread_id FROM runs WHERE agent_id = 'tess')"
EVENT = "xid, type, space_id, agent_id, run_id, audience, at, body"
ANY_ITEM = "(SELECT id FROM inbox_items WHERE depth > 0 LIMIT 1)"
FIRING = "task_id, nominal_at, status, missed, manual, fired_at"
REMOVE_A_MESSAGE = "DELETE FROM messages WHERE space_id = 'general' AND seq = 3"

CASES = {
    "a message is lost": ("V3", [REMOVE_A_MESSAGE]),
    "the counter is ahead": ("V3", ["UPDATE spaces SET last_seq = last_seq + 1 WHERE id = 'lab'"]),
    "a message without its event": ("events", ["DELETE FROM events WHERE type = 'message_created' AND id % 3 = 0"]),
    "an event told twice": (
        "events",
        [f"INSERT INTO events ({EVENT}) SELECT {EVENT} FROM events WHERE type = 'run_finished' LIMIT 1"],
    ),
    "a reaction nobody told of": (
        "events",
        ["INSERT INTO reactions SELECT id, 'bo', '🙃', created_at FROM messages WHERE seq = 1 LIMIT 1"],
    ),
    "a run forgot a message": ("V2", [f"UPDATE runs SET message_ids = '' WHERE id = {ANY_RUN}"]),
    "two runs at once": (
        "V5",
        [
            "DROP INDEX runs_under_way",
            "UPDATE runs SET finished_at = NULL WHERE agent_id = 'sil'",
        ],
    ),
    "a driver wrote after it had lost the thread": (
        "V5",
        [f"UPDATE run_messages SET token = token + 7 WHERE run_id = {ANY_RUN} AND position = 2"],
    ),
    "a result is missing": (
        "V6",
        [f"DELETE FROM run_messages WHERE run_id = {ANY_RUN} AND type = 'tool_return_message' AND position > 20"],
    ),
    "results in another order": (
        "V6",
        [
            f"UPDATE run_messages SET position = -position WHERE run_id = {ANY_RUN} AND position IN (11, 12)",
            f"UPDATE run_messages SET position = 23 + position WHERE run_id = {ANY_RUN} AND position < 0",
        ],
    ),
    "a call that began and never ended": (
        "V6",
        ["DELETE FROM events WHERE id = (SELECT max(id) FROM events WHERE type = 'tool.done')"],
    ),
    "a call that ended without a beginning": (
        "V6",
        ["DELETE FROM events WHERE id = (SELECT max(id) FROM events WHERE type = 'tool.started')"],
    ),
    "a card that hangs": ("V6", ["UPDATE messages SET status = 'streaming' WHERE seq = 2 AND space_id = 'lab'"]),
    "an item that nobody took": ("V8", ["UPDATE inbox_items SET claimed_by = NULL WHERE rank = 0"]),
    "an item taken by another thread's run": (
        "V8",
        [f"UPDATE inbox_items SET claimed_by = {ANY_RUN} WHERE thread_id <> {ITS_THREAD}"],
    ),
    "an item that was answered and not taken": (
        "V8",
        ["UPDATE runs SET trigger = json_set(trigger, '$.items', 2) WHERE agent_id = 'tess'"],
    ),
    "a message that started a skill and says it did not": (
        "V8",
        ["UPDATE messages SET wake = 'all' WHERE wake LIKE 'skill:%'"],
    ),
    "a skill in a thread that has a past": ("V8", ["UPDATE threads SET scope = 'space' WHERE scope = 'fresh'"]),
    "a skill that says nothing": (
        "V8",
        ["INSERT INTO skills (id, space_id, name, created_at, updated_at) VALUES ('skl_x', 'x', 'x', '', '')"],
    ),
    "a firing that woke nobody": (
        "V9",
        [f"INSERT INTO task_firings ({FIRING}) SELECT id, 1, 'fired', 0, 0, '' FROM tasks WHERE prompt = 'soon'"],
    ),
    "a run that two firings claim": (
        "V9",
        [
            f"INSERT INTO task_firings ({FIRING}) SELECT id, 1, 'missed', 0, 0, '' FROM tasks WHERE prompt = 'soon'",
            "UPDATE task_firings SET run_id = (SELECT run_id FROM task_firings WHERE run_id IS NOT NULL)",
        ],
    ),
    "a task that is over and due": ("V9", ["UPDATE tasks SET next_at = 1 WHERE status = 'completed'"]),
    "a task that nobody fires": ("V9", ["UPDATE tasks SET next_at = 1 WHERE status = 'active'"]),
    "times that were passed over": (
        "V9",
        [
            f"INSERT INTO task_firings ({FIRING}) SELECT id, {at}, 'missed', 0, 0, '' FROM tasks WHERE prompt <> 'soon'"
            for at in ("1767225600000", "1893456000000")  # the first of 2026, and the first of 2030
        ],
    ),
    "too deep": ("V11", [f"UPDATE runs SET depth = 9 WHERE id = {ANY_RUN}"]),
    "a chain stopped without a word": ("V11", ["DELETE FROM chain_stops"]),
    "a step that is counted twice": ("V11", ["UPDATE spending SET steps = steps + 1 WHERE kind = 'space'"]),
    "a step that nobody counted": ("V11", ["DELETE FROM spending WHERE kind = 'agent' AND id = 'tess'"]),
    "a run that cost less than its steps": ("V11", [f"UPDATE runs SET cost = cost + 0.5 WHERE id = {ANY_RUN}"]),
    "a thread that is held for nothing": (
        "V11",
        [f"INSERT INTO holds VALUES ({ITS_THREAD}, {ANY_RUN}, 'tess', 'bud_x', 'agent', 'tess', 0, 'why', '')"],
    ),
    "rights that grew": ("V12", [f"UPDATE inbox_items SET grants = 'owner,post,read_space' WHERE id = {ANY_ITEM}"]),
    "a run with more rights than its cause": ("V12", ["UPDATE runs SET grants = 'owner,post' WHERE depth > 0"]),
    "a run with more rights than its thread": (
        "V12",
        [f"UPDATE threads SET cause_kind = 'person', cause_id = 'x', grants = 'read_space' WHERE id = {ITS_THREAD}"],
    ),
    "a chain that begins anew": ("V12", [f"UPDATE inbox_items SET depth = 0 WHERE id = {ANY_ITEM}"]),
    "a message that left its group": (
        "V12",
        [
            "UPDATE spaces SET kind = 'group', main = 0",
            "UPDATE messages SET space_id = id WHERE run_id IS NOT NULL",
        ],
    ),
    "a chat that is no space": ("V12", ["INSERT INTO chats VALUES ('tg:-1', 'Family', 'general', '')"]),
    "a file that is not counted": (
        "V13",
        [
            (
                "INSERT INTO files (id, name, size, type, sha256, space_id, owner_kind, owner_id, created_at)"
                " VALUES ('fil_x', 'x', 5, 'text/plain', '', 'general', 'person', 'bo', '')"
            )
        ],
    ),
    "a count of what is not there": ("V13", ["INSERT INTO file_usage VALUES ('space', 'general', 5, 1)"]),
    "a file that is shown and not there": (
        "V13",
        ["INSERT INTO message_files SELECT id, 0, 'fil_x' FROM messages WHERE seq = 1 LIMIT 1"],
    ),
    "a message that counts files it does not show": ("V13", ["UPDATE messages SET files = 1 WHERE seq = 1"]),
    "an audit row that was changed": ("V14", ["UPDATE audit SET actor_id = 'nobody' WHERE number = 2"]),
    "an audit row that was removed": ("V14", ["DELETE FROM audit WHERE number = (SELECT max(number) FROM audit)"]),
    "a thread that is never driven": ("V15", ["UPDATE threads SET state = 'queued' WHERE agent_id = 'tess'"]),
    "a lease that outlived its run": ("V15", ["UPDATE leases SET owner = 'host:1:aa'"]),
}


async def test_a_healthy_database_breaks_no_invariant(path: Path) -> None:
    assert await broken(path) == set()


@pytest.mark.parametrize("name", CASES)
async def test_every_broken_invariant_is_found(path: Path, name: str) -> None:
    invariant, statements = CASES[name]
    assert invariant in await broken(path, *statements)


@pytest.mark.parametrize(
    "policy, missed, violations",
    [("once", 999, 0), ("once", 998, 1), ("once", 1499, 1), ("all", 900, 0), ("all", 999, 1)],
)
async def test_missed_times_are_counted_up_to_the_documented_cap(
    path: Path, policy: str, missed: int, violations: int
) -> None:
    """1,500 times passed while nobody looked: a firing stands for a thousand of them at most."""
    every, last = 60_000, 1_600 * 60_000
    task = "(SELECT id FROM tasks WHERE prompt <> 'soon' LIMIT 1)"
    lines = await found(
        path,
        f"UPDATE tasks SET schedule_type = 'interval', schedule_value = '1m', anchor_at = 0 WHERE id = {task}",
        f"UPDATE tasks SET missed = '{policy}' WHERE id = {task}",
        f"DELETE FROM task_firings WHERE task_id = {task}",
        f"INSERT INTO task_firings ({FIRING}) VALUES ({task}, {last - 1500 * every}, 'missed', 0, 0, '')",
        f"INSERT INTO task_firings ({FIRING}) VALUES ({task}, {last}, 'missed', {missed}, 0, '')",
    )
    assert len([line for line in lines["V9"] if "are told of" in line]) == violations


async def test_an_expired_lease_is_reported_only_after_two_lease_periods(path: Path) -> None:
    now = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
    queued = "UPDATE threads SET state = 'queued' WHERE agent_id = 'tess'"
    fresh = await broken(path, queued, f"UPDATE leases SET owner = 'x:1:y', until = {now} - 1000", at_rest=False)
    assert "V15" not in fresh
    queued_at = f"UPDATE threads SET queued_at = {now} - %d WHERE agent_id = 'tess'"
    expired = f"UPDATE leases SET until = {now} - 90000"
    late = await broken(path, queued_at % 0, expired, at_rest=False, lease_ms=40_000)
    assert "V15" not in late, "it was queued just now"
    old = await broken(path, queued_at % 90_000, expired, at_rest=False, lease_ms=40_000)
    assert "V15" in old


# ── calls whose result comes later ──────────────────────────────────────────────────────────────────────────────────


def of(agent: str, tool: str) -> str:
    return f"(SELECT call_id FROM pending_calls WHERE agent_id = '{agent}' AND tool_name = '{tool}')"


def call(agent: str, tool: str, change: str) -> str:
    return f"UPDATE pending_calls SET {change} WHERE call_id = {of(agent, tool)}"


def returned(agent: str, tool: str) -> str:
    return f"call_id = {of(agent, tool)} AND type = 'tool_return_message'"


def item(agent: str, tool: str) -> str:
    return f"key = 'call:' || {of(agent, tool)}"


def card(agent: str, tool: str, change: str) -> str:
    return f"UPDATE messages SET {change} WHERE id = 'msg_' || substr({of(agent, tool)}, 6)"


ENTRY = "run_id, step, call_id, tool_name, args, token, at"
UNANSWERED = "result = NULL, answered_by = NULL, delivered_via = NULL, resolved_at = NULL"
NOW = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"

LATER_CASES: dict[str, tuple[str, list[str]]] = {
    "it was accepted, and its agent was never told": ("V7", [call("in-time", "lookUp", "delivered_via = NULL")]),
    "its agent was told, and nothing says so": ("V7", [call("in-time", "lookUp", "delivered_via = NULL")]),
    "the run that should take it is over": ("V7", [call("in-time", "lookUp", "delivered_via = NULL")]),
    "it was to be told inline, and was not": (
        "V7",
        [f"DELETE FROM run_messages WHERE {returned('in-time', 'lookUp')}"],
    ),
    "its run was told another result": (
        "V7",
        [f"UPDATE run_messages SET result = '5' WHERE {returned('in-time', 'lookUp')}"],
    ),
    "its run was told 2 times": (
        "V7",
        [
            "DROP INDEX run_messages_result",
            (
                f"INSERT INTO run_messages (id, position, {ENTRY}, type, result) "
                f"SELECT 'rmg_x', 99, {ENTRY}, type, result FROM run_messages WHERE {returned('in-time', 'lookUp')}"
            ),
        ],
    ),
    "it was to be told by inbox, and was not": (
        "V7",
        [f"DELETE FROM inbox_items WHERE {item('later', 'lookUpLater')}"],
    ),
    "it was told to another thread": (
        "V7",
        [
            (
                "UPDATE inbox_items SET thread_id = (SELECT id FROM threads WHERE agent_id = 'tess' LIMIT 1) "
                f"WHERE {item('later', 'lookUpLater')}"
            )
        ],
    ),
    "its agent was told another result": (
        "V7",
        [f"UPDATE inbox_items SET payload = json_set(payload, '$.result', 5) WHERE {item('later', 'lookUpLater')}"],
    ),
    "(resolved): it was told inline and by inbox": ("V7", [call("later", "lookUpLater", "delivered_via = 'inline'")]),
    "its agent was told of the end inline and by inbox": (
        "V7",
        [f"UPDATE run_messages SET result = '{{}}' WHERE {returned('unanswered', 'askLater')}"],
    ),
    "its agent was not told that nothing will come": (
        "V7",
        [f"DELETE FROM inbox_items WHERE {item('unanswered', 'askLater')}"],
    ),
    "it has no result, and was delivered": ("V7", [call("unanswered", "askLater", "delivered_via = 'inbox'")]),
    "nobody has answered it, and it has an answer": ("V7", [call("later", "lookUpLater", "status = 'pending'")]),
    "nobody has answered it, and its agent was told an answer": (
        "V7",
        [call("later", "lookUpLater", f"status = 'pending', {UNANSWERED}")],
    ),
    "was not told that it comes later": (
        "V7",
        [
            f"DELETE FROM run_messages WHERE {returned('later', 'lookUpLater')}",
            call("later", "lookUpLater", f"status = 'pending', {UNANSWERED}"),
        ],
    ),
    "nobody knows when or by whom": ("V7", [call("later", "lookUpLater", "answered_by = NULL")]),
    "its result is None": ("V7", [call("later", "lookUpLater", "result = NULL")]),
    "its approval holds for something else": ("V7", [call("charter", "payOut", "args = '{}'")]),
    "it was carried out with other arguments than were approved": ("V7", [call("charter", "payOut", "args = '{}'")]),
    "it was begun, and nobody has approved it": ("V7", [call("charter", "payOut", "result = '{}'")]),
    "it began after somebody was asked about it, or twice": (
        "V7",
        [
            (
                f"INSERT INTO events ({EVENT}) SELECT {EVENT} FROM events "
                f"WHERE type = 'tool.started' AND body LIKE '%' || {of('charter', 'payOut')} || '%'"
            )
        ],
    ),
    "is resolved, and its card requires_action": ("V7", [card("asker", "ask", "status = 'requires_action'")]),
    "is cancelled, and its card complete": ("V7", [card("unanswered", "askLater", "status = 'complete'")]),
    "its card shows another result": (
        "V7",
        [card("asker", "ask", "metadata = json_set(metadata, '$.result', 'the blue one')")],
    ),
    "pending_resolved of call": ("events", ["DELETE FROM events WHERE type = 'pending_resolved'"]),
    "waits for nothing": ("V15", ["UPDATE threads SET state = 'waiting' WHERE agent_id = 'tess'"]),
    "waits, and its runs are []": ("V15", ["UPDATE threads SET state = 'waiting' WHERE agent_id = 'tess'"]),
}


@pytest.mark.proves("V7")
@pytest.mark.parametrize("words", LATER_CASES)
async def test_a_result_that_is_lost_doubled_or_changed_is_found(path: Path, words: str) -> None:
    invariant, statements = LATER_CASES[words]
    lines = (await found(path, *statements))[invariant]
    assert any(words in line for line in lines), lines


@pytest.fixture(scope="module")
def left_waiting(forks: Forks) -> Iterator[Path]:
    """A database in which two runs wait for somebody."""
    with in_memory() as folder:
        path = folder / "bullpen.db"
        chapters = ["the office is set up", "others are part of the work", "somebody is waited for"]
        forks.run("wait", seconds=BOUND, url=f"sqlite:///{path}", data=str(folder), chapters=chapters)
        yield path


@pytest.fixture
def waiting(left_waiting: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(left_waiting, tmp_path / "bullpen.db"))


MINE = "(SELECT thread_id FROM pending_calls WHERE agent_id = 'in-time')"
WAITING_CASES: dict[str, tuple[str, list[str]]] = {
    "its run waits for ever": ("V7", [call("in-time", "lookUp", "deadline_at = NULL")]),
    "its run has gone on": (
        "V7",
        [
            (
                f"INSERT INTO run_messages (id, position, {ENTRY}, type, result) "
                f"SELECT 'rmg_x', 99, {ENTRY}, 'tool_return_message', '1' "
                f"FROM run_messages WHERE call_id = {of('in-time', 'lookUp')}"
            )
        ],
    ),
    "the run that waits for it is over": ("V7", ["UPDATE runs SET finished_at = 'now' WHERE agent_id = 'in-time'"]),
    "waits, and its runs are []": ("V15", ["UPDATE runs SET finished_at = 'now' WHERE agent_id = 'in-time'"]),
    "waits, and its runs are ['acting']": ("V15", ["UPDATE runs SET status = 'acting' WHERE agent_id = 'in-time'"]),
    "waits for nothing": ("V15", ["DELETE FROM pending_calls WHERE agent_id = 'in-time'"]),
    "rests, and a run of it waits": ("V15", [f"UPDATE threads SET state = 'idle' WHERE id = {MINE}"]),
    "drives it": ("V15", [f"UPDATE leases SET owner = 'x:1:y' WHERE thread_id = {MINE}"]),
    "is pending, and its card complete": (
        "V7",
        [card("stopped-card", "ask", "status = 'complete'"), call("stopped-card", "ask", "status = 'pending'")],
    ),
}


@pytest.mark.proves("V7", "V15")
@pytest.mark.parametrize("words", WAITING_CASES)
async def test_a_run_that_waits_for_what_cannot_come_is_found(waiting: Path, words: str) -> None:
    assert await broken(waiting) == set(), "waiting for somebody is no fault"
    invariant, statements = WAITING_CASES[words]
    lines = (await found(waiting, *statements))[invariant]
    assert any(words in line for line in lines), lines


async def test_a_run_past_its_deadline_is_reported_after_two_leases(waiting: Path) -> None:
    late = call("in-time", "lookUp", f"deadline_at = {NOW} - 9000")
    assert "V15" not in await broken(waiting, late, lease_ms=60_000)
    assert any("waited for too long" in line for line in (await found(waiting, lease_ms=4000))["V15"])


# ── chats elsewhere ─────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def chatted(forks: Forks) -> Iterator[Path]:
    """A database of an office with a chat elsewhere, where all was sent; what arrived is in `journal` beside it."""
    with in_memory() as folder:
        path = folder / "bullpen.db"
        forks.run("bridge", seconds=LONG, url=f"sqlite:///{path}", data=str(folder))
        yield path


ENTRY = "bridge, chat, space_id, message_id, kind, status, created_at"
FROM_THERE = "(SELECT message_id FROM bridge_messages WHERE incoming = 1)"
UNSENT = {
    "a message that was not queued": "DELETE FROM outbox WHERE number = 2",
    "a message that goes back where it came from": (
        f"INSERT INTO outbox ({ENTRY}) VALUES ('mem', 'mem:1', 'family', {FROM_THERE}, 'message', 'queued', '')"
    ),
    "messages in another order": "UPDATE outbox SET number = 1000 - number WHERE kind = 'message'",
    "an entry that was sent by nobody": "UPDATE outbox SET attempts = 0 WHERE number = 1",
    "an entry that is dead for no reason": "UPDATE outbox SET status = 'dead', finished_at = NULL WHERE number = 1",
    "an entry that is being sent for ever": "UPDATE outbox SET status = 'sending', finished_at = NULL WHERE number = 1",
    "an entry that is over and never ended": "UPDATE outbox SET finished_at = NULL WHERE number = 1",
    "a mark on a part that was never sent": "UPDATE outbox SET repeated_part = 9 WHERE number = 1",
}


@pytest.mark.parametrize("words", UNSENT)
async def test_a_broken_outbox_is_found(chatted: Path, tmp_path: Path, words: str) -> None:
    copy = Path(shutil.copy(chatted, tmp_path / "bullpen.db"))
    assert await broken(copy) == set()
    assert "outbox" in await broken(copy, UNSENT[words])


async def test_the_outbox_is_compared_with_what_arrived(chatted: Path) -> None:
    rows, arrived = await snapshot.read(f"sqlite:///{chatted}"), read_journal(chatted.with_name("journal"))

    def faults(arrivals: list[Arrival]) -> list[str]:
        return check(Seen(rows, arrivals=arrivals))["outbox"]

    assert faults(arrived) == []
    assert "did not arrive" in faults(arrived[1:])[0]
    assert "without the mark" in faults([*arrived, arrived[0]])[0]
    stranger = replace(arrived[0], key="msg_x/99/0", number=99)
    assert faults([*arrived, stranger]) == ["msg_x/99/0 arrived, and nobody sent it"]


@pytest.mark.proves("V1")
async def test_sends_are_compared_with_stored_messages(path: Path, tmp_path: Path) -> None:
    sends = [
        Send("roll", "ok", "general"),
        Send("start", "unknown", "general"),
        Send("never sent", "unknown", "general"),
        Send("refused", "failed", "general"),
    ]
    wrong = [Send("lost", "ok", "general"), Send("roll", "failed", "general"), Send("roll", "ok", "lab")]
    write_sends(tmp_path / "good", sends)
    write_sends(tmp_path / "bad", wrong)
    rows = await snapshot.read(f"sqlite:///{path}")
    assert check(Seen(rows, sends=read_sends(tmp_path / "good")))["V1"] == []
    assert len(check(Seen(rows, sends=read_sends(tmp_path / "bad")))["V1"]) == 3


@pytest.mark.proves("V4")
async def test_followers_are_compared_with_the_table(path: Path, tmp_path: Path) -> None:
    rows = await snapshot.read(f"sqlite:///{path}")
    places = tuple((event["place"].xid, event["place"].id) for event in rows.events)
    in_lab = tuple((e["place"].xid, e["place"].id) for e in rows.events if e["space_id"] == "lab")
    good = [Follower("all", places, (0, 0)), Follower("lab", in_lab, space_id="lab"), Follower("late", places[9:])]
    for number, follower in enumerate(good):
        write_follower(tmp_path / str(number), follower)
    read = [read_follower(tmp_path / str(number)) for number in range(len(good))]
    assert check(Seen(rows, followers=read))["V4"] == []
    for bad in (places[:5] + places[6:], places[:5] + places[4:], (places[1], places[0]), (*places, (0, 10**9))):
        assert check(Seen(rows, followers=[Follower("bad", bad, (0, 0))]))["V4"], bad[:7]


@pytest.mark.proves("V10")
async def test_effects_are_checked_against_their_effect_class(path: Path, tmp_path: Path) -> None:
    rows = await snapshot.read(f"sqlite:///{path}")
    call = rows.journals[rows.runs[0]["id"]][2]["call_id"]
    effects = tmp_path / "effects"
    append_effect(effects, Effect("once", call, call))
    assert check(Seen(rows, effects=read_effects(effects)))["V10"] == []
    append_effect(effects, Effect("once", call, "another key"))
    assert len(check(Seen(rows, effects=read_effects(effects)))["V10"]) == 2


async def test_a_canary_is_found_wherever_it_stands(path: Path) -> None:
    rows = await snapshot.read(f"sqlite:///{path}")
    assert check(Seen(rows, canaries=["CANARY"]))["V16"] == []
    assert check(Seen(rows, canaries=["kettle"]))["V16"] != []


async def test_two_databases_that_tell_different_stories_are_told_apart(path: Path, told: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE messages SET text = 'something else' WHERE seq = 2 AND space_id = 'lab'")
    rows, other = await snapshot.read(f"sqlite:///{path}"), await snapshot.read(f"sqlite:///{told}")
    assert check(Seen(other, other=other))["V18"] == []
    assert len(check(Seen(rows, other=other))["V18"]) == 1


def test_every_invariant_is_checked_or_listed_as_not_yet() -> None:
    assert {*CHECKS, *NOT_YET} - {"events", "outbox"} == {f"V{number}" for number in range(1, 19)}
    assert not set(CHECKS) & set(NOT_YET)


# ── the command ─────────────────────────────────────────────────────────────────────────────────────────


def command(*args: str) -> subprocess.CompletedProcess[str]:
    """In a new Python, as people type it."""
    line = [sys.executable, "-m", "bullpen.testing.invariants", *args]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=BOUND)


def test_the_command_says_ok_beside_a_running_server(path: Path) -> None:
    lock = FolderLock(path.parent)
    lock.take()
    try:
        done = command(f"sqlite:///{path}", "--at-rest")
    finally:
        lock.release()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "V3      ok" in done.stdout


def test_the_command_fails_with_the_violations(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(REMOVE_A_MESSAGE)
    write_sends(tmp_path / "sends", [Send("lost", "ok", "general")])
    assert main([f"sqlite:///{path}", "--json", "--clients", str(tmp_path / "sends")]) == 1
    found = json.loads(capsys.readouterr().out)["violations"]
    assert found["V1"] == ["lost (ok) exists 0 times in general"]
    assert "general counts to" in found["V3"][0]


def test_a_missing_database_is_reported_without_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"sqlite:///{tmp_path}/nothing.db"]) == 2
    told = capsys.readouterr().err
    assert "nothing.db" in told
    assert "Traceback" not in told
