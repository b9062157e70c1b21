"""People, passwords, invites and tokens from the command line, on a server that was never claimed by a browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.cli.processes import Process, bullpen, output, serving

PASSWORD = "correct horse battery"


@pytest.fixture
def server(data: Path) -> Iterator[Process]:
    with serving(data) as process:
        yield process


def test_the_printed_link_claims_the_office_and_commands_add_people(data: Path, server: Process) -> None:
    url, _, code = server.wait_for("#claim=").split()[-1].partition("/#claim=")
    with httpx.Client(base_url=url) as olga:
        assert olga.get("/api/spaces").status_code == 503
        assert olga.post("/api/setup", json={"code": code, "name": "Olga", "password": PASSWORD}).status_code == 201
        assert olga.get("/api/me").json()["role"] == "owner"
        link = output(data, "invite", "--role", "admin").strip()
        assert link.startswith(f"{url}/#invite=")
        with httpx.Client(base_url=url) as anna:
            body = {"code": link.split("=")[-1], "name": "Anna", "password": PASSWORD}
            assert anna.post("/api/invites/accept", json=body).status_code == 201
        people = json.loads(output(data, "people", "--json"))["items"]
        assert {(person["name"], person["role"]) for person in people} == {("Olga", "owner"), ("Anna", "admin")}

        done = bullpen(data, "password", "anna", stdin="a brand new one\n")
        assert done.returncode == 0, done.stderr
        assert "a brand new one" not in done.stdout + done.stderr
        for password, status in ((PASSWORD, 401), ("a brand new one", 201)):
            assert olga.post("/api/session", json={"name": "anna", "password": password}).status_code == status


def test_a_token_is_listed_and_ended(data: Path) -> None:
    value = output(data, "token", "create", "--name", "Olga", "--owner")
    output(data, "token", "create", "--name", "nightly build", "--scopes", "read", "--days", "3")
    tokens = {token["name"]: token for token in json.loads(output(data, "token", "list", "--json"))["items"]}
    assert tokens["nightly build"]["scopes"] == ["read"]
    assert tokens["nightly build"]["expiresAt"]
    assert value.strip() not in output(data, "token", "list")
    output(data, "token", "revoke", tokens["nightly build"]["id"])
    assert "nightly build" not in output(data, "token", "list")
    again = bullpen(data, "token", "revoke", tokens["nightly build"]["id"])
    assert again.returncode == 1
    assert "There is no token" in again.stderr


def test_an_unknown_persons_password_points_to_the_people_list(data: Path) -> None:
    output(data, "token", "create", "--name", "Olga", "--owner")
    done = bullpen(data, "password", "nemo", stdin="whatever it is\n")
    assert done.returncode == 1
    assert "Nobody here is called 'nemo'. `bullpen people` lists who there is." in done.stderr
