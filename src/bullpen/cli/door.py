"""The door: how a command reaches the server.

With BULLPEN_TOKEN, HTTP to BULLPEN_URL. Without, the socket that a running server keeps in the data folder: whoever
may open that file is the owner. If no server runs, commands that act on the data folder open it themselves and
speak the same API in this process. Everything that can go wrong on the way becomes a CommandFailed here, so that
commands only say what they want.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx

from bullpen.cli.failures import CommandFailed
from bullpen.client import ApiError, Bullpen, Unauthenticated, Unreachable
from bullpen.settings import Settings

# Somebody waits at a terminal: enough for a server that is just restarting, no more.
PATIENCE = 1.0
# The host of requests that do not travel by TCP.
LOCAL_URL = "http://localhost"


@asynccontextmanager
async def to_server(settings: Settings) -> AsyncIterator[Bullpen]:
    """A server that runs somewhere."""
    if settings.token:
        async with _over_http(settings) as bp:
            yield bp
    elif _listens(settings.socket_path):
        async with _over_socket(settings) as bp:
            yield bp
    else:
        raise CommandFailed(
            f"No server runs on {settings.data}, and BULLPEN_TOKEN is not set. "
            "Start one with `bullpen serve`, or set BULLPEN_URL and BULLPEN_TOKEN to use one elsewhere."
        )


@asynccontextmanager
async def to_folder(settings: Settings) -> AsyncIterator[Bullpen]:
    """The data folder: through the server that holds it, or opened here."""
    if _listens(settings.socket_path):
        async with _over_socket(settings) as bp:
            yield bp
    else:
        async with _in_process(settings) as bp:
            yield bp


def is_served(settings: Settings) -> bool:
    """Is there a server to talk to: one that a token is for, or one that runs on the folder?"""
    return bool(settings.token) or _listens(settings.socket_path)


@asynccontextmanager
async def to_server_or_folder(settings: Settings) -> AsyncIterator[Bullpen]:
    async with to_server(settings) if settings.token else to_folder(settings) as bp:
        yield bp


@asynccontextmanager
async def _over_http(settings: Settings) -> AsyncIterator[Bullpen]:
    _refuse_odd_address(settings)
    with _told(f"at {settings.url}", "Start one with `bullpen serve`, or set BULLPEN_URL to where it runs."):
        async with Bullpen(settings.url, settings.token, patience=PATIENCE) as bp:
            yield bp


def _refuse_odd_address(settings: Settings) -> None:
    try:
        url = httpx.URL(settings.url)
        usable = url.scheme in ("http", "https") and bool(url.host) and (url.port or 0) <= 65_535
    except httpx.InvalidURL:
        usable = False
    if not usable:
        raise CommandFailed(f"BULLPEN_URL should look like http://127.0.0.1:8420, not {settings.url!r}.")
    if not (settings.token.isascii() and settings.token.isprintable()):
        raise CommandFailed("BULLPEN_TOKEN holds characters that no token has. Copy it again, alone.")


@asynccontextmanager
async def _over_socket(settings: Settings) -> AsyncIterator[Bullpen]:
    with _told(f"on {settings.data}", "It has just stopped: start it again with `bullpen serve`."):
        transport = httpx.AsyncHTTPTransport(uds=str(settings.socket_path))
        async with Bullpen(LOCAL_URL, transport=transport, patience=PATIENCE) as bp:
            yield bp


@asynccontextmanager
async def _in_process(settings: Settings) -> AsyncIterator[Bullpen]:
    from bullpen.app import office  # the whole server; only commands that need it pay for it

    async with office(settings, drive=False) as opened:
        with _told(f"on {settings.data}", "Try again."):
            transport = httpx.ASGITransport(app=opened.local_api)
            async with Bullpen(LOCAL_URL, transport=transport, patience=PATIENCE) as bp:
                yield bp


@contextmanager
def _told(where: str, advice: str) -> Iterator[None]:
    try:
        yield
    except Unreachable:
        raise CommandFailed(f"No server answers {where}. {advice}") from None
    except Unauthenticated:
        raise CommandFailed(
            f"The server {where} does not accept this BULLPEN_TOKEN. "
            "Make one with `bullpen token create --name NAME --owner` where the server runs."
        ) from None
    except ApiError as error:
        raise CommandFailed(error.message, fields=error.fields) from None


# ── the socket ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _listens(path: Path) -> bool:
    """Does somebody answer at the socket? A file alone says nothing: a killed server leaves it behind."""
    if not path.is_socket():
        return False
    with socket.socket(socket.AF_UNIX) as knock:
        knock.settimeout(5)
        try:
            knock.connect(str(path))
        except PermissionError:
            raise CommandFailed(
                f"{path} belongs to somebody else. Run this as the user who runs the server, or set BULLPEN_TOKEN."
            ) from None
        except OSError:
            return False
    return True
