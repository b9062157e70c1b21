"""What a database tells, with everything left out that may differ from one life to another.

Ids become names made of their place (`general#3`, `ada@general/1`), times become `T`, and what several threads did at
the same time is told thread by thread. Two offices in which the same happened tell the same, however often one of them
was killed, and on either database.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from bullpen.ids import OF_TASK
from bullpen.testing.snapshot import Row, Snapshot, grouped

_ID = re.compile(r"\b(?:msg|run|call|rmg|spc|psn|thr|itm|psg|tok|chn|bud|tsk|pln|skl)_[0-9a-v]{26}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d|\b)")
_DAY = re.compile(r"\b(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,? )?(?:T|\d{4}-\d\d-\d\d)\b")
_HOUR = re.compile(r"(?:\bT )?\b\d\d:\d\d\b")  # beside a message of the same day
_MOMENT = re.compile(r"(?<=:)1\d{12}\b")  # the milliseconds at which a task was due

_MESSAGE = (
    "author_id",
    "author_kind",
    "type",
    "text",
    "status",
    "reply_to",
    "metadata",
    "client_message_id",
    "run_id",
    "chain_id",
    "depth",
    "edited_at",
    "deleted_at",
)
_RUN = (
    "space_id",
    "status",
    "outcome",
    "stop_reason",
    "silence_reason",
    "error",
    "cause_kind",
    "cause_id",
    "grants",
    "trigger",
    "payload",
    "chain_id",
    "depth",
    "addressed",
    "corrected",
    "cancel_requested",
    "step",
    "position",
    "message_ids",
    "acts",
    "window_seq",
    "summary",
    "input_tokens",
    "output_tokens",
    "cost",
    "paused_reason",
)
_CALL = (
    "call_id",
    "kind",
    "status",
    "space_id",
    "tool_name",
    "args",
    "result",
    "answered_by",
    "delivered_via",
    "visible",
    "asks",
    "execution",
)
_PLAN = ("space_id", "agent_id", "place", "name", "instruction", "schedule_type", "status", "reason", "cause_id")
_TASK = (
    "space_id",
    "agent_id",
    "prompt",
    "schedule_type",
    "context_mode",
    "missed",
    "precheck",
    "status",
    "reason",
    "failures",
    "cause_kind",
    "cause_id",
    "grants",
    "member",
    "created_by",
    "depth",
)
_ENTRY = ("position", "step", "type", "call_id", "tool_name", "args", "result", "is_error", "content")


def told(snapshot: Snapshot) -> dict[str, Any]:
    """The story of an office at rest, as plain data that two offices can be compared by."""
    names = _Names(snapshot)
    prompts = {prompt["hash"]: prompt["text"] for prompt in snapshot["prompts"]}
    return {
        "spaces": {
            row["id"]: [names.of(message, _MESSAGE) for message in found] for row, found in _by_space(snapshot, names)
        },
        "members": sorted(names.plain(f"{m['space_id']}: {m['member_id']}") for m in snapshot["members"]),
        "reactions": sorted(
            names.plain(f"{r['message_id']} {r['member_id']} {r['emoji']}") for r in snapshot["reactions"]
        ),
        "runs": {
            names.ids[run["id"]]: {
                **names.of(run, _RUN),
                # By its text, because the hash covers ids that differ from one life to another.
                "prompt": names.plain(prompts.get(run["prompt_hash"], f"none for {run['prompt_hash']}")),
                "journal": [names.of(entry, _ENTRY) for entry in snapshot.journals.get(run["id"], [])],
            }
            for run in names.runs
        },
        "threads": {
            names.ids[t["id"]]: names.of(t, ("scope", "active_space_id", "state", "run_count"))
            for t in snapshot["threads"]
        },
        "inbox": sorted(
            names.plain(f"{i['thread_id']} {i['key']} {i['depth']} → {i['claimed_by']}")
            for i in snapshot["inbox_items"]
        ),
        "calls": sorted(
            (names.of(call, _CALL) for call in snapshot["pending_calls"]), key=lambda call: call["call_id"]
        ),
        "spending": sorted(
            names.plain(f"{s['kind']} {s['id']}: {s['runs']} runs, {s['steps']} steps, {s['nanodollars']}")
            for s in snapshot["spending"]
        ),
        "holds": sorted(names.plain(f"{hold['thread_id']}: {hold['reason']}") for hold in snapshot["holds"]),
        "tasks": [names.of(task, _TASK) for task in sorted(snapshot["tasks"], key=_by_id)],
        "plans": [names.of(plan, _PLAN) for plan in sorted(snapshot["plans"], key=_by_id)],
        "goals": sorted(f"{g['agent_id']} {g['id']}: {g['description']}, {g['status']}" for g in snapshot["goals"]),
        "memories": sorted(f"{m['agent_id']} {m['key']}: {m['value']}" for m in snapshot["memories"]),
        "firings": sorted(
            names.plain(f"{f['task_id']} {f['status']} {f['missed']} {f['manual']} → {f['run_id']}")
            for f in snapshot["task_firings"]
        ),
        "skills": sorted(
            names.plain(f"{s['space_id']} /{s['name']}: {s['active']}, {s['proposed']}") for s in snapshot["skills"]
        ),
        "blocks": sorted(
            f"{b['agent_id']} {b['space_id']} {b['label']} {b['version']}: {b['content']}" for b in snapshot["blocks"]
        ),
        "block versions": sorted(
            names.plain(f"{b['agent_id']} {b['space_id']} {b['label']} {b['version']} {b['by_id']}: {b['content']}")
            for b in snapshot["block_versions"]
        ),
        "passages": [
            names.of(p, ("agent_id", "content", "tags", "space_id", "scope", "learned_in"))
            for p in sorted(snapshot["passages"], key=_by_id)
        ],
        "chats": sorted(f"{c['jid']} {c['name']} → {c['space_id']}" for c in snapshot["chats"]),
        "events": _events(snapshot, names),
    }


def _by_id(row: Row) -> Any:
    return row["id"]


def _by_space(snapshot: Snapshot, names: _Names) -> list[tuple[Row, list[Row]]]:
    found = grouped(snapshot.messages, "space_id")
    spaces = sorted(({**row, "id": names.plain(row["id"]), "_id": row["id"]} for row in snapshot["spaces"]), key=_by_id)
    return [(space, found.get(space["_id"], [])) for space in spaces]


def _events(snapshot: Snapshot, names: _Names) -> dict[str, list[Any]]:
    """By run, and those of no run by space: what one of them saw is in order, what two did at once has none."""
    told: dict[str, list[Any]] = {}
    for event in _as_carried_out(snapshot.events):
        line = names.plain(event["run_id"] or event["space_id"] or "-")
        told.setdefault(line, []).append([event["audience"], _lasting(names.value(event["body"]))])
    return dict(sorted(told.items()))


def _as_carried_out(events: Iterable[Row]) -> Iterator[Row]:
    """As if nobody had watched: a call that was told of while its model wrote it begins where it is carried out, and
    one that was abandoned never was. Who watches, and how fast, is no part of the story."""
    written: dict[str, Row] = {}
    for event in events:
        call = event["body"].get("call", {}) if event["type"].startswith("tool.") else {}
        if event["type"] == "tool.started" and "args" not in call:
            written[call["callId"]] = event
            continue
        begun = written.pop(call.get("callId", ""), None)
        if begun is not None and call.get("code") == "abandoned":
            continue
        if begun is not None:
            called = {**begun["body"]["call"], "args": call["args"]}
            yield {**begun, "audience": event["audience"], "body": {**begun["body"], "call": called}}
        yield event


def _lasting(body: Any) -> Any:
    """Without what an agent happened to be doing when it was changed, and without the hash of a call's id."""
    if isinstance(body.get("agent"), dict):
        body["agent"].pop("state", None)
    if isinstance(body.get("call"), dict):
        body["call"].pop("hash", None)
    return body


