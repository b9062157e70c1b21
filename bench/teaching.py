"""`python -m bench teaching`: does what agents are taught lead to the right call, the right arguments, and silence?

Plays the situations of bench/situations.py in a real office, each in rooms of its own: set up through the API, put
before a model in the request that it really gets, and judged by the journal and the messages. Without `--model` the
model is a script with recorded answers (teaching_answers.json): that shows that the office understands what a capable
model answers, and it keeps what each situation teaches (teaching_requests.json), so that a changed text shows up in
review. With `--model openai:NAME` and a key or a base URL in the environment, a real model answers.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from bench.report import RESULTS
from bench.servers import ROOT, bullpen
from bench.situations import SITUATIONS, Call, Json, Situation

ANSWERS = Path(__file__).with_name("teaching_answers.json")
REQUESTS = Path(__file__).with_name("teaching_requests.json")
SECONDS = 120.0  # for one situation
PAUSE = 0.03
TAUGHT = ("teaching", "outside")  # parts of the system text that are the same for everybody with these tools


@dataclass(frozen=True)
class Verdict:
    situation: str
    wrong: Sequence[str]
    taught: str = ""
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        return not self.wrong


class Api:
    """HTTP as one caller."""

    def __init__(self, url: str, token: str) -> None:
        self.http = httpx.Client(base_url=f"{url}/api", headers={"Authorization": f"Bearer {token}"}, timeout=60)

    def ask(self, method: str, path: str, **more: Any) -> Any:
        answer = self.http.request(method, path, **more)
        if not answer.is_success:
            raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer.json() if answer.content else None

    def get(self, path: str, **params: Any) -> Any:
        return self.ask("GET", path, params=params)

    def post(self, path: str, body: Any = None) -> Any:
        return self.ask("POST", path, json=body or {})

    def items(self, path: str, **params: Any) -> list[Json]:
        found: list[Json] = self.get(path, **params)["items"]
        return found


@contextmanager
def an_office() -> Iterator[tuple[Api, Api, str]]:
    """An office with its owner, Olga, and a member, Husam; and Husam's id."""
    with tempfile.TemporaryDirectory() as folder, bullpen(Path(folder), BULLPEN_TIMEZONE="UTC") as server:
        url = f"http://127.0.0.1:{server.port}"
        made = [sys.executable, "-m", "bullpen", "token", "create", "--name", "Olga", "--owner", "--data", folder]
        token = subprocess.run(made, check=True, capture_output=True, text=True, cwd=ROOT).stdout.strip()
        olga = Api(url, token)
        husam = olga.post("/people", {"name": "Husam"})
        theirs = olga.post("/tokens", {"name": "Husam", "personId": husam["id"]})
        other = Api(url, theirs["token"])
        with closing(olga.http), closing(other.http):
            yield olga, other, husam["id"]


