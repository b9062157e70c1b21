"""The fork server of this folder: one process that has everything imported and used once, and then forks.

Each child is a process of its own, which may die in what it does. What children can do is in the `*_children.py` files.
"""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

# Before the first fork, so that no child pays for it.
import cryptography.hazmat.primitives.kdf.hkdf  # noqa: F401

import bullpen.engine.pgqueuer  # noqa: F401
from bullpen import app
from bullpen.llm import prices
from bullpen.storage import Store, migrations
from bullpen.testing import alarms, forks, serving
from bullpen.testing.crash import prepare
from bullpen.testing.forks import Report
from tests.durability import (
    approval_children,
    bridge_children,
    check_children,
    file_children,
    holder_children,
    model_children,
    rotation_children,
    sending_children,
    story_children,
    upkeep_children,
)
from tests.durability.chapters import CHAPTERS


def serve(report: Report, **settings: Any) -> None:
    _say_nothing()
    serving.serve(report, **settings)


def work(report: Report, **settings: Any) -> None:
    _say_nothing()
    serving.worker(report, **settings)


def _say_nothing() -> None:
    """What servers print when they are ready is of no interest in a storm."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.close(quiet)


TARGETS: dict[str, forks.Target] = {
    "tell": story_children.tell,
    "wait": story_children.wait,
    "act": story_children.act,
    "approve": approval_children.approve,
    "bridge": bridge_children.bridge,
    "check": check_children.check,
    "check_late": check_children.check_late,
    "think": model_children.think,
    "send": sending_children.send,
    "hold": holder_children.hold,
    "upload": file_children.upload,
    "backup": upkeep_children.write_backup,
    "restore": upkeep_children.read_backup,
    "erase": upkeep_children.erase,
    "rotate": rotation_children.rotate,
    "fire": alarms.fire,
    "serve": serve,
    "worker": work,
}


# ── before the first fork ───────────────────────────────────────────────────────────────────────────────────────────


def warm_up() -> None:
    """Tell the story once in this process: what is made at first use is then made for all children."""
    prepare()
    _share_prices()
    _skip_needless_migrations()
    with tempfile.TemporaryDirectory() as folder:
        for number, (target, what) in enumerate(
            (
                ("tell", {"chapters": list(CHAPTERS)}),
                ("approve", {"agents": ["keeper", "patient-putter"]}),
                ("think", {}),
                ("send", {}),
                ("bridge", {}),
            )
        ):
            data = Path(folder) / str(number)
            data.mkdir()
            TARGETS[target](lambda _: None, url=f"sqlite:///{data}/bullpen.db", data=str(data), **what)
    gc.freeze()


def _share_prices() -> None:
    """To read the list that comes with Bullpen takes longer than most lives. No child has a list of its own."""
    packaged = prices.load()
    vars(app)["prices"] = SimpleNamespace(load=lambda _: packaged)


def _skip_needless_migrations() -> None:
    """Databases on PostgreSQL are copies of a migrated one, and to check the queue's tables takes 50 ms of CPU."""

    async def migrate(store: Store, backups: Path | None) -> Sequence[migrations.Migration]:
        if store.shared and await store.read(migrations.is_current):
            return []
        return await migrations.migrate(store, backups)

    vars(app)["migrations"] = SimpleNamespace(migrate=migrate)


if __name__ == "__main__":
    warm_up()
    forks.serve(TARGETS)
