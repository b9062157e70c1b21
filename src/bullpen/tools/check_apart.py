"""Checks of arguments that are not known to be cheap: each is done in a child process of the pool.

Nobody waits for a process inside a transaction, so a check is asked for by an exception. Its caller leaves the
transaction, awaits `settle`, and asks again: by then the verdict is known. If the child dies, the call is told so and
nobody else notices.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import sha256
from typing import Final

import orjson

from bullpen.apart.pool import ApartFailed, ProcessPool
from bullpen.errors import CheckFailed

SECONDS: Final = 2
MEGABYTES: Final = 256
KEPT: Final = 256

# What the last checks came to, so that who has asked can go on where it could not wait: inside a transaction.
_verdicts: OrderedDict[bytes, list[str]] = OrderedDict()


class CheckApart(Exception):
    """The arguments have to be checked in a child process. Await `settle` outside a transaction, and ask again."""

    def __init__(self, tool: str, schema: bytes, arguments: bytes) -> None:
        super().__init__(f"The arguments of {tool} are to be checked in a child process.")
        self.tool = tool
        self._schema = schema
        self._arguments = arguments

    def recall(self) -> list[str] | None:
        """What is wrong with them, if that is known by now."""
        return _verdicts.get(self._key)

    async def settle(self, pool: ProcessPool) -> None:
        """Find out. Raises CheckFailed if that takes too long or too much memory."""
        fields = {"schema": orjson.Fragment(self._schema), "arguments": orjson.Fragment(self._arguments)}
        try:
            answer = await pool.run("check_arguments", fields, seconds=SECONDS, megabytes=MEGABYTES)
        except ApartFailed:
            raise CheckFailed(
                f"The arguments of {self.tool} could not be checked: its inputSchema takes too much time or memory. "
                "Nothing was done. Try simpler arguments, or ask a person to simplify the tool's schema."
            ) from None
        _verdicts[self._key] = list(answer.fields["wrong"])
        while len(_verdicts) > KEPT:
            _verdicts.popitem(last=False)

    @property
    def _key(self) -> bytes:
        return sha256(sha256(self._schema).digest() + self._arguments).digest()
