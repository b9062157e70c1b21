"""Passwords: argon2id, in threads, two at a time.

A hash takes 19 MiB and some 40 ms on purpose, so a crowd of guesses must not be able to ask for many at once: two are
made at a time, a few wait, and the rest are told to come back. Nothing else in the server knows the algorithm.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from bullpen.errors import TooManyRequests

T = TypeVar("T")

AT_ONCE = 2
WAITING = 8


class Passwords:
    def __init__(self) -> None:
        self._free = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0
        self._nobodys = ""  # what the password of somebody who does not exist is compared with

    async def hash(self, password: str) -> str:
        return await self._apart(lambda: _hasher().hash(password))

    async def matches(self, hash: str | None, password: str) -> bool:
        """Takes as long for somebody who is not there, so that nobody learns who is."""
        if hash is None:
            self._nobodys = self._nobodys or await self.hash("nobody's password")
        matched = await self._apart(lambda: _verify(hash or self._nobodys, password))
        return matched and hash is not None

    async def _apart(self, work: Callable[[], T]) -> T:
        if self._waiting >= WAITING:
            raise TooManyRequests("Too many people are signing in just now. Try again in a moment.", retry_after=1)
        self._waiting += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        try:
            return await asyncio.to_thread(work)
        finally:
            self._free.release()


def _hasher() -> Any:
    from argon2 import PasswordHasher  # only whoever signs in pays for the import

    return PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)


def _verify(hash: str, password: str) -> bool:
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        return bool(_hasher().verify(hash, password))
    except (VerificationError, InvalidHashError):
        return False
