"""The calls of an answer while a model writes it: begun by a commit of their own, and shown to people from then on.

A call gets its id with its first piece. Before anything of it is shown, its `tool.started` is committed under the
lease, and with it the run's row names the call: an answer that is lost, to a crash or otherwise, leaves nothing that
has begun and never ends (runs/actions.py). Reading the model's answer waits for none of this; what is not committed
when the answer is whole begins when it is carried out, like the calls of a model that nobody watches.

What a call says is shown only where it is sure to be posted: tools/showing.py. Words meant for a DM would appear in a
channel otherwise. A visible call that may show somewhere else in the end, or first needs an approval, is not shown.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

from bullpen import ids
from bullpen.errors import Fenced
from bullpen.llm.types import CallDelta, Delta, Discarded, TextDelta
from bullpen.observe.redact import here
from bullpen.replacing import replace
from bullpen.runs import actions
from bullpen.runs.partial import Said, Unclear, read_words
from bullpen.runs.types import OpenCall, WrittenCall
from bullpen.runs.view import view_run
from bullpen.storage import Transaction
from bullpen.tools import rows as tool_rows
from bullpen.tools import showing
from bullpen.tools.door import Door
from bullpen.tools.outside import together
from bullpen.tools.outward import merge_places
from bullpen.tools.showing import Before
from bullpen.tools.types import Tool
from bullpen.wire import Agent

if TYPE_CHECKING:
    from bullpen.runs.loop import Drive

logger = logging.getLogger("bullpen.runs")

EVERY_SECONDS: Final = 1 / 15
# So often it is asked whether the words still go where they are shown.
LOOK_SECONDS: Final = 0.5
MOVES: Final = frozenset({"enter_space", "leave_space"})
ENDS: Final = frozenset({"skip"})


@dataclass(slots=True, eq=False)
class Growing:
    """One call."""

    delta: CallDelta
    tool: Tool | None
    call: OpenCall
    before: Before
    ended: bool  # a call before it ends the run: it will not be carried out
    begun: bool = False
    place: str | None = None  # the space that it names
    space_id: str | None = None  # where its words are shown
    words_in: str | None = None  # where they have been
    looked_at: float | None = None
    hidden: bool = False  # nothing that it says is shown from now on


class Writing:
    """One answer. `delta` is called for every piece of it; `end` when no more will come."""

    def __init__(self, drive: Drive, agent: Agent, tools: Sequence[Tool]) -> None:
        self._drive = drive
        self._tools = {tool.name: tool for tool in tools}
        run = replace(
            drive.run,
            outside=together(drive.run.outside, drive.outside),
            seen_in=merge_places(drive.run.seen_in, drive.seen_in),
        )
        view = view_run(run, agent, drive.home, drive.world.settings.limits)
        world = drive.world
        journal = actions.RunJournal(drive.lease, run, drive.entries)
        self._door = Door(view, world.store, journal, world.means, drive.space_id)
        self._guarded: frozenset[str] = frozenset()  # visible tools that somebody has to approve, or that are refused
        self._unread = False  # people in the space that the agent is in could not read what the run was shown
        self._calls: dict[int, Growing] = {}
        self._to_begin: list[Growing] = []
        self._to_look: list[Growing] = []
        self._discarded = False
        self._work: asyncio.Task[None] | None = None
        self._over = False
        self._shown_at = 0.0
        self._last: tuple[int, str] | None = None

    async def prepare(self) -> None:
        """Which calls people may see at all."""

        async def read(tx: Transaction) -> None:
            run, space_id = self._door.run, self._door.space_id
            guarded = await tool_rows.select_guarded(tx, run.agent.id, space_id)
            guarded |= {name for name, decision in run.agent.policy.items() if decision != "allow"}
            guarded |= {tool.name for tool in self._tools.values() if tool.policy in ("ask", "deny")}
            self._guarded = frozenset(guarded)
            if space_id is not None:
                self._unread = await showing.would_ask(tx, run, space_id, Before(reads=True))

        await self._drive.world.store.read(read)

    @property
    def written(self) -> Mapping[int, WrittenCall]:
        """The calls that have begun, by their place in the answer."""
        return {index: WrittenCall(each.call, each.words_in) for index, each in self._calls.items() if each.begun}

    def delta(self, delta: Delta) -> None:
        if isinstance(delta, Discarded):
            self._discard()
            return
        now = monotonic()
        early = now - self._shown_at < EVERY_SECONDS and self._same_call(delta)
        if isinstance(delta, TextDelta):
            return
        each = self._find(delta)
        if each is not None and each.begun and not early:
            self._shown_at = now
            self._show(each)

    def _same_call(self, delta: CallDelta | TextDelta) -> bool:
        mark = (-1, "") if isinstance(delta, TextDelta) else (delta.index, delta.name)
        same, self._last = mark == self._last, mark
        return same

    def _find(self, delta: CallDelta) -> Growing | None:
        each = self._calls.get(delta.index)
        if each is not None and each.delta is not delta:
            self._discard()
            each = None
        if each is None and len(self._calls) < self._drive.world.settings.limits.calls_per_step:
            each = self._calls[delta.index] = self._begin(delta)
        return each  # None: there are more than are carried out in one step

    def _discard(self) -> None:
        """The model begins anew. What it has begun until now ends before anything else begins."""
        for each in self._calls.values():
            each.hidden = True
            self._drive.live.take_back(each.call.call_id)
        self._calls = {}
        self._to_begin.clear()
        self._discarded = True

    def _begin(self, delta: CallDelta) -> Growing:
        earlier = list(self._calls.values())
        tool = self._tools.get(delta.name)
        # A call before it that was not seen growing may move the agent.
        told_in = self._place_of(tool, earlier) if delta.index == len(earlier) else None
        name = actions.tool_name(here().clean(delta.name))
        each = Growing(delta, tool, OpenCall(ids.call(), name, told_in), _before(earlier), ended=_ends(earlier))
        if tool is None or not tool.visible or told_in is not None:
            self._to_begin.append(each)
            self._wake()
        return each

    def _place_of(self, tool: Tool | None, earlier: Sequence[Growing]) -> str | None:
        """The space whose people see the call; None: nobody there does, or nobody can tell yet."""
        if tool is None or not tool.visible or tool.name in self._guarded or _ends(earlier):
            return None
        before, run = _before(earlier), self._door.run
        suspect = bool(run.outside or before.reads)
        if before.moves or (suspect and (self._unread or tool.wary)) or not showing.may_call(run, tool, before):
            return None
        return self._door.space_id

    # ── commits and looks ───────────────────────────────────────────────────────────────────────────────────────────
    # By a task of its own, one at a time, while the answer goes on being read.

    def _wake(self) -> None:
        if self._work is None or (self._work.done() and self._work.exception() is None):
            self._work = asyncio.create_task(self._do())

    async def _do(self) -> None:
        try:
            while not self._over and (self._to_begin or self._to_look):
                if self._to_begin:
                    await self._commit()
                while self._to_look:
                    await self._look(self._to_look.pop(0))
        except Fenced:
            self._over = True
        except self._drive.world.store.connection_errors:
            self._over = True  # nothing more of this answer is shown; whoever keeps it finds out what is wrong

    async def _commit(self) -> None:
        drive = self._drive
        calls, self._to_begin = self._to_begin, []
        if self._discarded:
            self._discarded = False
            await drive.abandon()
        opened = [each.call for each in calls]
        # Before it is tried: a commit whose answer is lost may well be there.
        drive.run = replace(drive.run, streamed=(*drive.run.streamed, *opened))
        run = drive.run
        await drive.world.store.transact(lambda tx: actions.begin_calls(tx, drive.lease, run, opened))
        for each in calls:
            each.begun = True
            if not each.hidden:
                self._show(each)

    async def _look(self, each: Growing) -> None:
        tool = each.tool
        if tool is None:
            return
        find = partial(showing.find_space, door=self._door, tool=tool, named=each.place, before=each.before)
        space_id = await self._drive.world.store.read(find)
        if each.hidden or self._over:
            return
        if space_id is None or each.space_id not in (None, space_id):
            self._hide(each)
        elif each.space_id is None:
            each.space_id = space_id
            self._show_words(each)

    # ── what people see ─────────────────────────────────────────────────────────────────────────────────────────────

    def _show(self, each: Growing) -> None:
        if self._over:
            return
        step = self._drive.run.step + 1
        self._drive.live.show_arguments(each.call, step, each.delta.index, each.delta.arguments)
        if each.tool is not None and each.tool.words is not None and not each.ended:
            self._show_words(each)

    def _show_words(self, each: Growing) -> None:
        words = None if each.tool is None else each.tool.words
        if words is None or each.hidden:
            return
        said = read_words(each.delta.arguments, words)
        if said is None or (isinstance(said, Said) and not said.text):
            return
        if isinstance(said, Unclear) or len(said.text) > words.longest:
            self._hide(each)
            return
        if each.looked_at is None or monotonic() - each.looked_at > LOOK_SECONDS:
            each.place, each.looked_at = said.place, monotonic()
            self._to_look.append(each)
            self._wake()
        if each.space_id is not None and said.text.strip():
            each.words_in = each.space_id
            self._drive.live.show_message(each.call.call_id, each.space_id, each.delta.index, said.text)

    def _hide(self, each: Growing) -> None:
        each.hidden = True
        self._drive.live.take_back(each.call.call_id)

    # ── the end ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def end(self, *, kept: bool) -> None:
        """Nothing more comes. Waits for what is being committed just now, and begins nothing else.

        Not `kept`: the answer is discarded.
        """
        self._to_begin.clear()
        self._to_look.clear()
        if self._work is not None and not self._work.done():
            try:
                await asyncio.wait([self._work])
            except asyncio.CancelledError:
                self._work.cancel()
                raise
        if self._work is not None and (error := self._work.exception()) is not None:
            logger.error("a call cannot be shown while it is written", exc_info=error)
        self._over = True
        if not kept:
            for each in self._calls.values():
                self._drive.live.take_back(each.call.call_id)


def _before(earlier: Sequence[Growing]) -> Before:
    """What calls before it in the answer may change."""
    tools = [each.tool for each in earlier if each.tool is not None]
    return Before(
        messages=sum(tool.act == "spoke" for tool in tools),
        moves=any(each.delta.name in MOVES for each in earlier),
        reads=any(tool.goes_out or tool.awaits is not None for tool in tools),
    )


def _ends(earlier: Sequence[Growing]) -> bool:
    return any(each.delta.name in ENDS for each in earlier)
