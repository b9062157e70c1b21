"""A gateway tool, and the servers that it may reach."""

from __future__ import annotations

from typing import Any

from tests.driver import Driver
from tests.net.servers import World
from tests.path.scripts import Json

SCHEMA: Json = {"type": "object", "properties": {"q": {"type": "string"}, "n": {"type": "integer"}}, "required": ["q"]}


def gateway(name: str = "fetchWeather", **more: Any) -> Json:
    execution = {"url": "http://api.example.com/current", "method": "GET", **more.pop("execution", {})}
    base = {"name": name, "description": "The weather", "inputSchema": SCHEMA, "executionType": "gateway"}
    return {**base, "execution": execution, **more}


def connect(office: Driver, outer: World) -> None:
    """Let the office reach these servers and nothing else."""
    office.office._egress = outer.egress
