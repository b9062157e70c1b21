"""One answer of a model: what it is shown is clean, its key is found, it is asked again if it is away, and counted.

Nothing is decided here about the run. Whoever thinks is told the answer, or the error that is left after a few tries.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING

import orjson

from bullpen.connections import actions as connections
from bullpen.connections.types import Resolved
from bullpen.errors import Invalid, KeyMissing, ModelError, ModelRefused, ModelUnavailable, SecretInvalid
from bullpen.llm.models import USE as MODEL
from bullpen.llm.types import Model, Reply, ToolSpec, Transcript
from bullpen.observe import counts
from bullpen.observe.redact import here
from bullpen.runs import steps, transcript
from bullpen.runs.steps import Asking, Reference
from bullpen.runs.writing import Writing
from bullpen.storage import Transaction
from bullpen.tools.registry import listed_by
from bullpen.variables import actions as variables
from bullpen.variables.types import Place, Value
from bullpen.wire import Agent

if TYPE_CHECKING:
    from bullpen.runs.loop import Drive

TRIES = 4
FIRST_PAUSE = 1.0  # seconds at most; each pause is twice as long as the one before
LONGEST_PAUSE = 60.0  # a provider that wants to be left alone for longer is not there, for this run


async def ask(drive: Drive, agent: Agent, shown: Transcript, deadline: asyncio.Timeout) -> tuple[Reply, float]:
    """One answer, asked for again a few times if the provider is not there; and how long we stayed away from it.

    Staying away holds nothing and does not count as active time, so the deadline moves along.
    """
    model = await _model(drive, agent)
    tools = drive.world.registry.listed(listed_by(agent), drive.defined)
    definitions = specs(drive)
    if drive.reference is None:
        drive.reference = reference(drive, definitions)
    away = 0.0
    for attempt in range(1, TRIES + 1):
        try:
            writing = Writing(drive, agent, tools) if drive.live.watched else None
            return await _asked(drive, model, shown, definitions, writing), away
        except ModelUnavailable as error:
            if attempt == TRIES or (error.retry_after or 0.0) > LONGEST_PAUSE:
                raise
            pause = max(random.uniform(0.5, 1.0) * FIRST_PAUSE * 2 ** (attempt - 1), error.retry_after or 0.0)
        await drive.abandon()
        away += pause
        deadline.reschedule((deadline.when() or 0.0) + pause)
        await asyncio.sleep(pause)
    raise AssertionError("unreachable")


async def _model(drive: Drive, agent: Agent) -> Model:
    """The agent's model with its key, which is a variable like any other: looked up here, opened by nobody yet.

    So are its connection and the addresses that owners have opened: what another process has changed counts at once.
    """
    models, run = drive.world.models, drive.run
    person_id = run.cause_id if run.cause_kind == "person" else None
    place = Place(run.thread_id, agent.id, drive.space_id, person_id)
    settings = drive.world.means.vault.settings

    async def look_up(tx: Transaction) -> tuple[Resolved, list[str], dict[str, Value]]:
        resolved = await connections.resolve(tx, drive.chosen)
        needed = models.variables(resolved.spec)
        return resolved, await connections.confirmed(tx), await variables.resolve(tx, place, needed, settings)

    try:
        if not connections.is_elsewhere(drive.model):
            return models.resolve(drive.model)
        drive.resolved, confirmed, values = await drive.world.store.read(look_up)
        drive.world.means.egress().allowance.confirm(MODEL, confirmed)
        with contextlib.suppress(SecretInvalid, KeyMissing):  # whoever opens it says so
            await drive.world.means.vault.learn(values.values())
        return models.resolve(drive.model, values)
    except Invalid as error:
        raise ModelRefused(error.message) from error


async def _asked(
    drive: Drive, model: Model, shown: Transcript, definitions: Sequence[ToolSpec], writing: Writing | None
) -> Reply:
    """One request to the model, counted by how it ended."""
    spec = drive.model
    provider = str(spec["provider"] if isinstance(spec, Mapping) else spec.partition(":")[0])
    began, ending = monotonic(), "abandoned"
    drive.tries += 1
    drive.written = {}
    try:
        reply = await _watched(model, shown, definitions, writing)
        ending = "answered"
    except ModelError as error:
        ending = error.code
        raise
    finally:
        counts.MODEL_CALLS.add(provider, ending)
        counts.MODEL_SECONDS.observe(monotonic() - began, provider)
    if writing is not None:
        drive.written = writing.written
    counts.TOKENS.add("input", by=reply.usage.input_tokens)
    counts.TOKENS.add("output", by=reply.usage.output_tokens)
    counts.TOKENS.add("cached", by=reply.usage.cached_tokens)
    return reply


async def _watched(model: Model, shown: Transcript, definitions: Sequence[ToolSpec], writing: Writing | None) -> Reply:
    if writing is None:
        return await model.ask(shown, definitions, None)
    await writing.prepare()
    kept = False
    try:
        reply = await model.ask(shown, definitions, writing.delta)
        kept = True
    finally:
        await writing.end(kept=kept)
    return reply


def specs(drive: Drive) -> list[ToolSpec]:
    """The agent's tools as its model sees them. They change with the agent, and when it comes to be in more than one
    space or in only one again."""
    if drive.agent is None:
        return []
    tools = drive.world.registry.listed(listed_by(drive.agent), drive.defined)
    return [tool.spec_in_several if drive.several else tool.spec for tool in tools]


def clean(drive: Drive) -> None:
    """No secret that concerns the run is shown to a model. Once per run, and again only if there is another by now."""
    masker = here()
    if drive.cleaned == masker.version:
        return
    drive.cleaned = masker.version
    drive.said = str(drive.run.payload.get("text", ""))
    if not masker.is_clean(drive.said, drive.system, *transcript.texts(drive.before, drive.entries)):
        drive.said, drive.system = masker.clean(drive.said), masker.clean(drive.system)
        drive.before, drive.reference = [transcript.cleaned(turn) for turn in drive.before], None
        drive.entries = [transcript.cleaned_entry(entry) for entry in drive.entries]


def of(drive: Drive, reply: Reply, *, elapsed_ms: int, away_ms: int) -> Asking:
    """What the answer came to. Whoever answered is paid, not whoever was asked first."""
    asked = steps.name_of(drive.model)
    nanodollars, priced = drive.world.prices.cost(reply.model or asked, reply.usage, drive.resolved.prices)
    return Asking(
        asked,
        nanodollars,
        priced,
        tries=drive.tries,
        elapsed_ms=elapsed_ms,
        away_ms=away_ms,
        reference=drive.reference,
    )


def reference(drive: Drive, definitions: Sequence[ToolSpec]) -> Reference:
    """By which people can be shown again what the model is shown now. Once for a drive: its steps begin the same."""
    past, at = {}, 0
    for name, count in drive.parts:
        past[name] = steps.mark_of(*transcript.texts(drive.before[at : at + count], ()))
        at += count
    return Reference(
        tokens=drive.tokens,
        system=steps.mark_of(drive.system),
        tools=steps.mark_of(orjson.dumps(definitions).decode()),
        model=steps.mark_of(str(drive.model)),
        past=past,
    )
