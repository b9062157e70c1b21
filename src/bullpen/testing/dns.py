"""A name server that says what a test tells it to, and remembers who asked.

A name may have several answers, given one after another; the last one stays. A name it was not told of does not exist.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from ipaddress import ip_address

from bullpen.errors import EgressFailed
from bullpen.net.types import Address


class FakeDns:
    def __init__(self, answers: Mapping[str, Sequence[str]] | None = None) -> None:
        self.asked: list[str] = []
        self._answers: dict[str, list[Sequence[str]]] = {}
        self._silent: set[str] = set()
        for host, addresses in (answers or {}).items():
            self.answer(host, addresses)

    def answer(self, host: str, *answers: Sequence[str]) -> None:
        """From now on, these in turn: `dns.answer("a.example.com", ["93.184.215.14"], ["10.0.0.1"])`."""
        self._answers[host] = list(answers)

    def be_silent(self, host: str) -> None:
        """Asked for this name, it never answers."""
        self._silent.add(host)

    async def addresses(self, host: str) -> Sequence[Address]:
        self.asked.append(host)
        if host in self._silent:
            await asyncio.Event().wait()
        answers = self._answers.get(host)
        if not answers or not answers[0]:
            raise EgressFailed(f"There is no host named {host}, or the name servers do not answer.")
        return [ip_address(text) for text in (answers.pop(0) if len(answers) > 1 else answers[0])]
