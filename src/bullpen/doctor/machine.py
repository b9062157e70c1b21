"""The machine: Python, packages, the data folder and its disk, the port, files, backups."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import resource
import shutil
import socket
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bullpen.doctor.types import Finding, ok, problem, warning
from bullpen.settings import Settings
from bullpen.storage.lock import holder

LITTLE_BYTES, TOO_LITTLE_BYTES = 1 << 30, 100 << 20
SLOW_SYNC_SECONDS = 0.1
FEW_FILES = 1024
OLD_BACKUP_DAYS = 7
OLDEST_PYTHON = (3, 11)
NAME_ANOTHER = "Name another folder with --data or BULLPEN_DATA."


def examine(settings: Settings) -> Iterator[Finding]:
    yield python()
    yield from packages(settings)
    yield files()
    folder = settings.data.absolute()
    if not folder.exists():
        yield new_folder(folder)
    else:
        yield folder_is_ours(folder)
        yield room(folder)
        yield keeps(folder)
        yield backups(settings)
    yield port(settings)


def python() -> Finding:
    if sys.version_info < OLDEST_PYTHON:
        return problem("python", f"This is Python {platform.python_version()}.", "Install Python 3.11 or newer.")
    return ok("python", f"Python {platform.python_version()} on {platform.system()} {platform.machine()}.")


def packages(settings: Settings) -> Iterator[Finding]:
    needed = ("asyncpg", "pgqueuer") if settings.on_postgres else ()
    if missing := [name for name in needed if importlib.util.find_spec(name) is None]:
        yield problem(
            "packages",
            f"PostgreSQL needs {' and '.join(missing)}.",
            "Install the extra: `pip install bullpen[postgres]`.",
        )
    if importlib.util.find_spec("uvloop") is None and sys.platform != "win32":
        yield warning("packages", "uvloop is not installed, so the server is slower.", "`pip install uvloop`.")
    there = [name for name in ("uvloop", "asyncpg", "pgqueuer") if importlib.util.find_spec(name) is not None]
    shown = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in there)
    yield ok("packages", f"Optional packages: {shown or 'none'}.")


def files() -> Finding:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < FEW_FILES:
        return warning(
            "files",
            f"Only {soft} files may be open, and each connection is one.",
            "Raise the limit: `ulimit -n 65536`.",
        )
    return ok("files", f"{'Any number of' if soft == resource.RLIM_INFINITY else soft} files may be open.")


def new_folder(folder: Path) -> Finding:
    if reason := why_not_made(folder):
        return problem("folder", f"{folder} is not there, and cannot be made in {reason}.", NAME_ANOTHER)
    return warning("folder", f"{folder} is not there yet.", "`bullpen serve` makes it; or set BULLPEN_DATA.")


def why_not_made(folder: Path) -> str | None:
    """Why a folder that is not there cannot be made: where it would be, and what the system says. None if it can."""
    above = next(each for each in (folder, *folder.parents) if each.exists())
    try:
        Path(tempfile.mkdtemp(dir=above)).rmdir()
    except OSError as error:
        return f"{above}: {error.strerror}"
    return None


def folder_is_ours(folder: Path) -> Finding:
    found = folder.stat()
    if not stat.S_ISDIR(found.st_mode):
        return problem("folder", f"{folder} is not a folder.", "Move it away, or set BULLPEN_DATA.")
    if found.st_uid != os.getuid():
        return problem(
            "folder",
            f"{folder} belongs to user {found.st_uid}, and this is user {os.getuid()}.",
            "Run this as the user who runs the server: files made by another would be closed to it.",
        )
    if found.st_mode & 0o077:
        return problem(
            "folder", f"Other users may look into {folder} (mode {found.st_mode & 0o777:o}).", f"`chmod 700 {folder}`."
        )
    return ok("folder", f"{folder} is ours alone (mode 700).")


def room(folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free
    shown = f"{free / (1 << 30):.1f} GB are free on the disk of {folder}."
    if free < TOO_LITTLE_BYTES:
        return problem("disk", shown, "Make room now: on a full disk messages are refused and agents wait.")
    if free < LITTLE_BYTES:
        return warning("disk", shown, "Make room, or shorten what is kept (retention).")
    return ok("disk", shown)


def keeps(folder: Path) -> Finding:
    """Does the disk keep what it is told to keep, and how long does that take? Every commit waits for it."""
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"x" * 4096)
            probe.flush()
            began = time.perf_counter()
            os.fsync(probe.fileno())
            seconds = time.perf_counter() - began
    except OSError as error:
        return problem(
            "fsync",
            f"{folder} cannot be written: {error.strerror}.",
            "Look at the disk: is it full, read-only or failing?",
        )
    shown = f"The disk keeps a change in {seconds * 1000:.1f} ms."
    if seconds > SLOW_SYNC_SECONDS:
        return warning("fsync", shown, "Every message waits this long. Put the data folder on a local, faster disk.")
    return ok("fsync", shown)


def backups(settings: Settings) -> Finding:
    found = []
    if settings.backups.is_dir():
        found = [file for file in settings.backups.iterdir() if file.is_file() and file.suffix != ".partial"]
    if not found:
        return warning(
            "backups",
            f"There is no backup in {settings.backups}.",
            "`bullpen backup FILE` makes one while the server runs. If yours are elsewhere, all is well.",
        )
    newest = max(found, key=lambda file: file.stat().st_mtime)
    days = (time.time() - newest.stat().st_mtime) / 86_400
    shown = f"The newest backup is {newest.name}, {days:.0f} days old."
    if days > OLD_BACKUP_DAYS:
        return warning("backups", shown, "`bullpen backup FILE`, from a timer: see docs/guide.")
    return ok("backups", shown)


def port(settings: Settings) -> Finding:
    where = f"{settings.host}:{settings.port}"
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except PermissionError:
            return problem("port", f"This user may not listen on {where}.", "Choose a port above 1023 with --port.")
        except OSError as error:
            if server_runs(settings):
                return ok("port", f"{where} is in use, and a server of ours runs.")
            return problem("port", f"Cannot listen on {where}: {error.strerror}.", "Choose another with --port.")
    return ok("port", f"{where} is free.")


def server_runs(settings: Settings) -> bool:
    """Does somebody hold the folder, or answer at its socket?"""
    if holder(settings.data) is not None:
        return True
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knock:
        knock.settimeout(2)
        try:
            knock.connect(str(settings.socket_path))
        except OSError:
            return False
    return True