class _Names:
    """A name for every id, by its place in the story."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.ids: dict[str, str] = {}
        for number, person in enumerate(sorted(snapshot["people"], key=_by_id), 1):
            self.ids[person["id"]] = f"person{number}"
        fresh = 0
        for thread in sorted(snapshot["threads"], key=_by_id):
            self.ids[thread["id"]] = f"{thread['agent_id']}@{self.plain(thread['space_id'] or thread['scope'])}"
            if thread["scope"] == "fresh":  # there may be many in one place
                fresh += 1
                self.ids[thread["id"]] += f"~{fresh}"
        for message in snapshot.messages:
            self.ids[message["id"]] = f"{self.plain(message['space_id'])}#{message['seq']}"
        for run in snapshot.runs:
            self.ids[run["id"]] = f"{self.ids[run['thread_id']]}/{run['ordinal']}"
        self.runs = sorted(snapshot.runs, key=lambda run: self.ids[run["id"]])
        for run in self.runs:
            if run["chain_id"].startswith("chn_"):  # it began with a task, or with something outside
                self.ids.setdefault(run["chain_id"].partition(OF_TASK)[0], f"chain of {self.ids[run['id']]}")
            self._name_calls(self.ids[run["id"]], snapshot.journals.get(run["id"], []))
        told = {event["body"]["budget"]["id"] for event in snapshot.events if event["type"].startswith("budget_")}
        for number, id in enumerate(sorted(told | {budget["id"] for budget in snapshot["budgets"]}), 1):
            self.ids[id] = f"budget{number}"
        for number, task in enumerate(sorted(snapshot["tasks"], key=_by_id), 1):
            self.ids[task["id"]] = f"task{number}"
        for number, plan in enumerate(sorted(snapshot["plans"], key=_by_id), 1):
            self.ids[plan["id"]] = f"plan{number}"
        # One that is gone is still told of.
        told = {event["body"]["skill"]["id"] for event in snapshot.events if "skill" in event["body"]}
        for number, id in enumerate(sorted(told | {skill["id"] for skill in snapshot["skills"]}), 1):
            self.ids[id] = f"skill{number}"
        for number, passage in enumerate(sorted(snapshot["passages"], key=_by_id), 1):
            self.ids[passage["id"]] = f"passage{number}"

    def _name_calls(self, run: str, journal: list[Row]) -> None:
        for entry in journal:
            self.ids[entry["id"]] = f"{run}:{entry['position']}"  # frames around outside text name it
        calls = [entry["call_id"] for entry in journal if entry["type"] == "tool_call_message"]
        for number, id in enumerate(calls, 1):
            self.ids[id] = f"{run}.{number}"
            # A message that a call wanted to make is named by the call, even if it was never made.
            self.ids.setdefault("msg_" + id.removeprefix("call_"), f"{run}.{number}-message")

    def plain(self, text: str) -> str:
        for times in (_MOMENT, _TIME, _DAY, _HOUR):
            text = times.sub("T", text)
        return _ID.sub(lambda match: self.ids.get(match[0], f"unknown {match[0]}"), text)

    def value(self, value: Any) -> Any:
        return orjson.loads(self.plain(orjson.dumps(value).decode()))

    def of(self, row: Row, columns: tuple[str, ...]) -> Row:
        return {name: self.plain(row[name]) if isinstance(row[name], str) else row[name] for name in columns}


def differences(calm: Any, other: Any, where: str = "") -> list[str]:
    """Where two stories part, for people: the path, and what each says there."""
    if isinstance(calm, dict) and isinstance(other, dict):
        keys = [*calm, *(key for key in other if key not in calm)]
        return [line for key in keys for line in differences(calm.get(key), other.get(key), f"{where}/{key}")]
    if isinstance(calm, list) and isinstance(other, list) and len(calm) == len(other):
        pairs = enumerate(zip(calm, other, strict=True))
        return [line for number, (a, b) in pairs for line in differences(a, b, f"{where}/{number}")]
    return [] if calm == other else [f"{where}: {_short(calm)} ≠ {_short(other)}"]


def _short(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= 600 else text[:600] + "…"
