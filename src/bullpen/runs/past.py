"""What a run is shown of the past: read once when it is driven, fixed by its row, the same whoever resumes it.

For a thread of one space that is the window of its messages; before it what the agent did and said further back, and
after it what it did lately. For a mind that spans spaces it is its own latest journals. Along comes what of all this is
from outside the office: whoever is shown it has read outside text, and nobody else. Summaries hold none of it: what a
run said after it had read outside text is left out of them.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import partial
from itertools import takewhile

from bullpen.agents import rows as agent_rows
from bullpen.files import rows as file_rows
from bullpen.llm.types import Turn, UserTurn
from bullpen.observe.redact import REDACTOR, owner
from bullpen.replacing import replace
from bullpen.runs import bounds, rows, transcript
from bullpen.runs.bounds import Bounds
from bullpen.runs.lines import find_lines
from bullpen.runs.types import Entry, Run, Summary, WindowMessage
from bullpen.spaces.speakers import own_answer, people_of
from bullpen.storage import Transaction
from bullpen.threads.rules import SCOPES
from bullpen.tools.outside import FILE, together
from bullpen.wire.nouns import ThreadScope

HERE, ANYWHERE = "What you did here before:", "What you did before:"
EARLIER = "What you did here longer ago, of which the messages are not shown any more:"


@dataclass(frozen=True, slots=True)
class Past:
    turns: list[Turn]
    outside: tuple[str, ...] = ()
    seen_in: tuple[str, ...] = ()  # whose text it is: see tools/outward.py
    run_ids: Set[str] = frozenset()  # the runs whose words are among it
    parts: tuple[tuple[str, int], ...] = ()  # what people see it called, and how many of the turns are that


async def read(
    tx: Transaction, run: Run, scope: ThreadScope, tokens: int, zone: str, entries: Sequence[Entry] = ()
) -> Past:
    """`scope` is the thread's; `tokens` is the size of the whole context; `zone` is that of the run's space.
    `entries` is the run's journal so far: what it tells need not be told twice."""
    most = bounds.of(tokens)
    match SCOPES[scope].past:
        case "runs":
            return await _of_mind(tx, run, most)
        case "messages":
            return Past([]) if run.space_id is None else await _of_space(tx, run, run.space_id, most, zone, entries)
        case "nothing":
            return Past([])


async def _of_space(
    tx: Transaction, run: Run, space_id: str, most: Bounds, zone: str, entries: Sequence[Entry]
) -> Past:
    # Somebody may have wanted the agents to begin anew; what was said until then is not shown.
    anew = await rows.select_anew(tx, space_id, upto=run.window_seq)
    start = max(transcript.window_start(run.window_seq), anew)
    window = [_own(each) for each in await rows.select_window(tx, space_id, after=start, upto=run.window_seq)]
    named = {each.author_id for each in window}.union(*(people_of(each.metadata) for each in window if _is_card(each)))
    names = await agent_rows.select_names(tx, sorted(named))
    with_files = [each.id for each in window if each.files]
    files = await file_rows.select_shown(tx, with_files) if with_files else {}
    told = _told(window, run, entries, most)
    shown, first = transcript.history(window, names, space_id, files, most, zone, told)
    cut = start if first is None else first - 1
    summaries = partial(rows.select_space_summaries, tx, run.thread_id, before=run.ordinal, limit=transcript.SUMMARIES)
    # Those of the runs that saw nothing of the window stay the same as long as its beginning does.
    earlier = await summaries(since=anew - 1, upto=cut) if cut > anew else []
    lately = await summaries(since=cut, upto=run.window_seq)
    turns: list[Turn] = []
    if lines := transcript.told([_summary_words(summary) for summary in earlier], most.told):
        turns.append(UserTurn("\n".join([EARLIER, *lines]), stable=True))
    parts = (("earlier", len(turns)), ("messages", len(shown)), ("lately", 1 if lately else 0))
    turns += shown
    if lately:
        turns.append(UserTurn("\n".join([HERE, *(transcript.short(summary.text) for summary in lately)])))
    known = [*earlier, *lately]
    sources = together(*(_sources(each) for each in window if each.seq > cut))
    speakers = {each.run_id for each in window if each.run_id is not None}
    return Past(turns, sources, (space_id,) if turns else (), speakers | {summary.run_id for summary in known}, parts)


def _is_card(said: WindowMessage) -> bool:
    return said.type == "tool"


def _told(window: Sequence[WindowMessage], run: Run, entries: Sequence[Entry], most: Bounds) -> frozenset[str]:
    """The newest messages, if the waking tells them in full: the window need not. One that was edited before the run
    began reads differently there; one that somebody has answered since stands before the answer."""
    waking = entries[0].content or "" if entries and entries[0].type == "user_message" else ""
    if transcript.cut_waking(waking, most) != waking:
        return frozenset()
    named = {line.ref for line in find_lines(waking)}

    def is_told(said: WindowMessage) -> bool:
        return said.id in named and (said.edited_at is None or said.edited_at > run.started_at)

    return frozenset(said.id for said in takewhile(is_told, reversed(window)))


def _own(said: WindowMessage) -> WindowMessage:
    """A person may have written a secret of theirs: it is masked in their words, and in nobody else's."""
    if _is_card(said):
        return replace(said, metadata=dict(own_answer(said.metadata)))
    if said.author_kind != "person":
        return said
    cleaned = REDACTOR.clean_own(said.text, owner("person", said.author_id))
    return said if cleaned is said.text else replace(said, text=cleaned)


def _summary_words(summary: Summary) -> str:
    """What a summary shows, which taints nobody."""
    return transcript.without_own_words(summary.text) if summary.outside else summary.text


def _sources(said: WindowMessage) -> list[str]:
    """What a message of the window taints with: what its author's run had read, and the name of a person's file."""
    if said.deleted_at is not None:
        return []  # nothing of it is shown
    found: list[str] = said.metadata.get("outside", [])
    return [*found, FILE] if said.files and said.author_kind != "agent" else found


async def _of_mind(tx: Transaction, run: Run, most: Bounds) -> Past:
    """A mind that spans spaces remembers its own latest runs, and the ones before in a few lines each."""
    start = transcript.window_start(run.ordinal - 1, transcript.JOURNALS)
    earlier = await rows.select_earlier(tx, run.thread_id, after=start, before=run.ordinal)
    journals = [transcript.journal(await rows.select_entries(tx, each.id), most) for each in earlier]
    first = bounds.first_shown([transcript.size(journal) for journal in journals], most.window)
    before = earlier[first].ordinal if first else start + 1
    summaries = await rows.select_summaries(tx, run.thread_id, before=before, limit=transcript.SUMMARIES)
    lines = transcript.told([_summary_words(summary) for summary in summaries], most.told)
    turns: list[Turn] = [UserTurn("\n".join([ANYWHERE, *lines]), stable=True)] if lines else []
    told = len(turns)
    for journal in journals[first:]:
        turns += journal
    read = [each.outside for each in earlier[first:]]
    run_ids = {each.id for each in earlier[first:]} | {summary.run_id for summary in summaries}
    # A mind keeps what it was ever shown: what it says now may come from any of it.
    seen_in = await rows.select_seen_in(tx, run.thread_id, run.ordinal - 1)
    return Past(turns, together(*read), seen_in, run_ids, (("earlier", told), ("journals", len(turns) - told)))
