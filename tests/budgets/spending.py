"""Short words for tests about money: steps that cost something, budgets, and what the rows say was spent."""

from __future__ import annotations

from collections import Counter
from typing import Any

import orjson

from bullpen.testing import snapshot
from tests.driver import Driver, Json
from tests.path.scripts import call, say, step


def costing(made: Json, dollars: float, **tokens: int) -> Json:
    return {**made, "usage": {"cost": dollars, **tokens}}


def looking(dollars: float, **tokens: int) -> Json:
    """A step that only looks around, and costs so much."""
    return costing(step(call("read_messages")), dollars, **tokens)


def saying(text: str, dollars: float, **tokens: int) -> Json:
    return costing(say(text), dollars, **tokens)


async def budget(office: Driver, kind: str, subject: str | None, amount: float, **more: Any) -> Json:
    body = {"kind": kind, "amount": amount, **({"subjectId": subject} if subject else {}), **more}
    made: Json = await office.ask("PUT", "/budgets", json=body)
    return made


async def paused(office: Driver, agent: str) -> Json:
    """The agent, once a budget has stopped it."""

    async def holds() -> bool:
        found = await office.get(f"/agents/{agent}")
        return found["state"] == "paused" and "pausedReason" in found

    await office.until(holds)
    found: Json = await office.get(f"/agents/{agent}")
    return found


def told(office: Driver, type: str) -> list[Json]:
    return [event["budget"] for event in office.events if event["type"] == type]


def url_of(office: Driver) -> str:
    settings = office.office.settings
    return settings.database_url if settings.on_postgres else f"sqlite:///{settings.sqlite_path}"


async def sums(url: str) -> tuple[Counter[Any], Counter[Any]]:
    """What is added up in `spending`, and what the answers in the journals come to; by kind, id, day and model."""
    return added_up(await snapshot.read(url))


def added_up(rows: snapshot.Snapshot) -> tuple[Counter[Any], Counter[Any]]:
    kept: Counter[Any] = Counter()
    for row in rows["spending"]:
        key = (row["kind"], row["id"], row["day"], row["model"])
        kept.update({(key, name): row[name] for name in ("steps", "input_tokens", "output_tokens", "nanodollars")})
    journal: Counter[Any] = Counter()
    for entry in rows["run_messages"]:
        if entry["type"] == "assistant_message" and entry["usage"]:
            run, usage = rows.run[entry["run_id"]], orjson.loads(entry["usage"])
            person = run["cause_id"] if run["cause_kind"] == "person" else ""
            for kind, id in (("agent", run["agent_id"]), ("space", run["space_id"] or ""), ("person", person)):
                key = (kind, id, entry["at"][:10], usage["model"])
                counted = {"steps": 1, "input_tokens": usage["in"], "output_tokens": usage["out"]}
                journal.update(
                    {(key, name): value for name, value in {**counted, "nanodollars": usage["nano"]}.items()}
                )
    return +kept, +journal
