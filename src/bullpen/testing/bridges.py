"""A chat service in memory, with its bridge. It judges what it is sent, as a real one does, and fails when told to.

`faults` holds what a real service would not forgive: sent too fast, out of order, or a second time without the mark.
With a `journal` it keeps what arrived in a file, which outlives the process that is killed: the service does not die
with it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from bullpen.bridges.types import Health, Outgoing, Pace, Refused, Result, Retry, Sent

# What becomes of an attempt. `lose`: it arrives and the answer is lost. The process dies before it arrives, or after.
Fate = Literal["deliver", "fail", "wait", "refuse", "lose", "hang", "die before", "die after"]
SLACK = 0.9  # of a window: the service's clock is not the sender's


@dataclass(frozen=True)
class Arrival:
    """Something that arrived."""

    address: str
    kind: str
    key: str
    number: int
    text: str
    author: str
    remote_id: str
    repeated: bool
    reply_to: str | None = None
    emoji: str | None = None
    added: bool = True


class MemoryBridge:
    def __init__(
        self,
        name: str = "mem",
        *,
        paces: tuple[Pace, ...] = (),
        chat_paces: tuple[Pace, ...] = (),
        part_length: int = 4096,
        journal: Path | None = None,
    ) -> None:
        self.name = name
        self.paces = paces
        self.chat_paces = chat_paces
        self.part_length = part_length
        self.in_order = True  # False: an owner sends what was dead, after what came later
        self.faults: list[str] = []
        self.fates: deque[Fate] = deque()
        self.wait_seconds = 0.05
        self.reason = "The service is not there."
        self.arrived: list[Arrival] = []
        self.hanging = asyncio.Event()
        self._journal = journal
        self._times: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=1000))
        self._last: dict[str, int] = {}
        if journal is not None and journal.exists():
            self.arrived = read_journal(journal)

    def will(self, *fates: Fate) -> None:
        """What becomes of the next attempts. Those after them arrive."""
        self.fates.extend(fates)

    async def health(self) -> Health:
        return Health(not self.fates, "All is well." if not self.fates else self.reason)

    async def send(self, item: Outgoing) -> Result:
        return await _FATES[self.fates.popleft() if self.fates else "deliver"](self, item)

    # ── what is there ───────────────────────────────────────────────────────────────────────────────────

    def texts(self, address: str) -> list[str]:
        """What the people in a chat see: every message as it was last edited, without those that were deleted."""
        shown: dict[str, str] = {}
        for arrival in (each for each in self.arrived if each.address == address):
            if arrival.kind == "message" or (arrival.kind == "edit" and arrival.remote_id in shown):
                shown[arrival.remote_id] = arrival.text
            elif arrival.kind == "delete":
                shown.pop(arrival.remote_id, None)
        return list(shown.values())

    def shown(self, address: str) -> list[str]:
        """The same without what came twice, and parts of a message together: what the messages say."""
        said: dict[str, dict[int, str]] = {}
        gone: set[str] = set()
        for arrival in (each for each in self.arrived if each.address == address):
            message_id, _, part = arrival.key.split("/")
            if arrival.kind == "message":
                said.setdefault(message_id, {})[int(part)] = arrival.text
            elif arrival.kind == "edit":
                said[message_id] = {0: arrival.text}
            elif arrival.kind == "delete":
                gone.add(message_id)
        return ["".join(parts.values()) for id, parts in said.items() if id not in gone]

    # ── judging ─────────────────────────────────────────────────────────────────────────────────────────

    def deliver(self, item: Outgoing) -> Result:
        if (wait := self._too_fast(item.address)) is not None:
            return Retry("Too many requests.", after=wait)
        if item.kind != "message":
            return self._change(item)
        start = item.part * self.part_length
        text, rest = item.text[start : start + self.part_length], item.text[start + self.part_length :]
        if not text and not item.files:
            return Refused("A message must say something.")
        self._judge_order(item)
        remote_id = f"r{len(self.arrived) + 1}"
        self._arrive(item, text, remote_id)
        return Sent(remote_id, more=bool(rest))

    def _change(self, item: Outgoing) -> Result:
        known = {arrival.remote_id for arrival in self.arrived if arrival.address == item.address}
        if not set(item.remote_ids) <= known and item.kind != "reaction":
            return Refused("There is no such message.")
        for remote_id in item.remote_ids:
            self._arrive(item, item.text, remote_id)
        return Sent()

    def _arrive(self, item: Outgoing, text: str, remote_id: str) -> None:
        if any(each.key == item.key and each.remote_id == remote_id for each in self.arrived) and not item.repeated:
            self.faults.append(f"{item.key} came a second time without the mark")
        arrival = Arrival(
            item.address,
            item.kind,
            item.key,
            item.entry.number,
            text,
            item.author_name,
            remote_id,
            item.repeated,
            item.reply_to,
            item.emoji,
            item.added,
        )
        self.arrived.append(arrival)
        if self._journal is not None:
            with self._journal.open("a") as file:
                file.write(json.dumps(asdict(arrival)) + "\n")

    def _judge_order(self, item: Outgoing) -> None:
        if self.in_order and item.entry.number < self._last.get(item.address, 0):
            self.faults.append(f"{item.key} came after something that was said later")
        self._last[item.address] = item.entry.number

    def _too_fast(self, address: str) -> float | None:
        now = asyncio.get_running_loop().time()
        for key, paces in (("", self.paces), (address, self.chat_paces)):
            times = self._times[key]
            for pace in paces:
                recent = [at for at in times if at > now - SLACK * pace.seconds]
                if len(recent) >= pace.count:
                    self.faults.append(f"{len(recent) + 1} in {pace.seconds} s to {key or 'all'}")
                    return pace.seconds
        for key in ("", address):
            self._times[key].append(now)
        return None


def read_journal(path: Path) -> list[Arrival]:
    return [Arrival(**json.loads(line)) for line in path.read_text().splitlines()]


# ── fates ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _deliver(bridge: MemoryBridge, item: Outgoing) -> Result:
    return bridge.deliver(item)


async def _fail(bridge: MemoryBridge, item: Outgoing) -> Result:
    return Retry(bridge.reason)


async def _wait(bridge: MemoryBridge, item: Outgoing) -> Result:
    return Retry("Too many requests.", after=bridge.wait_seconds)


async def _refuse(bridge: MemoryBridge, item: Outgoing) -> Result:
    return Refused(bridge.reason)


async def _lose(bridge: MemoryBridge, item: Outgoing) -> Result:
    bridge.deliver(item)
    raise ConnectionResetError("the answer was lost")


async def _hang(bridge: MemoryBridge, item: Outgoing) -> Result:
    await bridge.hanging.wait()
    return bridge.deliver(item)


async def _die_before(bridge: MemoryBridge, item: Outgoing) -> Result:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


async def _die_after(bridge: MemoryBridge, item: Outgoing) -> Result:
    bridge.deliver(item)
    return await _die_before(bridge, item)


_Fate: TypeAlias = Callable[[MemoryBridge, Outgoing], Awaitable[Result]]
_FATES: Mapping[Fate, _Fate] = {
    "deliver": _deliver,
    "fail": _fail,
    "wait": _wait,
    "refuse": _refuse,
    "lose": _lose,
    "hang": _hang,
    "die before": _die_before,
    "die after": _die_after,
}
