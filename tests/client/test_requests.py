"""What the SDK promises about a request whose connection is lost, and about errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bullpen import errors as server_errors
from bullpen.client import (
    AlreadyExists,
    ApiError,
    Bullpen,
    Conflict,
    Invalid,
    NotFound,
    ServerError,
    TooManyRequests,
    Unreachable,
)
from bullpen.wire.errors import rebuild
from tests.client.scripted_server import answer, scripted

FILE = {
    "id": "fil_1",
    "name": "note.txt",
    "size": 9,
    "type": "text/plain",
    "sha256": "0",
    "ownerId": "psn_1",
    "createdAt": "2026-11-15T12:00:00Z",
}
MESSAGE = {
    "id": "msg_1",
    "spaceId": "general",
    "seq": 1,
    "authorId": "psn_1",
    "authorKind": "person",
    "text": "hello",
    "createdAt": "2026-11-15T12:00:00Z",
}


async def test_an_unanswered_message_is_resent_with_the_same_client_id() -> None:
    async with scripted(None, None, answer(201, MESSAGE)) as server, Bullpen(server.url, "t") as bp:
        message = await bp.spaces("general").send("hello")
    assert message.id == "msg_1"
    bodies = [request.json for request in server.requests]
    assert len(bodies) == 3
    assert bodies[0]["clientMessageId"]
    assert bodies[0] == bodies[1] == bodies[2]


async def test_client_message_ids_are_unique_unless_the_caller_sets_them() -> None:
    acts = [answer(201, MESSAGE)] * 4
    async with scripted(*acts) as server, Bullpen(server.url, "t") as bp:
        for _ in range(2):
            await bp.spaces("general").send("hello")
            await bp.spaces("general").send("hello", client_message_id="mine", reply_to="msg_0")
    names = [request.json["clientMessageId"] for request in server.requests]
    assert names[0] != names[2]
    assert names[1] == names[3] == "mine"
    assert server.requests[1].json["replyTo"] == "msg_0"


async def test_an_unanswered_upload_is_resent_whole_under_its_key(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("all of it")
    async with scripted(None, None, answer(201, FILE)) as server, Bullpen(server.url, "t") as bp:
        assert (await bp.files.upload(tmp_path / "note.txt")).id == "fil_1"
    assert len({request.line for request in server.requests}) == 1
    assert "clientFileId=" in server.requests[0].line
    assert [b"all of it" in request.body for request in server.requests] == [True] * 3


async def test_an_unanswered_invocation_is_resent_under_its_key() -> None:
    begun = {"messageId": "msg_1", "spaceId": "hall", "name": "standup", "agentId": "ada", "threadId": "thr_1"}
    async with scripted(None, answer(202, begun)) as server, Bullpen(server.url, "t") as bp:
        assert (await bp.skills.invoke("hall", "standup")).thread_id == "thr_1"
    first, second = (request.json for request in server.requests)
    assert first["clientMessageId"]
    assert first == second


async def test_a_request_unsafe_to_repeat_is_not_retried() -> None:
    async with scripted(None, answer(201, {})) as server, Bullpen(server.url, "t") as bp:
        with pytest.raises(Unreachable, match="No server answers"):
            await bp.agents.create(name="Ada", model="script:x")
    assert len(server.requests) == 1


async def test_a_busy_server_is_asked_again_when_it_said_to() -> None:
    busy = answer(429, {"error": {"code": "too_many_requests", "message": "slowly"}}, "Retry-After: 0")
    async with scripted(busy, answer(200, {"items": []})) as server, Bullpen(server.url, "t") as bp:
        assert len(await bp.spaces.list()) == 0
    assert len(server.requests) == 2


async def test_retrying_stops_when_patience_runs_out() -> None:
    busy = answer(429, {"error": {"code": "too_many_requests", "message": "slowly"}}, "Retry-After: 60")
    async with scripted(busy) as server, Bullpen(server.url, "t", patience=1) as bp:
        with pytest.raises(TooManyRequests) as caught:
            await bp.spaces.list()
    assert caught.value.retry_after == 60


async def test_ids_are_escaped_in_request_paths() -> None:
    refusal = answer(404, {"error": {"code": "not_found", "message": "no"}})
    async with scripted(refusal) as server, Bullpen(server.url, "t") as bp:
        with pytest.raises(NotFound):
            await bp.agents.get("../tokens?x=#y")
    assert server.requests[0].line == "GET /api/agents/..%2Ftokens%3Fx%3D%23y HTTP/1.1"


async def test_the_token_is_sent_and_environment_proxies_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    async with scripted(answer(200, {"items": [], "next": "more"})) as server, Bullpen(server.url, "secret") as bp:
        page = await bp.runs.list(agent="ada", status="failed")
    assert page.next == "more"
    assert server.requests[0].headers["authorization"] == "bearer secret"
    assert server.requests[0].line == "GET /api/runs?agentId=ada&status=failed HTTP/1.1"


async def test_half_a_surrogate_pair_is_refused_before_it_is_sent() -> None:
    async with scripted() as server, Bullpen(server.url, "t") as bp:
        with pytest.raises(Invalid, match="surrogate"):
            await bp.spaces("general").send("\ud800")
    assert server.requests == []


# ── errors ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def descendants(kind: type[server_errors.RequestError]) -> set[type[server_errors.RequestError]]:
    return {kind}.union(*(descendants(child) for child in kind.__subclasses__()))


def test_every_request_error_is_rebuilt_as_its_own_class() -> None:
    rebuilt = {
        kind: rebuild(400, {"error": {"code": kind.code, "message": "x"}})
        for kind in descendants(server_errors.RequestError)
    }
    names = {kind.__name__: type(error).__name__ for kind, error in rebuilt.items()}
    assert names.pop("RequestError") == "BadRequest"
    assert all(ours == theirs for ours, theirs in names.items()), names


@pytest.mark.parametrize(
    "status, body, kind",
    [
        (404, {"error": {"code": "not_found", "message": "x"}}, NotFound),
        (409, {"error": {"code": "already_exists", "message": "x"}}, AlreadyExists),
        (409, {"error": {"code": "from_the_future", "message": "x"}}, Conflict),
        (502, "<html>Bad Gateway</html>", ServerError),
        (422, {"error": ["not", "our", "shape"]}, Invalid),
        (418, None, ApiError),
    ],
)
def test_an_unknown_error_becomes_the_class_of_its_status(status: int, body: object, kind: type[ApiError]) -> None:
    error = rebuild(status, body)
    assert isinstance(error, kind)
    assert error.status == status
    assert error.message


def test_a_rebuilt_error_keeps_its_code_and_fields() -> None:
    error = rebuild(422, {"error": {"code": "odd", "message": "No.", "fields": {"text": "is empty"}}})
    assert (error.code, error.message, error.fields) == ("odd", "No.", {"text": "is empty"})


# ── the package ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_sdk_does_not_bring_the_server_along() -> None:
    code = "import sys, bullpen.client; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    loaded = set(run.stdout.split())
    assert {name.split(".")[1] for name in loaded if name.startswith("bullpen.")} == {"client", "define", "wire"}
    assert not loaded & {"fastapi", "sqlalchemy", "uvicorn"}
