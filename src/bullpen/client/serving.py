"""Carrying out the calls of external tools in this process: `await bp.serve_tools(fetch_report)`.

Calls come by the event stream, and those made while nobody was here from the list of open ones, which is read whenever
a connection is made. A call is carried out once by this process; whatever comes of it is posted until the server has
taken it, so a lost connection or a restarted server costs nothing but time. If this process dies, its open calls are
found by the next one: they may then be begun a second time, with the same `Call.id`. Not those of a function whose
effect is `once`: it takes each call before it begins, and whoever finds one taken by a silent process leaves it alone.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

from pydantic_core import to_jsonable_python

from bullpen.client.connection import PASSING, Connection, Unreachable, path, pause
from bullpen.client.follow import Event, Follow
from bullpen.client.tools import AnyTool, Pending
from bullpen.define import Call, Misfit
from bullpen.wire.errors import ApiError, BadRequest, Conflict, Forbidden, Gone, NotFound, Unauthenticated
from bullpen.wire.events import RESET
from bullpen.wire.nouns import PendingCall

logger = logging.getLogger("bullpen.client")

T = TypeVar("T")

OPEN = frozenset({"waiting", "pending"})
GIVEN_UP = frozenset({"cancelled", "expired"})
# How many calls that are over are remembered, so that a list or event that was under way does not bring one back.
REMEMBERED = 10_000
LONGEST_MESSAGE = 2_000
LAST_SECONDS = 1.0  # for functions that were cancelled to end
PAGE = 200
HEARTBEAT_SECONDS = 15.0  # how often the server hears that a call is still being carried out
BETWEEN_SECONDS = 0.25  # two reports of one call are at least so far apart


class Serving:
    def __init__(
        self,
        connection: Connection,
        functions: Sequence[AnyTool],
        *,
        concurrency: int = 8,
        grace: float = 5.0,
        heartbeat: float = HEARTBEAT_SECONDS,
    ) -> None:
        if concurrency < 1:
            raise ValueError("concurrency must be at least 1: otherwise no call would ever be carried out.")
        self._connection = connection
        self._pending = Pending(connection)
        self._tools = _by_name(functions)
        self._concurrency = concurrency
        self._grace = grace
        self._heartbeat = heartbeat
        self._queue: asyncio.Queue[PendingCall] = asyncio.Queue()
        self._open: dict[str, asyncio.Task[Any] | None] = {}  # None: it waits for its turn
        self._over: OrderedDict[str, None] = OrderedDict()
        self._busy: set[asyncio.Task[None]] = set()
        self._connected = asyncio.Event()
        self._threads = ThreadPoolExecutor(max_workers=concurrency, thread_name_prefix="bullpen-tool")
        self._ending = False
        self._runner = secrets.token_urlsafe(12)

    async def run(self) -> None:
        """Until it is cancelled, or the token does not count any more."""
        follow = Follow(self._connection, query={}, on_open=self._connected.set)
        try:
            async with follow:
                logger.info("serving %s", ", ".join(self._tools))
                tasks = [asyncio.create_task(self._listen(follow)), asyncio.create_task(self._find_open())]
                tasks += [asyncio.create_task(self._work()) for _ in range(self._concurrency)]
                try:
                    # None of them ends by itself, but for a reason to stop altogether.
                    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                    for task in done:
                        task.result()
                finally:
                    await self._end(tasks)
        finally:
            self._threads.shutdown(wait=False, cancel_futures=True)

    async def _end(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        """No call is begun any more; those under way have a little time, and stay open if it is not enough."""
        self._ending = True
        for task in tasks:
            if task not in self._busy:
                task.cancel()
        try:
            if self._busy:
                await asyncio.wait(set(self._busy), timeout=self._grace)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=LAST_SECONDS)

    # ── which calls there are ───────────────────────────────────────────────────────────────────────────

    async def _listen(self, follow: Follow) -> None:
        async for event in follow:
            if event.type == RESET:
                self._connected.set()
            elif event.type == "tool.requires_action" and self._is_ours(event):
                self._take(_call_of(event))
            elif event.type == "pending_resolved" and self._is_ours(event):
                self._drop(_call_of(event))

    def _is_ours(self, event: Event) -> bool:
        """Asked of the bare event: a newer server may tell of kinds of calls that are not known here."""
        call = event.get("call") or {}
        return call.get("kind") == "external" and call.get("toolName") in self._tools

    async def _find_open(self) -> None:
        while True:
            await self._connected.wait()
            self._connected.clear()
            found = [call async for call in self._all_open()]
            for call in reversed(found):  # the oldest has waited longest
                self._take(call)

    async def _all_open(self) -> AsyncIterator[PendingCall]:
        cursor: str | None = None
        while True:
            page = await _until_heard(partial(self._pending.list, kind="external", limit=PAGE, cursor=cursor))
            for call in page:
                yield call
            cursor = page.next
            if cursor is None:
                return

    def _take(self, call: PendingCall) -> None:
        mine = call.tool_name in self._tools and call.status in OPEN
        if mine and call.call_id not in self._open and call.call_id not in self._over:
            self._open[call.call_id] = None
            self._queue.put_nowait(call)

    def _drop(self, call: PendingCall) -> None:
        """It has its answer, or needs none any more. What nobody waits for is not gone on with."""
        if call.call_id not in self._open:
            return
        running = self._open[call.call_id]
        if running is None:
            self._forget(call)
        elif call.status in GIVEN_UP:
            self._forget(call)
            running.cancel()

    def _forget(self, call: PendingCall) -> None:
        self._open.pop(call.call_id, None)
        self._over[call.call_id] = None
        while len(self._over) > REMEMBERED:
            self._over.popitem(last=False)

    # ── carrying them out ───────────────────────────────────────────────────────────────────────────────

    async def _work(self) -> None:
        me = asyncio.current_task()
        assert me is not None
        while not self._ending:
            call = await self._queue.get()
            if call.call_id not in self._open:
                continue
            self._busy.add(me)
            try:
                await self._carry_out(call)
            finally:
                self._busy.discard(me)

    async def _carry_out(self, call: PendingCall) -> None:
        function = self._tools[call.tool_name]
        if function.effect == "once" and not await self._begin(call):
            return
        report = _Report()
        running = asyncio.create_task(self._answer(function, call, report))
        self._open[call.call_id] = running
        beating = asyncio.create_task(self._beat(call, report, running))
        try:
            await asyncio.wait({running})
        finally:
            running.cancel()
            beating.cancel()
        if call.call_id in self._open:
            await self._post(call, _result(call, running))
        else:
            logger.info("%s: nobody waits for %s any more, so it was stopped", call.tool_name, call.call_id)

    async def _begin(self, call: PendingCall) -> bool:
        """Take a call that must not be begun twice. While another process is at it, look again now and then."""
        try:
            await _until_heard(partial(self._pending.progress, call.call_id, runner=self._runner))
        except Conflict:
            logger.info("%s: %s is under way elsewhere", call.tool_name, call.call_id)
            asyncio.get_running_loop().call_later(self._heartbeat, self._queue.put_nowait, call)
        except (Gone, NotFound) as error:
            logger.info("%s: %s is not carried out: %s", call.tool_name, call.call_id, error.message)
            self._forget(call)
        except Unauthenticated:
            raise
        except ApiError as error:
            logger.error("%s: %s cannot be begun: %s", call.tool_name, call.call_id, error.message)
            self._forget(call)
        else:
            return True
        return False

    async def _answer(self, function: AnyTool, call: PendingCall, report: _Report) -> Any:
        """What the agent reads, as JSON. Types have code of their own: what that raises is a result like any other."""
        args = function.arguments(call.args, _told(call, report))
        value = to_jsonable_python(await self._invoke(function, args), by_alias=True)
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
        return value

    async def _invoke(self, function: AnyTool, args: Mapping[str, Any]) -> Any:
        if inspect.iscoroutinefunction(function.function):
            return await function.function(**args)
        # A plain function may block; it gets a thread, and what the caller's context holds.
        work = partial(copy_context().run, partial(function.function, **args))
        found = await asyncio.get_running_loop().run_in_executor(self._threads, work)
        return await found if inspect.isawaitable(found) else found

    async def _beat(self, call: PendingCall, report: _Report, running: asyncio.Task[Any]) -> None:
        """Tell the server that the call is being carried out: when the function says so, and now and then anyway."""
        while True:
            said = await report.next(self._heartbeat)
            try:
                await self._pending.progress(call.call_id, **said)
            except (Gone, NotFound):
                self._forget(call)
                running.cancel()
                return
            except ApiError as error:
                # The result matters, and is posted until it is heard; this is only said again.
                logger.debug("%s: the progress of %s was not heard: %s", call.tool_name, call.call_id, error.message)
            await asyncio.sleep(BETWEEN_SECONDS)

    # ── posting what came of it ─────────────────────────────────────────────────────────────────────────

    async def _post(self, call: PendingCall, result: Any) -> None:
        try:
            await self._submit(call, result)
        except Conflict as error:
            logger.warning("%s: %s was answered by somebody else: %s", call.tool_name, call.call_id, error.message)
        except (Gone, NotFound) as error:
            logger.warning("%s: %s came too late: %s", call.tool_name, call.call_id, error.message)
        except Unauthenticated:
            raise  # the token has ended, and with it this
        except Forbidden as error:
            logger.error("%s: %s is not ours to answer: %s", call.tool_name, call.call_id, error.message)
        except BadRequest as error:
            # Too large, or holding what cannot be stored. The agent should not wait for what will never come.
            logger.error("%s: the result of %s was refused: %s", call.tool_name, call.call_id, error.message)
            await self._post_refusal(call, error)
        except ApiError as error:
            logger.error("%s: the result of %s could not be posted: %s", call.tool_name, call.call_id, error.message)
        self._forget(call)

    async def _post_refusal(self, call: PendingCall, error: ApiError) -> None:
        try:
            await self._submit(call, {"error": f"The result could not be taken: {error.message}"})
        except ApiError as again:
            logger.error("%s: that could not be told either: %s", call.tool_name, again.message)

    async def _submit(self, call: PendingCall, result: Any) -> None:
        body = {"callId": call.call_id, "result": result}
        address = path("runs", call.run_id, "tool-results")
        await _until_heard(partial(self._connection.request, "POST", address, body=body, repeatable=True))


class _Report:
    """What a function has said about how far it is. Called from any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._said: dict[str, Any] = {}
        self._changed = asyncio.Event()

    def __call__(self, fraction: float | None, message: str | None) -> None:
        self._loop.call_soon_threadsafe(self._take, {"fraction": fraction, "message": message})

    def _take(self, said: dict[str, Any]) -> None:
        self._said = said
        self._changed.set()

    async def next(self, seconds: float) -> Mapping[str, Any]:
        """What it said last, as soon as that is new, or when so much time has passed."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        self._changed.clear()
        return self._said


def _by_name(functions: Sequence[AnyTool]) -> dict[str, AnyTool]:
    found: dict[str, AnyTool] = {}
    for function in functions:
        if function.name in found:
            raise ValueError(f"Two functions are named {function.name!r}; serve one of them, or name one differently.")
        found[function.name] = function
    if not found:
        raise ValueError("Name the functions to serve, as in serve_tools(fetch_report).")
    return found


def _call_of(event: Event) -> PendingCall:
    return PendingCall.model_validate(event["call"])


def _told(call: PendingCall, report: _Report) -> Call:
    return Call(
        id=call.call_id,
        tool_name=call.tool_name,
        agent_id=call.agent_id,
        run_id=call.run_id,
        space_id=call.space_id,
        created_at=call.created_at,
        report=report,
    )


def _result(call: PendingCall, ended: asyncio.Task[Any]) -> Any:
    """What the agent reads: the value, or what went wrong."""
    error: BaseException | None = asyncio.CancelledError("it was stopped") if ended.cancelled() else ended.exception()
    if error is None:
        return ended.result()
    if isinstance(error, Misfit):
        return {"error": str(error)}
    logger.error("%s: %s failed", call.tool_name, call.call_id, exc_info=error)
    return {"error": _words(error)}


def _words(error: BaseException) -> str:
    said = str(error)
    return f"{type(error).__name__}: {said}"[:LONGEST_MESSAGE] if said else type(error).__name__


async def _until_heard(ask: Callable[[], Awaitable[T]]) -> T:
    """Ask until somebody answers. Raises what the server tells, unless that may pass: it is busy, full or broken."""
    attempt = 0
    while True:
        try:
            return await ask()
        except ApiError as error:
            if not isinstance(error, Unreachable) and error.status not in PASSING and error.status < 500:
                raise
            logger.warning("%s Trying again.", error.message)
        attempt += 1
        await asyncio.sleep(pause(attempt))