# ── one situation ───────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Scene:
    """A situation set up: its rooms, its agents, and what the placeholders stand for."""

    situation: Situation
    number: int
    olga: Api
    husam: Api
    husam_id: str
    model: Any
    places: dict[str, str] = field(default_factory=dict)
    otto: Api | None = None

    @property
    def ada(self) -> str:
        return f"ada-{self.number}"

    def fill(self, text: str) -> str:
        for name, value in self.places.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    def fill_all(self, value: Any) -> Any:
        return json.loads(self.fill(json.dumps(value)))

    def set_up(self) -> None:
        wanted, number = self.situation, self.number
        tomorrow = datetime.now(UTC).date() + timedelta(days=1)
        self.places |= {"tomorrow": str(tomorrow), "husam": self.husam_id, "number": str(number)}
        self.places |= {"room": f"room-{number}", "other": f"other-{number}"}
        for tool in wanted.defined:
            if not any(each["name"] == tool["name"] for each in self.olga.items("/tools", limit=200)):
                self.olga.post("/tools", tool)
        self._make_agents()
        self._make_rooms()
        self._remember()
        for name, decision in wanted.policies.items():
            self.olga.ask("PUT", "/policies", json={"agentId": self.ada, "toolName": name, "decision": decision})
        self.olga.ask("PATCH", f"/agents/{self.ada}", json={"model": self._model()})

    def _model(self) -> Any:
        if self.model is not None:
            return self.model
        recorded = self.fill_all(json.loads(ANSWERS.read_text())[self.situation.id])
        turns = recorded if recorded and "steps" in recorded[0] else [{"steps": recorded}]
        return {"provider": "script", "turns": turns}

    def _make_agents(self) -> None:
        wanted = self.situation
        quiet = {"provider": "script", "turns": [{"steps": [{"calls": [{"tool": "do_nothing", "args": {}}]}]}]}
        for id, name, tools in ((self.ada, "Ada", wanted.tools), (f"otto-{self.number}", "Otto", ("messaging",))):
            made: Json = {"id": id, "name": name, "model": quiet, "tools": list(tools), "blocks": {}}
            if id == self.ada:
                made |= {"blocks": dict(wanted.blocks), "instructions": "You help in this office. You are brief."}
            self.olga.post("/agents", made)
        token = self.olga.post("/tokens", {"name": "otto", "agentId": f"otto-{self.number}"})
        self.otto = Api(str(self.olga.http.base_url).removesuffix("/api/"), token["token"])

    def _make_rooms(self) -> None:
        wanted = self.situation
        agents = "none" if wanted.by != "otto" else "mention"
        wake = {"people": "mention" if wanted.before else wanted.wake, "agents": agents}
        members = [self.ada, f"otto-{self.number}", self.husam_id]
        room = {"id": self.places["room"], "kind": wanted.kind, "members": members, "wake": wake}
        self.olga.post("/spaces", room | ({"main": True} if wanted.main else {}))
        other: Json = {"people": "none", "agents": "none"}
        self.olga.post("/spaces", {"id": self.places["other"], "members": [self.ada, self.husam_id], "wake": other})
        me = self.olga.get("/me")["id"]
        self.places["dm"] = self.olga.post("/spaces", {"kind": "dm", "members": [me, self.ada]})["id"]
        for by, text in wanted.before:
            place = self.places["other" if by == "other" else "room"]
            (self.husam if by == "husam" else self.olga).post(f"/spaces/{place}/messages", {"text": text})
        if wanted.before and wanted.wake != "mention":
            self.olga.ask("PATCH", f"/spaces/{room['id']}", json={"wake": {**wake, "people": wanted.wake}})

    def _remember(self) -> None:
        wanted, room = self.situation, self.places["room"]
        for passage in wanted.passages:
            self.olga.post(f"/agents/{self.ada}/passages", {"content": passage})
        if wanted.task is not None:
            made = self.olga.post("/tasks", {"spaceId": room, "agentId": self.ada, **wanted.task})
            self.places["task"] = made["id"]
        if wanted.skill is not None:
            skill = {"description": "Who did what", "instructions": "Ask in the room: what did you do on that day?"}
            self.olga.ask("PUT", f"/spaces/{room}/skills/{wanted.skill}", json=skill)

    def play(self) -> None:
        """Say it, and wait until the agent has rested; answer what waits for somebody meanwhile."""
        wanted = self.situation
        body: Json = {"text": self.fill(wanted.said)}
        place = self.places["dm" if wanted.where == "dm" else "room"]
        if wanted.attach is not None:
            given = {"file": (wanted.attach, b"a,1\nb,2\n", "text/csv")}
            file = self.olga.ask("POST", "/files", params={"spaceId": place}, files=given)
            body["attachments"] = [file["id"]]
        speaker = {"olga": self.olga, "husam": self.husam, "otto": self.otto}[wanted.by]
        assert speaker is not None
        speaker.post(f"/spaces/{place}/messages", body)
        until, left = time.monotonic() + SECONDS, list(wanted.answers)
        while time.monotonic() < until:
            waiting = self.olga.items("/pending", limit=200)
            mine = [call for call in waiting if call["agentId"] == self.ada]
            if mine and left:
                by = (
                    self.olga
                    if mine[0]["kind"] == "external"
                    else self.husam
                    if mine[0]["kind"] == "space"
                    else self.olga
                )
                by.post(f"/pending/{mine[0]['callId']}/resolve", {"result": left.pop(0)})
            elif self._has_rested():
                return
            time.sleep(PAUSE)
        raise TimeoutError("the agent did not come to rest")

    def _has_rested(self) -> bool:
        runs = self.runs()
        return len(runs) >= self.situation.runs and all(run.get("finishedAt") for run in runs)

    def runs(self) -> list[Json]:
        return self.olga.items("/runs", agentId=self.ada, limit=200)[::-1]

    # ── judging ─────────────────────────────────────────────────────────────────────────────────────────

    def judge(self) -> list[str]:
        """What is wrong with what the agent did; nothing: it did well."""
        wanted, runs = self.situation, self.runs()
        journal = [entry for run in runs for entry in self.olga.items(f"/runs/{run['id']}/messages", limit=200)]
        called = [entry for entry in journal if entry["type"] == "tool_call_message"]
        failed = {entry["callId"] for entry in journal if entry["type"] == "tool_return_message" and entry["isError"]}
        wrong = [f"run {run['status']}: {run.get('error', '')}" for run in runs if run["status"] != "completed"]
        wrong += [f"no {each.tool} {dict(each.args)}" for each in wanted.calls if not self._made(each, called, failed)]
        wrong += [f"called {e['toolName']}" for e in called if e["toolName"] in wanted.never]
        return [*wrong, *self._judge_words()]

    def _made(self, wish: Call, called: Sequence[Json], failed: set[str]) -> bool:
        return any(
            entry["toolName"] == wish.tool
            and (entry["callId"] in failed) == wish.fails
            and all(re.search(self.fill(p), _text(_argument(entry, name))) for name, p in wish.args.items())
            for entry in called
        )

    def _judge_words(self) -> list[str]:
        wanted = self.situation
        here = self._said(self.places["dm" if wanted.where == "dm" else "room"])
        wrong = []
        if wanted.silent and here:
            wrong.append(f"spoke: {here[0][:60]!r}")
        if wanted.says is not None and not re.search(self.fill(wanted.says), "\n".join(here)):
            wrong.append(f"does not say {wanted.says!r}, but {' / '.join(here)[:80]!r}")
        if len(here) > wanted.most:
            wrong.append(f"{len(here)} messages")
        if wanted.says_in_other is not None:
            other = "\n".join(self._said(self.places["other"]))
            wrong += [] if re.search(wanted.says_in_other, other) else ["nothing in the other room"]
        public = "\n".join(self._said(self.places["room"]) + self._said(self.places["other"]))
        return wrong + [f"told the room: {word}" for word in wanted.keeps if word.lower() in public.lower()]

    def _said(self, space_id: str) -> list[str]:
        said = self.olga.items(f"/spaces/{space_id}/messages", limit=200)
        return [each["text"] for each in said if each["authorId"] == self.ada and each["type"] == "text"]

    def taught(self) -> str:
        """What the agent was taught, as it stood in its first request: texts and tools, without what is its own."""
        seen = self.olga.get(f"/runs/{self.runs()[0]['id']}/steps/1/request")
        texts = [part["text"] for part in seen["parts"] if part["name"] in TAUGHT]
        return "\n\n".join([*texts, *map(_taught_tool, seen["tools"])])


