"""Whatever leaves this process goes through bullpen/net. No other module has the means to."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.architecture import source
from tests.architecture.source import Module

# Modules that can open a connection to somewhere, by what they are imported as.
MEANS = frozenset(
    {
        "aiohttp",
        "aiohappyeyeballs",
        "asyncpg",
        "ftplib",
        "h11",
        "http.client",
        "httpcore",
        "httptools",
        "httpx",
        "httpx2",
        "imaplib",
        "paramiko",
        "poplib",
        "pycurl",
        "requests",
        "smtplib",
        "socket",
        "ssl",
        "telnetlib",
        "urllib.request",
        "urllib3",
        "websockets",
        "xmlrpc",
        "yarl",
    }
)
# Calls on an event loop or a stream that do the same without an import of their own.
CALLS = frozenset(
    {"create_connection", "open_connection", "open_unix_connection", "create_unix_connection", "sock_connect"}
    | {"create_datagram_endpoint", "getaddrinfo", "urlopen", "urlretrieve"}
)
# Who may all the same, and why. An exception is for these means only; anything new is for bullpen/net.
EXCEPTIONS: dict[str, set[str]] = {
    "app.py": {"socket"},  # listens
    "cli/door.py": {"httpx", "socket"},  # a command talks to its own server
    "cli/doctor.py": {"httpx"},
    "client/client.py": {"httpx"},  # the SDK: another process, somebody else's
    "client/connection.py": {"httpx"},
    "client/follow.py": {"httpx"},
    "doctor/machine.py": {"socket"},  # looks whether a port is free
    "llm/others.py": {"httpx", "httpx2"},  # gives a library a transport that asks through net; Groq wants the older
    "storage/migrations/__init__.py": {"asyncpg"},  # the database
    "storage/postgres.py": {"asyncpg"},
}


def means(module: Module) -> Iterator[tuple[str, str]]:
    """What a module could reach the outside with, and where it gets it."""
    for name, node in source.imported_names(module.tree):
        words = name.split(".")
        for length in range(1, len(words) + 1):
            if (mean := ".".join(words[:length])) in MEANS:
                yield mean, f"{module.at(node)} imports {name}"
    for name, call in source.calls(module):
        if name in CALLS:
            yield name, f"{module.at(call)} calls {name}"
        for word in call.args if "import" in name else ():
            if isinstance(word, ast.Constant) and word.value in MEANS:
                yield str(word.value), f"{module.at(call)} imports {word.value}"


def served(module: Module) -> bool:
    """The server itself; what we ship for tests talks to servers of its own."""
    return module.package not in ("net", "testing")


def test_no_other_module_can_open_a_socket() -> None:
    wrong = [
        where
        for module in source.modules().values()
        if served(module)
        for mean, where in means(module)
        if mean not in EXCEPTIONS.get(module.file, ())
    ]
    assert not wrong, "ask through bullpen/net:\n" + "\n".join(dict.fromkeys(wrong))


def test_every_exception_is_still_needed() -> None:
    used = {(module.file, mean) for module in source.modules().values() for mean, _ in means(module)}
    idle = [f"{file}: {mean}" for file, listed in EXCEPTIONS.items() for mean in listed if (file, mean) not in used]
    assert not idle, "no longer needed: " + ", ".join(idle)


def test_in_net_itself_one_function_connects_and_one_resolves() -> None:
    found = [
        (module.file, name)
        for module in source.modules().values()
        if module.package == "net"
        for name, _ in source.calls(module)
        if name in CALLS | {"connect", "connect_ex"}
    ]
    assert sorted(found) == [
        ("net/connections.py", "create_connection"),  # over the socket that was opened below
        ("net/dns.py", "getaddrinfo"),
        ("net/sockets.py", "sock_connect"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "import httpx",
        "from urllib import request",
        "import urllib.request as u",
        "from aiohttp import ClientSession",
        "async def f():\n    import socket",
        "loop.create_connection(p, 'h', 1)",
        "asyncio.open_connection('h', 1)",
        "importlib.import_module('requests')",
        "from http.client import HTTPConnection",
    ],
)
def test_every_way_to_reach_the_network_is_recognised(text: str) -> None:
    made = Module("bullpen.tools.new", source.SOURCE / "bullpen" / "tools" / "new.py", ast.parse(text))
    assert list(means(made))
