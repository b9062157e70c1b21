"""The SDK without async: `from bullpen.client.sync import Bullpen`.

    with Bullpen(url, token) as bp:
        bp.spaces("general").send("hello everyone")
        for event in bp.events(space="general"): ...

Every verb of `bullpen.client` under its own name, with the same arguments and answers; it returns when it is done. They
run on a loop in a thread of their own, so this may be used from any thread, also from several. Nothing is written
twice: what a verb takes is said where the verb is.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from types import TracebackType
from typing import Any, TypeVar

from bullpen.client.client import Bullpen as AsyncBullpen
from bullpen.client.follow import Event, Follow

T = TypeVar("T")

Run = Callable[[Coroutine[Any, Any, Any]], Any]
END_SECONDS = 10.0  # for functions that are served here to come to an end


class Bullpen:
    """A connection to a server, as whoever holds the token. Close it, or use it in a `with`."""

    def __init__(self, url: str = "http://127.0.0.1:8420", token: str | None = None, *, patience: float = 10.0) -> None:
        self._bp = AsyncBullpen(url, token, patience=patience)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="bullpen-client", daemon=True)
        self._thread.start()

    def __getattr__(self, name: str) -> Any:
        return _blocking(getattr(self._bp, name), self._run)

    def __enter__(self) -> Bullpen:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the connection, and what other threads still wait for: they get `concurrent.futures.CancelledError`."""
        if not self._loop.is_closed():
            self._run(self._end())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    async def _end(self) -> None:
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=END_SECONDS)
        await self._bp.aclose()

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # Ctrl-C ends the request as well as the wait for it
            raise


class _Verbs:
    """A noun, or one space or message, whose verbs wait until they are done."""

    def __init__(self, inner: Any, run: Run) -> None:
        self._inner = inner
        self._run = run

    def __getattr__(self, name: str) -> Any:
        return _blocking(getattr(self._inner, name), self._run)

    def __call__(self, *args: Any, **more: Any) -> Any:
        return _shown(self._inner(*args, **more), self._run)


class Events:
    """Events one after the other, for ever; `bullpen.client.follow` says how."""

    def __init__(self, follow: Follow, run: Run) -> None:
        self._follow = follow
        self._run = run

    @property
    def cursor(self) -> str | None:
        return self._follow.cursor

    def __iter__(self) -> Events:
        return self

    def __next__(self) -> Event:
        found: Event = self._run(self._follow.__anext__())
        return found

    def __enter__(self) -> Events:
        self._run(self._follow.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._run(self._follow.aclose())


def _blocking(found: Any, run: Run) -> Any:
    if inspect.isasyncgenfunction(found):
        return functools.wraps(found)(lambda *args, **more: _each(found(*args, **more), run))
    if inspect.iscoroutinefunction(found):
        return functools.wraps(found)(lambda *args, **more: run(found(*args, **more)))
    if inspect.ismethod(found):
        return functools.wraps(found)(lambda *args, **more: _shown(found(*args, **more), run))
    return _shown(found, run)


def _shown(found: Any, run: Run) -> Any:
    if isinstance(found, Follow):
        return Events(found, run)
    ours = type(found).__module__.startswith("bullpen.client.")
    return _Verbs(found, run) if ours else found


def _each(found: AsyncIterator[T], run: Run) -> Iterator[T]:
    while True:
        try:
            yield run(_next(found))
        except StopAsyncIteration:
            return


async def _next(found: AsyncIterator[T]) -> T:
    return await anext(found)
