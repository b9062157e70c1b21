"""A provider that is not there: the run waits for it outside of any process, and nothing of it is lost."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from bullpen.errors import ModelUnavailable
from bullpen.llm.types import Reply
from bullpen.runs import rules
from bullpen.settings import EngineSettings
from bullpen.testing.clock import FakeClock
from tests.databases import Database
from tests.driver import Driver, Offices
from tests.path.puppets import Puppet, puppet
from tests.path.scripts import say

OFTEN = EngineSettings(lease_seconds=1.0)
TRIES = 4


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The few tries within a call do not take their time."""
    monkeypatch.setattr("bullpen.runs.loop.random.uniform", lambda low, high: 1.0 if low == 1.0 else 0.0)


def away(times: int, retry_after: float | None = None) -> list[Reply | Exception]:
    return [ModelUnavailable("The provider is away.", retry_after=retry_after)] * times


async def parked(office: Driver, ada: Puppet, *, asked: int = TRIES) -> dict[str, object]:
    """A run that waits for its provider."""
    await ada.asked(asked)

    async def waits() -> bool:
        return bool((await office.get("/agents/ada"))["state"] == "waiting")

    await office.until(waits)
    (run,) = await office.runs()
    return run


async def spoken_to(office: Driver) -> None:
    await office.space("lab", ["ada"], wake={"people": "all"})
    await office.post("lab", "hello")


async def test_a_run_waits_for_an_unavailable_provider_and_then_continues(offices: Offices) -> None:
    clock = FakeClock()
    office = await offices.open(clock=clock, engine=OFTEN)
    ada = await puppet(office, "ada", answers=away(TRIES * 2), steps=[say("back again")])
    await spoken_to(office)
    run = await parked(office, ada)
    assert (run["status"], run["error"]) == ("waiting", "The provider is away.")
    assert office.office.engine.driving == set()
    clock.advance(rules.FIRST_AWAY)
    await parked(office, ada, asked=TRIES * 2)
    clock.advance(rules.FIRST_AWAY)  # not yet: it stays away longer each time
    await office.post("lab", "anybody there?")
    assert len(ada.shown) == TRIES * 2
    clock.advance(rules.FIRST_AWAY)
    done = await office.run_finished("ada")
    assert (done["id"], done["status"], done.get("error")) == (run["id"], "completed", None)
    assert "retryAt" not in done
    assert [m["text"] for m in await office.messages("lab")][-1] == "back again"
    await office.run_finished("ada", nth=2)  # what was said meanwhile was not lost


async def test_a_clock_put_back_makes_a_waiting_run_ask_again(offices: Offices) -> None:
    clock = FakeClock()
    office = await offices.open(clock=clock, engine=OFTEN)
    ada = await puppet(office, "ada", answers=away(TRIES), steps=[say("back again")])
    clock.advance(86_400)
    await spoken_to(office)
    await parked(office, ada)
    await office.office.tidy()
    clock.advance(-86_400)
    await office.office.tidy()
    assert (await office.run_finished("ada"))["status"] == "completed"


async def test_a_run_waiting_for_its_provider_survives_a_restart(offices: Offices, database: Database) -> None:
    clock = FakeClock()
    async with AsyncExitStack() as stack:
        office = await Offices(database, stack).open(clock=clock, engine=OFTEN)
        ada = await puppet(office, "ada", answers=away(TRIES))
        await spoken_to(office)
        run = await parked(office, ada)
    clock.advance(3600)
    again = await offices.open(clock=clock, engine=OFTEN, drive=False)
    again.office.models.add("puppet-ada", lambda spec: Puppet([{"steps": [say("late, but here")]}], []))
    await again.office.engine.start()
    assert (await again.run_finished("ada"))["id"] == run["id"]
    assert [m["text"] for m in await again.messages("lab")][-1] == "late, but here"


@pytest.mark.one_database
async def test_a_providers_retry_after_time_is_respected(offices: Offices) -> None:
    clock = FakeClock()
    office = await offices.open(clock=clock, engine=OFTEN)
    ada = await puppet(office, "ada", answers=away(1, retry_after=600.0), steps=[say("as agreed")])
    await spoken_to(office)
    run = await parked(office, ada, asked=1)
    assert run["retryAt"] == clock.at(clock.millis() + 600_000)
    clock.advance(600)
    await office.run_finished("ada")
    assert len(ada.shown) >= 2


@pytest.mark.one_database
async def test_patience_ends_and_the_run_fails_with_the_providers_words(offices: Offices) -> None:
    clock = FakeClock()
    engine = EngineSettings(lease_seconds=1.0, model_patience_seconds=rules.FIRST_AWAY)
    office = await offices.open(clock=clock, engine=engine)
    ada = await puppet(office, "ada", answers=away(TRIES * 2))
    await spoken_to(office)
    await parked(office, ada)
    clock.advance(rules.FIRST_AWAY)
    run = await office.run_finished("ada")
    assert (run["status"], run["stopReason"], run["error"]) == ("failed", "model_unavailable", "The provider is away.")


@pytest.mark.one_database
async def test_a_changed_model_is_asked_at_once(offices: Offices) -> None:
    office = await offices.open(clock=FakeClock(), engine=OFTEN)
    ada = await puppet(office, "ada", answers=away(TRIES))
    await spoken_to(office)
    run = await parked(office, ada)
    await office.ask("PATCH", "/agents/ada", json={"model": "script:echo"})
    done = await office.run_finished("ada")
    assert (done["id"], done["outcome"]) == (run["id"], "spoke")


async def test_a_run_that_waits_for_its_provider_can_be_cancelled(offices: Offices) -> None:
    office = await offices.open(clock=FakeClock(), engine=OFTEN)
    ada = await puppet(office, "ada", answers=away(TRIES))
    await spoken_to(office)
    run = await parked(office, ada)
    await office.ask("POST", f"/runs/{run['id']}/cancel")
    assert (await office.run_finished("ada"))["status"] == "cancelled"
    assert (await office.get("/agents/ada"))["state"] == "idle"


@pytest.mark.parametrize(
    "retries, retry_after, patience, seconds",
    [
        (0, None, 3600.0, 30.0),
        (1, None, 3600.0, 60.0),
        (9, None, 36_000.0, 900.0),
        (0, 45.5, 3600.0, 45.5),
        (0, 7200.0, 3600.0, None),
        (0, None, 0.0, None),
        (2, None, 209.0, None),
        (2, None, 210.0, 120.0),
    ],
)
def test_the_wait_for_a_provider_follows_retries_and_patience(
    retries: int, retry_after: float | None, patience: float, seconds: float | None
) -> None:
    assert rules.stay_away(retries, retry_after, patience) == seconds
