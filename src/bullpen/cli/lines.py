"""One line for each event, for people who watch a terminal.

Remembers names and the beginnings of recent messages, so that "reacted to" can say to what. What a person in the
room would not notice (typing, partial text, the start of a run) has no line. A switch on the type is a table; a test
says that it names every event there is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from bullpen.cli import show
from bullpen.client import Event
from bullpen.wire import Message, Space, cards

REMEMBERED = 1_000
WIDEST = 300  # characters of a card
# What the server notes when an agent was silent and did not say why.
NO_REASON = "agent_chose_silence"
# Tools whose effect has a line of its own.
ABANDONED = "abandoned"  # a call whose answer was discarded while it was written
SEEN_ANYWAY = frozenset({"send_message", "react_to_message", "do_nothing", "skip"})


class Lines:
    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self._texts: OrderedDict[str, str] = OrderedDict()

    def learn(self, space: Space) -> None:
        self.names.update({member.id: member.name for member in space.member_details})

    def render(self, event: Event) -> str | None:
        """The line, or None when there is nothing to show. An event from a newer server is named, not hidden."""
        self._remember(event)
        words = RENDER.get(event.type, _unknown)(self, event)
        if words is None:
            return None
        where = f"{show.one_line(event.space_id)}  " if event.space_id else ""
        return f"{show.clock(event.at)}  {where}{words}"

    def name(self, id: Any) -> str:
        return show.one_line(self.names.get(str(id), str(id)))

    def text(self, message_id: Any) -> str:
        known = self._texts.get(str(message_id))
        return "a message" if known is None else f"“{show.one_line(known, 40)}”"

    def _remember(self, event: Event) -> None:
        message = event.get("message")
        if isinstance(message, Mapping) and isinstance(message.get("text"), str):
            self._texts[str(message.get("id"))] = message["text"]
            while len(self._texts) > REMEMBERED:
                self._texts.popitem(last=False)
        for noun in (event.get("member"), event.get("agent")):
            if isinstance(noun, Mapping) and isinstance(noun.get("name"), str):
                self.names[str(noun.get("id"))] = noun["name"]


def _card(lines: Lines, message: Message) -> str:
    """A call that shows in the room, and how far it is."""
    said = cards.read(
        cards.keep(message.metadata), message.status, lambda id: lines.names.get(id, id), lambda at: show.clock(at)[:5]
    )
    return f"{lines.name(message.author_id)}: {show.one_line(said, WIDEST)}"


def _message(lines: Lines, event: Event) -> str | None:
    message = event.message
    if message is None:
        return None
    if message.type == "tool":
        return _card(lines, message)
    shown = [f"[file: {show.one_line(file.name)}, {file.id}]" for file in message.attachments]
    text = show.plain("\n".join([message.text, *shown] if message.text else shown), indent=" " * 10)
    return f"— {text}" if message.author_kind == "system" else f"{lines.name(message.author_id)}: {text}"


def _edited(lines: Lines, event: Event) -> str | None:
    message = event.message
    if message is None:
        return None
    if message.type == "tool":
        return _card(lines, message)
    return f"{lines.name(message.author_id)} edited: {show.plain(message.text, indent=' ' * 10)}"


def _deleted(lines: Lines, event: Event) -> str | None:
    message = event.message
    return "a message was deleted" if message is None else f"{lines.name(message.author_id)} deleted a message"


def _reacted(lines: Lines, event: Event) -> str:
    reaction = event.get("reaction") or {}
    emoji = show.one_line(str(reaction.get("emoji", "")))
    return f"{lines.name(reaction.get('memberId'))} reacted {emoji} to {lines.text(reaction.get('messageId'))}"


def _unreacted(lines: Lines, event: Event) -> str:
    reaction = event.get("reaction") or {}
    emoji = show.one_line(str(reaction.get("emoji", "")))
    return f"{lines.name(reaction.get('memberId'))} took back {emoji} from {lines.text(reaction.get('messageId'))}"


def _joined(lines: Lines, event: Event) -> str:
    return f"{lines.name((event.get('member') or {}).get('id'))} joined"


def _left(lines: Lines, event: Event) -> str:
    return f"{lines.name((event.get('member') or {}).get('id'))} left"


def _run_waiting(lines: Lines, event: Event) -> str:
    reason = "" if event.run is None else show.one_line(event.run.error or "", 200)
    return f"{lines.name(event.agent_id)} waits for its model: {reason}"


def _run_paused(lines: Lines, event: Event) -> str:
    reason = "" if event.run is None else show.one_line(event.run.paused_reason or "", 200)
    return f"{lines.name(event.agent_id)} is paused: {reason}"


def _run_finished(lines: Lines, event: Event) -> str | None:
    """Whoever spoke or reacted was seen doing so; a line is for what would otherwise go unnoticed."""
    run = event.run
    if run is None:
        return None
    name = lines.name(run.agent_id)
    if run.status == "failed":
        return f"{name} failed: {show.one_line(run.error or run.stop_reason or 'no reason given', 200)}"
    if run.status == "cancelled":
        return f"{name} was stopped"
    if run.outcome == "silent":
        reason = "" if run.silence_reason in (None, NO_REASON) else f": {show.one_line(run.silence_reason, 200)}"
        return f"{name} stayed silent{reason}"
    if run.outcome == "unsent_text":
        return f"{name} wrote something and sent it to nobody"
    return None


def _tool_done(lines: Lines, event: Event) -> str | None:
    tool = str((event.get("call") or {}).get("toolName", "a tool"))
    return None if tool in SEEN_ANYWAY else f"{lines.name(event.agent_id)} used {show.one_line(tool)}"


def _tool_failed(lines: Lines, event: Event) -> str | None:
    call = event.get("call") or {}
    if call.get("code") == ABANDONED:
        return None  # its model is asked again, or the run's own line says why not
    return f"{lines.name(event.agent_id)} could not use {show.one_line(str(call.get('toolName', 'a tool')))}"


def _asked(lines: Lines, event: Event) -> str:
    call = event.get("call") or {}
    return f"{lines.name(event.agent_id)} waits for an answer to {show.one_line(str(call.get('toolName', 'a tool')))}"


def _answered(lines: Lines, event: Event) -> str:
    """By whom, and whether it came to anything: a card says the rest."""
    call = event.get("call") or {}
    tool = show.one_line(str(call.get("toolName", "a call")))
    match call.get("status"):
        case "expired":
            return f"nobody answered {tool} in time"
        case "cancelled":
            return f"{tool} was cancelled by {lines.name(call.get('answeredBy'))}"
    return f"{lines.name(call.get('answeredBy') or 'somebody')} answered {tool}"


def _budget(lines: Lines, event: Event) -> str:
    budget = event.get("budget") or {}
    of = show.one_line(" ".join(str(budget[name]) for name in ("kind", "subjectId") if name in budget))
    how = "used up" if event.type == "budget_reached" else "nearly used"
    return f"the budget of {of} for the {budget.get('period', 'day')} is {how}"


def _pinner(lines: Lines, event: Event) -> str:
    return lines.name(str((event.get("pin") or {}).get("memberId", "")))


def _prompt(event: Event) -> str:
    return f"“{show.one_line(str((event.get('task') or {}).get('prompt', '')), 60)}”"


def _plan(event: Event) -> str:
    return f"“{show.one_line(str((event.get('plan') or {}).get('name', '')), 60)}”"


def _skill(event: Event, done: str, proposed: str) -> str:
    skill = event.get("skill") or {}
    return f"{proposed if skill.get('proposal') else done}: /{show.one_line(str(skill.get('name', '')), 40)}"


def _nothing(lines: Lines, event: Event) -> None:
    return None


def _unknown(lines: Lines, event: Event) -> str:
    return show.one_line(event.type)


Render = Callable[[Lines, Event], str | None]

RENDER: Mapping[str, Render] = {
    "message_created": _message,
    "message_updated": _edited,
    "message_deleted": _deleted,
    "reaction_added": _reacted,
    "reaction_removed": _unreacted,
    "message_pinned": lambda lines, event: f"{_pinner(lines, event)} pinned a message",
    "message_unpinned": lambda lines, event: f"{_pinner(lines, event)} took a pin away",
    "member_joined": _joined,
    "member_left": _left,
    "space_created": lambda lines, event: "this space is new",
    "space_updated": lambda lines, event: "this space has changed",
    "space_erased": _nothing,
    "agent_created": lambda lines, event: f"{lines.name(event.agent_id)} is new here",
    "agent_updated": lambda lines, event: f"{lines.name(event.agent_id)} has changed",
    "agents_paused": lambda lines, event: "all agents are paused",
    "agents_resumed": lambda lines, event: "the agents go on",
    "agent_deleted": lambda lines, event: f"{lines.name(event.agent_id)} is gone",
    "run_started": _nothing,
    "run_waiting": _run_waiting,
    "run_paused": _run_paused,
    "run_resumed": lambda lines, event: f"{lines.name(event.agent_id)} goes on",
    "run_finished": _run_finished,
    "tool.started": _nothing,
    "tool.done": _tool_done,
    "tool.error": _tool_failed,
    "tool.requires_action": _asked,
    "pending_resolved": _answered,
    "task_created": lambda lines, event: f"{lines.name(event.agent_id)} has a new task: {_prompt(event)}",
    "task_updated": _nothing,
    "task_deleted": lambda lines, event: "a task was cancelled",
    "task_fired": lambda lines, event: f"a task of {lines.name(event.agent_id)} is due: {_prompt(event)}",
    "goal_updated": _nothing,
    "plan_fired": lambda lines, event: f"a plan of {lines.name(event.agent_id)} is due: {_plan(event)}",
    "skill_created": lambda lines, event: _skill(event, "there is a new skill", "a skill is proposed"),
    "skill_updated": lambda lines, event: _skill(event, "a skill has changed", "a change of a skill is proposed"),
    "skill_deleted": lambda lines, event: _skill(event, "a skill is gone", ""),
    "block_updated": _nothing,
    "passage_stored": _nothing,  # people who look into memory see it there
    "access_changed": _nothing,
    "budget_warned": _budget,
    "budget_reached": _budget,
    "chain_stopped": _nothing,  # a system message in the space says it in words
    "agent_typing": _nothing,
    "person_typing": _nothing,
    "agent_done": _nothing,
    "tool.streaming": _nothing,
    "tool.progress": _nothing,
    "message_streaming": _nothing,
    "presence": _nothing,
    "space_read": _nothing,
    "reset": lambda lines, event: "some events are too old to be shown; this goes on from now",
}
