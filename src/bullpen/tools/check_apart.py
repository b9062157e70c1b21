"""Checks of arguments that are not known to be cheap: each in a short-lived process that is bounded.

It has two seconds of CPU, 256 MB and a deadline, sees nothing of our environment, and is not there at all
until a schema needs it. If it dies, the call is told so and nobody else notices. Two at a time, so that agents together
cannot take the machine either.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections import OrderedDict
from hashlib import sha256
from pathlib import Path
from typing import Final
from weakref import WeakKeyDictionary

import orjson

from bullpen.errors import CheckFailed

PROGRAM: Final = Path(__file__).with_name("schema_process.py")
DEADLINE_SECONDS: Final = 15.0  # of the clock on the wall: the process itself ends after two seconds of work
AT_ONCE: Final = 2
KEPT: Final = 256
# Without these a Python that was installed in an odd place does not start.
_KEPT_NAMES: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")

# What the last checks came to, so that who has asked can go on where it could not wait: inside a transaction.
_verdicts: OrderedDict[bytes, list[str]] = OrderedDict()
_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


class CheckApart(Exception):
    """The arguments have to be checked in a process of its own. Await `settle` outside a transaction, and ask again."""

    def __init__(self, tool: str, schema: bytes, arguments: bytes) -> None:
        super().__init__(f"The arguments of {tool} are to be checked in a process of its own.")
        self.tool = tool
        self._schema = schema
        self._arguments = arguments

    def recall(self) -> list[str] | None:
        """What is wrong with them, if that is known by now."""
        return _verdicts.get(self._key)

    async def settle(self) -> None:
        """Find out. Raises CheckFailed if that takes too long or too much memory."""
        turns = _turns.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(AT_ONCE))
        asked = b'{"schema":' + self._schema + b',"arguments":' + self._arguments + b"}"
        async with turns:
            said = await _run(asked)
        if said is None:
            raise CheckFailed(
                f"The arguments of {self.tool} could not be checked: its inputSchema takes too much time or memory. "
                "Nothing was done. Try simpler arguments, or ask a person to simplify the tool's schema."
            )
        _verdicts[self._key] = orjson.loads(said)
        while len(_verdicts) > KEPT:
            _verdicts.popitem(last=False)

    @property
    def _key(self) -> bytes:
        return sha256(sha256(self._schema).digest() + self._arguments).digest()


async def _run(asked: bytes) -> bytes | None:
    """What the process says. None: it died, or took too long."""
    environ = {name: os.environ[name] for name in _KEPT_NAMES if name in os.environ}
    pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", str(PROGRAM), stdin=pipe, stdout=pipe, stderr=nowhere, env=environ
        )
    except OSError:  # no more processes, or no memory for one
        return None
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            said, _ = await process.communicate(asked)
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return said if process.returncode == 0 else None
