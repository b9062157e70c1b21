"""Every verb of the SDK as a call that returns when it is done; `bullpen.client.sync` is where programs find it.

The verbs have their own names, arguments and answers. They run on a loop in a thread of their own, so this may be used
from any thread, also from several. Nothing is written twice: what a verb takes is said where the verb is.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

from bullpen.client.follow import Event, Follow

T = TypeVar("T")

Run = Callable[[Coroutine[Any, Any, Any]], Any]
END_SECONDS = 10.0  # for functions that are served here to come to an end


class Blocking:
    """A client whose verbs wait until they are done. Close it, or use it in a `with`."""

    def __init__(self, client: Any) -> None:
        self._bp = client
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="bullpen-client", daemon=True)
        self._thread.start()

    def __getattr__(self, name: str) -> Any:
        return _blocking(getattr(self._bp, name), self._run)

    def __dir__(self) -> list[str]:
        """What a notebook offers behind a dot."""
        return [*_public_names(self._bp), "close"]

    def __enter__(self) -> Self:
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

    def __dir__(self) -> list[str]:
        return _public_names(self._inner)

    def __repr__(self) -> str:
        return f"<{type(self._inner).__name__} of a Bullpen server: {', '.join(dir(self))}>"


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


def _public_names(inner: object) -> list[str]:
    return [name for name in dir(inner) if not name.startswith("_") and name != "aclose"]


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
