"""What is asked to end ends, also if it misses the first request."""

from __future__ import annotations

import asyncio

from bullpen.ending import end


async def test_a_loop_that_loses_a_cancellation_is_cancelled_again() -> None:
    lost = 0

    async def deaf() -> None:
        nonlocal lost
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                if lost == 2:
                    raise
                lost += 1

    async def failing() -> None:
        raise ValueError("nobody asks")

    tasks = [asyncio.create_task(deaf()), asyncio.create_task(failing())]
    await asyncio.sleep(0)
    async with asyncio.timeout(20):
        await end(*tasks)
    assert (lost, all(task.done() for task in tasks)) == (2, True)
