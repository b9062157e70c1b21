"""What a server writes to its log: ids of what it is about, one line each, and never a secret."""

from __future__ import annotations

import io
import json
import logging
from pathlib import Path

import httpx
import pytest

from bullpen.observe import logs
from bullpen.observe.redact import MASK, Redactor
from tests.cli.processes import bullpen, output, serving

SECRET = "bp_Zm9yIHlvdXIgZXllcyBvbmx5"


@pytest.mark.proves("A12")
def test_url_tokens_are_refused_and_secrets_never_reach_the_log(data: Path) -> None:
    token = output(data, "token", "create", "--name", "Ruth", "--owner")
    settings = {"BULLPEN_LOG_LEVEL": "debug", "BULLPEN_LOG_FORMAT": "json", "BULLPEN_METRICS_TOKEN": "scrape-me-please"}
    with serving(data, **settings) as server:
        with httpx.Client(base_url=server.url) as http:
            assert http.get(f"/api/me?token={token}").status_code in (400, 401)
            assert http.get(f"/api/me?access_token={token}").status_code in (400, 401)
            answered = http.get("/api/me", headers={"Authorization": f"Bearer {token}"})
            assert answered.status_code == 200
            http.get("/metrics", headers={"Authorization": "Bearer scrape-me-please"})
            http.get(f"/api/spaces/{token}", headers={"Authorization": f"Bearer {SECRET}"})
            http.post("/api/session", json={"name": "Ruth", "password": "correct horse"})
        assert server.stop() == 0
        lines = server.err.so_far()
    text = "\n".join(lines)
    for secret in (token, SECRET, "scrape-me-please", "correct horse"):
        assert secret not in text
    records = [json.loads(line) for line in lines]
    request = next(record for record in records if record.get("request_id") == answered.headers["x-request-id"])
    assert request["message"] == "GET /api/me"
    assert request["status"] == 200
    assert request["ms"] > 0
    assert request["caller_id"].startswith("psn_")
    assert {"at", "level", "logger"} <= set(request)


def test_lines_of_a_run_carry_its_ids(data: Path, tmp_path: Path) -> None:
    output(data, "token", "create", "--name", "Ruth", "--owner")
    (tmp_path / "project.yaml").write_text(
        "agents:\n  - {id: sil, name: Sil, model: 'script:silent'}\n"
        "spaces:\n  - {id: hall, members: [sil], wake: {people: all}}\n"
    )
    output(data, "apply", "project.yaml")
    with serving(data, BULLPEN_LOG_FORMAT="json") as server:
        output(data, "send", "hall", "hello")
        line = json.loads(server.err.wait_for("agent_chose_silence"))
    assert line["agent_id"] == "sil"
    assert line["space_id"] == "hall"
    assert line["run_id"].startswith("run_")
    assert line["thread_id"].startswith("thr_")
    assert "request_id" not in line, "a drive is not part of the request that happened to wake it"


def test_an_unknown_log_format_or_level_is_refused_without_traceback(data: Path) -> None:
    for name, value in (("BULLPEN_LOG_FORMAT", "xml"), ("BULLPEN_LOG_LEVEL", "loud")):
        done = bullpen(data, "serve", **{name: value})
        assert done.returncode == 1
        assert name in done.stderr
        assert "Traceback" not in done.stderr


# ── the redactor and the formats ────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def log() -> tuple[logging.Logger, io.StringIO, Redactor]:
    """A logger whose lines go through a redactor of its own into a text."""
    redactor, out = Redactor(), io.StringIO()
    logger = logging.getLogger("test.of.the.redactor")
    logger.propagate = False
    sink = logging.StreamHandler(out)
    sink.setFormatter(logs.TextFormatter(redactor))
    logger.addHandler(sink)
    return logger, out, redactor


@pytest.mark.parametrize(
    "text, kept",
    [
        (f"GET /api/me?token={SECRET}&x=1 HTTP/1.1", "x=1"),
        ("?a=1&access_token=abcdef#end", "a=1"),
        ("Authorization: Bearer abcdef.ghi", "Authorization"),
        ("authorization=Basic YWJjZGVm", "authorization"),
        ("[(b'host', b'x'), (b'authorization', b'Bearer abcdef')]", "host"),
        ("{'Authorization': 'Bearer abcdef', 'Accept': '*/*'}", "Accept"),
        ("sent Bearer abcdefghij to them", "to them"),
        ("Cookie: bullpen=abcdef; theme=abcdef", "Cookie"),
        ("Set-Cookie: bullpen=abcdef; HttpOnly", "Set-Cookie"),
        ("connect to postgresql://me:abcdef@db:5432/office", "@db:5432/office"),
        ("http://127.0.0.1:8420/#claim=abcdef", "8420"),
        ("https://office.example.com/?invite=abcdef", "office"),
        ('{"name": "Ruth", "password": "abcdef"}', "Ruth"),
        (f"unknown token {SECRET}.", "unknown token"),
    ],
)
def test_secret_shaped_text_is_masked_and_the_rest_is_kept(text: str, kept: str) -> None:
    clean = Redactor().clean_line(text)
    assert MASK in clean
    assert "abcdef" not in clean
    assert SECRET not in clean
    assert kept in clean


@pytest.mark.parametrize(
    "text", ["GET /api/spaces 200", "the token was revoked", "key: 5, code 404", "12:30 a@b.c", "bearer of bad news"]
)
def test_innocent_lines_are_left_alone(text: str) -> None:
    assert Redactor().clean_line(text) == text


def test_values_that_were_added_are_masked_wherever_they_stand(
    log: tuple[logging.Logger, io.StringIO, Redactor],
) -> None:
    logger, out, redactor = log
    for value in ("hunter2!", "hunter2!x", "abc", ""):
        redactor.add(value)
    try:
        raise ValueError("the password hunter2!x is wrong")
    except ValueError:
        logger.exception("could not sign in with %s", "hunter2!", extra={"tried": "hunter2!"})
    text = out.getvalue()
    assert "hunter2" not in text
    assert text.count(MASK) == 4  # in the message, the field, and twice in the traceback
    assert "Traceback" in text
    logger.warning("abc is too short to be a secret")
    assert "abc is" in out.getvalue()
    redactor.forget("hunter2!")
    logger.warning("hunter2! is public now")
    assert "hunter2! is" in out.getvalue()


def test_json_lines_are_whole_whatever_they_hold() -> None:
    formatter = logs.JsonFormatter(Redactor())
    with logs.alone_about(run_id="run_1"), logs.about(agent_id="ada", space_id=None):
        record = logging.LogRecord("x", logging.WARNING, __file__, 1, "a\nb %s %s", ("\ud800", b"\xff"), None)
        line = json.loads(formatter.format(record))
    assert line["message"].startswith("a\nb ")
    assert (line["run_id"], line["agent_id"], line["level"]) == ("run_1", "ada", "warning")
    assert "space_id" not in line
    assert line["at"].endswith("Z")