def _argument(entry: Json, name: str) -> Any:
    args = entry.get("args")
    if not isinstance(args, Mapping):
        return ""
    return next((value for key, value in args.items() if _snake(key) == _snake(name)), "")


def _snake(name: str) -> str:
    """Models may write both spellings."""
    return re.sub(r"(?<=[a-z])[A-Z]", lambda found: f"_{found[0].lower()}", name)


def _taught_tool(tool: Json) -> str:
    schema = json.dumps(tool["inputSchema"], ensure_ascii=False)
    return f"{tool['name']} {schema}\n{tool['description']}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# ── all of them ─────────────────────────────────────────────────────────────────────────────────────────────────────


def play_all(situations: Sequence[Situation] = SITUATIONS, model: Any = None) -> list[Verdict]:
    found = []
    with an_office() as (olga, husam, husam_id):
        for number, situation in enumerate(situations, start=1):
            began = time.monotonic()
            scene = Scene(situation, number, olga, husam, husam_id, model)
            try:
                scene.set_up()
                scene.play()
                wrong, taught = scene.judge(), scene.taught()
            except (RuntimeError, TimeoutError, httpx.HTTPError) as error:
                wrong, taught = [str(error)], ""
            found.append(Verdict(situation.id, wrong, taught, time.monotonic() - began))
    return found


def requests(verdicts: Sequence[Verdict]) -> Json:
    """What each situation teaches: every text once, and which of them each situation has."""
    texts: dict[str, str] = {}
    for verdict in verdicts:
        texts.setdefault(verdict.taught, verdict.situation)
    return {
        "texts": {situation: text.split("\n") for text, situation in texts.items()},
        "situations": {verdict.situation: texts[verdict.taught] for verdict in verdicts},
    }


def table(verdicts: Sequence[Verdict]) -> str:
    width = max(len(verdict.situation) for verdict in verdicts)
    lines = [f"{v.situation:<{width}}  {'pass' if v.passed else 'FAIL  ' + '; '.join(v.wrong)}" for v in verdicts]
    groups: dict[str, list[bool]] = {}
    for verdict in verdicts:
        groups.setdefault(verdict.situation.partition("/")[0], []).append(verdict.passed)
    totals = [f"{name:<{width}}  {sum(passed)} of {len(passed)}" for name, passed in groups.items()]
    return "\n".join([*lines, "", *totals, f"{'all':<{width}}  {sum(v.passed for v in verdicts)} of {len(verdicts)}"])


def as_json(verdicts: Sequence[Verdict], model: str | None) -> Json:
    results = [{"situation": v.situation, "passed": v.passed, "wrong": list(v.wrong)} for v in verdicts]
    return {"model": model or "recorded answers", "passed": sum(v.passed for v in verdicts), "results": results}


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench teaching", description="Play 60 situations and judge them.")
    parser.add_argument("--model", help="as in an agent's definition, e.g. openai:NAME; left out: recorded answers")
    parser.add_argument("--only", default="", help="situations whose name begins with this")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--save", action="store_true", help="keep the result in bench/results/")
    parser.add_argument("--accept", action="store_true", help="keep what is taught now, for review")
    args = parser.parse_args(argv)
    chosen = [situation for situation in SITUATIONS if situation.id.startswith(args.only)]
    if not chosen:
        parser.error(f"no situation begins with {args.only!r}")
    verdicts = play_all(chosen, args.model)
    result = as_json(verdicts, args.model)
    print(json.dumps(result, ensure_ascii=False) if args.json else table(verdicts))
    if args.save:
        path = RESULTS / f"teaching-{datetime.now(UTC):%Y-%m-%d}.json"
        path.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n")
        print(f"kept in {os.path.relpath(path)}", file=sys.stderr)
    if args.accept and not args.only:
        REQUESTS.write_text(json.dumps(requests(verdicts), indent=1, ensure_ascii=False) + "\n")
    return 0 if all(verdict.passed for verdict in verdicts) else 1
