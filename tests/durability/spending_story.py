"""More chapters of the story: what is spent, budgets that run out, and what lets the work go on.

A kill may come between any two commits of a run that spends: afterwards each answer is counted once, whoever is to be
told was told once, and what was stopped is stopped still.
"""

from __future__ import annotations

from typing import Any

from tests.durability.story import Deed, Person, post, script
from tests.durability.story import say as calls


def paid(dollars: float, **call: Any) -> dict[str, Any]:
    made = call.pop("call", None) or calls("read_messages")
    return {"calls": [made], "usage": {"cost": dollars, "inputTokens": 100, "outputTokens": 10}}


def member(id: str, *steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": id, "name": id.title(), "model": script({"steps": list(steps)}), **more}


CAST = [
    member(
        "spender",
        paid(0.5),
        paid(0.4),
        paid(0.3),
        paid(0.1, call=calls("send_message", text="spent")),
        limits={"maxCostPerDay": 1.0},
    ),
    # Over 80 % at once. The other is woken when this run is over: two runs at once race for what is left.
    member("first", paid(0.7, call=calls("send_message", text="there is little left"))),
    member("second", paid(0.4), paid(0.1, call=calls("send_message", text="went on"))),
]
ROOMS = [
    {"id": "till", "members": ["spender"], "wake": {"people": "all"}},
    {"id": "shop", "members": ["first", "second"], "wake": {"people": "mention", "agents": "mention"}},
]


async def set_up_budgets(person: Person) -> None:
    await person.bp.apply(agents=CAST, spaces=ROOMS)
    await person.bp.budgets.set("space", "shop", 0.8)


def until_held(space: str, text: str, agent: str) -> Deed:
    """Speak, and wait until a budget has stopped the agent."""

    async def deed(person: Person) -> None:
        await person.post(space, text, key=f"run out in {space}")
        while (await person.bp.agents.get(agent)).paused_reason is None:
            await person.wait()

    return deed


async def let_go_on(person: Person) -> None:
    """Once: whoever repeats it finds nothing that is stopped, and then it gives nothing more."""
    await person.bp.agents.resume("spender")


async def take_back(person: Person) -> None:
    for budget in await person.bp.budgets.list(kind="space"):
        await person.bp.budgets.delete(budget.id)


CHAPTERS: dict[str, list[Deed]] = {
    "there is money": [set_up_budgets],
    "money runs out": [until_held("till", "spend it", "spender")],
    "there is more money": [let_go_on],
    "a room spends": [post("shop", "@first go", "spend in shop")],
    "a room runs out of money": [until_held("shop", "@second go on", "second")],
    "a budget is taken back": [take_back],
}
