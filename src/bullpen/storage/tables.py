"""Every table, once, for both databases.

Columns are TEXT, BIGINT and REAL, so that statements compiled once run with no bind or result processors; `rows.py`
files encode. Vectors alone are bytes, which both drivers take and give as they are. Times people read are RFC 3339
text; deadlines are milliseconds. A column of text says what it holds (`_id`, `_words`, …), since an erasure has to
know. A change here needs a numbered migration (storage/migrations); a test builds the schema both ways and compares.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, MetaData, Table, UniqueConstraint, text
from sqlalchemy.types import REAL, Double

from bullpen.storage.columns import Holds, text_column

metadata = MetaData()

_DOUBLE: Any = Double().with_variant(REAL(), "sqlite")  # PostgreSQL's REAL has four bytes, SQLite's eight

# Every column of text says what it holds: see storage/columns.py.
_id = partial(text_column, holds=Holds.ID)
_fixed = partial(text_column, holds=Holds.FIXED)
_time = partial(text_column, holds=Holds.TIME)
_sealed = partial(text_column, holds=Holds.SEALED)
_name = partial(text_column, holds=Holds.NAME)
_words = partial(text_column, holds=Holds.WORDS)
_copies = partial(text_column, holds=Holds.COPIES)
_lines = partial(text_column, holds=Holds.LINES)
_summary = partial(text_column, holds=Holds.SUMMARY)


def _number(name: str, *, null: bool = False, default: int | None = None) -> Column[Any]:
    server_default = None if default is None else text(str(default))
    return Column(name, BigInteger, nullable=null, server_default=server_default)


def _where(column: str) -> dict[str, Any]:
    """An index of the rows in which this column says something."""
    there = text(f"{column} IS NOT NULL")
    return {"sqlite_where": there, "postgresql_where": there}


meta = Table("meta", metadata, _id("key", primary_key=True), _name("value"))

schema_migrations = Table(
    "schema_migrations",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    _fixed("name"),
    _time("applied_at"),
)

people = Table(
    "people",
    metadata,
    _id("id", primary_key=True),
    _name("name"),
    _fixed("role"),  # member | admin | owner
    _time("created_at"),
    _name("login", null=True),  # the name, case folded: what signing in looks for. None: erased
    _sealed("password", null=True),  # argon2id; None: signs in by link or token only
    _time("disabled_at", null=True),
    _time("erased_at", null=True),
    Index("people_login", "login", unique=True),
)

sessions = Table(
    "sessions",
    metadata,
    _id("id", primary_key=True),
    _sealed("hash"),  # SHA-256 of the cookie
    _id("person_id"),
    _time("created_at"),
    _number("expires_at"),
    _time("ended_at", null=True),
    _name("device", null=True),  # the browser and system that it began in, as they name themselves
    UniqueConstraint("hash", name="sessions_hash"),
    Index("sessions_person", "person_id"),
)

invites = Table(
    "invites",
    metadata,
    _id("id", primary_key=True),
    _sealed("hash"),  # SHA-256 of the code in the link
    _fixed("role"),
    _id("created_by"),
    _time("created_at"),
    _number("expires_at"),
    _id("used_by", null=True),
    _time("revoked_at", null=True),
    _id("space_ids", null=True),  # JSON: the spaces that whoever accepts it joins
    UniqueConstraint("hash", name="invites_hash"),
)

_has_parent = text("parent IS NOT NULL")
tokens = Table(
    "tokens",
    metadata,
    _id("id", primary_key=True),
    _sealed("hash"),  # SHA-256; the value itself is never stored
    _name("name"),
    _fixed("kind"),  # owner | person | agent | tools
    _id("person_id", null=True),
    _id("agent_id", null=True),
    _id("tools", null=True),
    _time("created_at"),
    _time("revoked_at", null=True),
    _fixed("scopes", null=True),  # JSON: grants it is limited to
    _number("expires_at", null=True),
    _id("created_by", null=True),
    _id("parent", null=True),  # the token it was made with: it ends with that one
    UniqueConstraint("hash", name="tokens_hash"),
    Index("tokens_parent", "parent", sqlite_where=_has_parent, postgresql_where=_has_parent),
)

agents = Table(
    "agents",
    metadata,
    _id("id", primary_key=True),
    _name("name"),
    _fixed("scope"),
    _number("max_chain_depth", null=True),
    _words("definition"),  # JSON: instructions, model, tools, limits, …
    _time("created_at"),
    _time("updated_at"),
    _time("deleted_at", null=True),
    _time("paused_at", null=True),
    _number("interrupts", default=0),  # a new message breaks off what its model is doing: whoever posts has to know
)

# What an agent's instructions were, one row for each change.
instructions = Table(
    "instructions",
    metadata,
    _id("agent_id", primary_key=True),
    Column("version", BigInteger, primary_key=True, autoincrement=False),  # 1, 2, 3, …
    _words("content"),
    _id("by_id", null=True),  # None: from before changes were kept
    _time("at"),
)

spaces = Table(
    "spaces",
    metadata,
    _id("id", primary_key=True),
    _fixed("kind"),
    _name("name"),
    _number("private", default=0),
    _number("main", default=0),
    _fixed("wake_people"),
    _fixed("wake_agents"),
    _words("trigger", null=True),
    _words("options"),  # JSON: topic, folder, provider, model, timezone, bridge
    _number("last_seq", default=0),  # the counter: bumped in the transaction that writes the message
    _id("created_by"),
    _time("created_at"),
    _number("agents_free_at", default=0),  # when its agents have used up what they may say: rises with each message
    _time("archived_at", null=True),  # read-only since then
)

members = Table(
    "members",
    metadata,
    _id("space_id", primary_key=True),
    _id("member_id", primary_key=True),
    _fixed("kind"),
    _number("position"),  # join order
    _number("read_seq", default=0),
    _time("joined_at"),
    Index("members_member", "member_id", "space_id"),  # the first spaces of somebody, of however many
)

_anew = text("wake = 'command:new'")
_uncounted = text("type = 'system' OR deleted_at IS NOT NULL")

messages = Table(
    "messages",
    metadata,
    _id("id", primary_key=True),
    _id("space_id"),
    _number("seq"),
    _id("author_id"),
    _fixed("author_kind"),
    _fixed("type"),
    _words("text"),
    _words("folded", null=True),  # the text case folded, unless it is ASCII: there the database's lower() is enough
    _fixed("status"),
    _id("reply_to", null=True),
    _copies("metadata"),
    _words("client_message_id", null=True),
    _id("run_id", null=True),
    _id("chain_id", null=True),
    _number("depth", default=0),
    _time("created_at"),
    _time("edited_at", null=True),
    _time("deleted_at", null=True),
    # The policy it met, for those who ask why: all | mention | none | trigger:WORD; or command:NAME, skill:NAME.
    _words("wake", null=True),
    _number("files", default=0),  # how many it shows: most show none, and then nobody looks for them
    _words("card", null=True),  # JSON: what a tool's card says, cut (wire/cards.py); None: it is no card
    UniqueConstraint("space_id", "seq", name="messages_seq"),
    UniqueConstraint("author_id", "client_message_id", name="messages_client_message_id"),
    # What is unread is counted by subtraction: these are the messages that do not count, and those that may mention.
    Index("messages_uncounted", "space_id", "seq", sqlite_where=_uncounted, postgresql_where=_uncounted),
    Index(
        "messages_addressing",
        "space_id",
        "seq",
        sqlite_where=text("instr(text, '@') > 0 OR reply_to IS NOT NULL"),
        postgresql_where=text("strpos(text, '@') > 0 OR reply_to IS NOT NULL"),
    ),
    # Where somebody wanted the agents of a space to begin anew.
    Index("messages_new", "space_id", "seq", sqlite_where=_anew, postgresql_where=_anew),
)

# What a message is looked up by: see storage/words.py. The indexes over `words` (FTS5, GIN), and the triggers that
# keep them, are in the migration alone, since the two databases have nothing in common there.
message_words = Table(
    "message_words",
    metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    _id("message_id"),
    _id("space_id"),
    _time("created_at"),
    _words("words"),
    UniqueConstraint("message_id", name="message_words_message_id"),
)

reactions = Table(
    "reactions",
    metadata,
    _id("message_id", primary_key=True),
    _id("member_id", primary_key=True),
    _words("emoji", primary_key=True),
    _time("created_at"),
)

pins = Table(
    "pins",
    metadata,
    _id("message_id", primary_key=True),
    _id("space_id"),
    _id("member_id"),  # who pinned it
    _time("created_at"),
    Index("pins_space", "space_id", "created_at"),
)

threads = Table(
    "threads",
    metadata,
    _id("id", primary_key=True),
    _id("agent_id"),
    _fixed("scope"),
    _id("anchor"),  # what makes it the only one: the space's id, '' for scope agent, its own id when fresh
    _id("space_id", null=True),
    _id("active_space_id", null=True),
    _fixed("state"),  # idle | queued | waiting: its run waits for a result, and nobody drives it
    _number("epoch", default=0),
    _number("run_count", default=0),
    _time("created_at"),
    _fixed("cause_kind", null=True),  # a thread made for one piece of work has that work's cause and grants
    _id("cause_id", null=True),
    _fixed("grants", null=True),
    _id("parent_id", null=True),  # the thread that made it, for a child
    _name("scoped_names", null=True),  # JSON: variables that it does not take from the threads above it
    _number("queued_at", default=0),  # when it was last queued: milliseconds of the database's clock
    UniqueConstraint("agent_id", "scope", "anchor", name="threads_anchor"),
    Index("threads_queued", "state", sqlite_where=text("state <> 'idle'"), postgresql_where=text("state <> 'idle'")),
)

leases = Table(
    "leases",
    metadata,
    _id("thread_id", primary_key=True),
    _id("owner", null=True),
    _number("epoch", default=0),
    _number("token", default=0),
    _number("until", default=0),  # milliseconds of the database's clock
    _number("since", default=0),  # when its driver took it, by the same clock
)

# What only one process of the office may hold at a time: an MCP session, a runner, a browser, a poller.
holders = Table(
    "holders",
    metadata,
    _id("name", primary_key=True),
    _id("owner", null=True),  # the process; None: nobody has it
    _number("token", default=0),  # rises with every owner
    _number("until", default=0),  # milliseconds of the database's clock
)

_unclaimed = text("claimed_by IS NULL")

inbox_items = Table(
    "inbox_items",
    metadata,
    _id("id", primary_key=True),
    _id("thread_id"),
    _fixed("kind"),
    _id("key"),
    _id("batch", null=True),  # the message whose agents answer one after another
    _number("rank", default=0),
    _number("due_at", default=0),
    _id("space_id", null=True),
    _copies("payload"),
    _fixed("cause_kind"),
    _id("cause_id"),
    _fixed("grants"),
    _number("depth", default=0),
    _id("chain_id"),
    _number("addressed", default=0),
    _id("claimed_by", null=True),
    _time("created_at"),
    UniqueConstraint("thread_id", "key", name="inbox_items_key"),
    Index("inbox_items_unclaimed", "thread_id", "id", sqlite_where=_unclaimed, postgresql_where=_unclaimed),
    Index(
        "inbox_items_batch",
        "batch",
        "rank",
        sqlite_where=text("batch IS NOT NULL"),
        postgresql_where=text("batch IS NOT NULL"),
    ),
    Index("inbox_items_claimed", "claimed_by"),
)

_retries = text("retry_at IS NOT NULL")
_summaries = text("summary IS NOT NULL")

runs = Table(
    "runs",
    metadata,
    _id("id", primary_key=True),
    _id("thread_id"),
    _id("agent_id"),
    _id("space_id", null=True),
    _fixed("status"),
    _fixed("outcome", null=True),
    _fixed("stop_reason", null=True),
    _words("silence_reason", null=True),
    _words("error", null=True),
    _fixed("cause_kind"),
    _id("cause_id"),
    _fixed("grants"),
    _id("trigger"),  # JSON, as it goes over the wire
    _copies("payload"),  # JSON of the newest drained item, for the model
    _id("chain_id"),
    _number("depth", default=0),
    _number("addressed", default=0),
    _number("corrected", default=0),
    _number("cancel_requested", default=0),
    _number("ordinal", default=0),  # the thread's first run is 1
    _number("step", default=0),
    _number("position", default=0),  # run messages so far
    _id("message_ids"),
    _fixed("acts"),  # which kinds of outcome its calls have earned so far
    _number("active_ms", default=0),
    _number("window_seq", default=0),
    _sealed("prompt_hash", null=True),
    _summary("summary", null=True),
    _number("input_tokens", default=0),
    _number("output_tokens", default=0),
    _number("cached_tokens", default=0),
    Column("cost", _DOUBLE, nullable=False, server_default=text("0")),
    _time("started_at"),
    _time("finished_at", null=True),
    _id("outside", null=True),  # JSON: where the text came from that it read, if it came from outside the office
    _words("paused_reason", null=True),  # it is put aside: which budget is used up, as a sentence
    # Its provider was not there: when it is asked again (milliseconds), and how often the run has waited for that.
    _number("retry_at", null=True),
    _number("retries", default=0),
    _id("seen_in", null=True),  # JSON: whose text of this office it was shown: spaces, and see tools/outward.py
    # JSON: the call for which something is done just now that could kill the process. Mostly there is none.
    _id("mark", null=True),
    # JSON: calls of an answer that is not kept yet, whose tool.started is committed. Mostly there are none.
    _words("streamed", null=True),
    _id("retry_of", null=True),  # the run that it does once more, because somebody asked for that
    _id("stopped_by", null=True),  # who wanted it to end
    _number("unpriced", default=0),  # steps of models that have no price
    Index("runs_thread", "thread_id", "ordinal"),
    Index("runs_agent", "agent_id", "id"),
    Index("runs_space", "space_id", "id"),
    Index("runs_retry", "retry_at", sqlite_where=_retries, postgresql_where=_retries),
    # A long-lived room has thousands of runs and most of them may have been silent: these two find the few summaries.
    Index("runs_summary", "thread_id", "ordinal", sqlite_where=_summaries, postgresql_where=_summaries),
    Index(
        "runs_summary_window",
        "thread_id",
        "window_seq",
        "ordinal",
        sqlite_where=_summaries,
        postgresql_where=_summaries,
    ),
    Index(
        "runs_under_way",
        "thread_id",
        unique=True,  # P3, kept by the database itself
        sqlite_where=text("finished_at IS NULL"),
        postgresql_where=text("finished_at IS NULL"),
    ),
)

run_messages = Table(
    "run_messages",
    metadata,
    _id("id", primary_key=True),
    _id("run_id"),
    _number("position"),
    _number("step"),
    _fixed("type"),
    _id("call_id", null=True),
    _id("provider_call_id", null=True),
    _words("tool_name", null=True),
    _words("args", null=True),
    _copies("result", null=True),
    _number("is_error", null=True),
    _lines("content", null=True),
    _number("token", default=0),  # the fencing token of whoever wrote it
    _number("started", default=0),  # a call whose effect may have begun outside our database
    _time("at"),
    _id("outside", null=True),  # JSON: where a result came from, if that is outside the office
    # JSON, of an answer: who gave it, the tokens, the money, how long it took. Of what woke a run: the sizes of what it
    # is shown, with the labels of blocks.
    _name("usage", null=True),
    _id("streamed", null=True),  # JSON, of a call: which spaces saw it while the model wrote it
    _sealed("shows", null=True),  # SHA-256 of a picture that belongs to a result, which says where it is
    UniqueConstraint("run_id", "position", name="run_messages_position"),
    Index(
        "run_messages_result",
        "call_id",
        unique=True,  # P5, kept by the database itself: one result per call
        sqlite_where=text("type = 'tool_return_message'"),
        postgresql_where=text("type = 'tool_return_message'"),
    ),
)

prompts = Table("prompts", metadata, _sealed("hash", primary_key=True), _words("text"))

events = Table(
    "events",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    _number("xid", default=0),  # PostgreSQL: the writing transaction; SQLite has one writer and needs none
    _fixed("type"),
    _id("space_id", null=True),
    _id("agent_id", null=True),
    _id("run_id", null=True),
    _fixed("audience"),  # space | owners | managers | all
    _time("at"),
    _copies("body"),  # the JSON that goes to followers, byte for byte
    Index("events_order", "xid", "id"),
    sqlite_autoincrement=True,  # a number is never used again, even after retention removed the newest
)

blocks = Table(
    "blocks",
    metadata,
    _id("agent_id", primary_key=True),
    _name("label", primary_key=True),
    _words("content"),
    _number("version", default=1),  # one more with each change, a deletion too
    _time("updated_at"),
    _id("outside", null=True),  # JSON: what the run that wrote it had read from outside the office
    # The space that it is kept for, where it stands in place of another one of its label. '': wherever the agent is.
    _id("space_id", primary_key=True, default=""),
    _words("description", default=""),  # what it is for
    _number("size_limit", default=4000),  # so many characters at most
    _number("deleted", default=0),  # a row that stays, so that its versions go on where they were
    Index("blocks_space", "space_id"),
)

# What a block was, one row for each change.
block_versions = Table(
    "block_versions",
    metadata,
    _id("agent_id", primary_key=True),
    _name("label", primary_key=True),
    _id("space_id", primary_key=True),
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    _words("content"),
    _words("description"),
    _number("deleted"),
    _id("outside", null=True),  # as of blocks
    _time("at"),
    _fixed("by_kind", null=True),  # person | agent | system
    _id("by_id", null=True),  # None: it is from before changes were kept
    _id("token_id", null=True),  # what they came with, if it was a token
    _id("run_id", null=True),
    _words("reason", null=True),
    Index("block_versions_space", "space_id"),
)

# Agents that are shown a block of another agent: one of each label, so that a label says which is meant.
block_shares = Table(
    "block_shares",
    metadata,
    _id("reader_id", primary_key=True),
    _name("label", primary_key=True),
    _id("owner_id"),
    _number("may_write"),
    Index("block_shares_owner", "owner_id", "label"),
)

passages = Table(
    "passages",
    metadata,
    _id("id", primary_key=True),
    _id("scope"),  # what one search looks through: see memory/rules.py
    _id("agent_id", null=True),  # whose it is; None: it is in the store of its space, for all agents there
    _id("space_id", null=True),  # the only space that it is for; None: for wherever the agent is
    _words("content"),
    _words("folded"),  # content and tags, case and accents folded: what keywords are looked for in
    _words("tags"),
    _words("metadata"),
    _sealed("hash"),
    _time("created_at"),
    _id("outside", null=True),  # as of blocks
    _id("learned_in", null=True),  # the space that its writer was in
    _id("run_id", null=True),
    _id("message_id", null=True),  # the message that woke the run
    _id("person_id", null=True),  # who wrote it, or for whom its run worked
    _id("supersedes", null=True),  # the passage that it stands in place of
    _id("superseded_by", null=True),
    _number("expires_at", null=True),
    _time("updated_at", null=True),  # when somebody corrected it, and who
    _id("updated_by", null=True),
    UniqueConstraint("scope", "hash", name="passages_hash"),
    Index("passages_scope", "scope", "id"),
    Index("passages_agent", "agent_id", "id"),
    Index("passages_space", "space_id", "id", **_where("space_id")),
    Index("passages_learned", "learned_in", "id", **_where("learned_in")),
    Index("passages_person", "person_id", "id", **_where("person_id")),
    Index("passages_expiring", "expires_at", **_where("expires_at")),
)

# How many passages a scope has: which scopes there are, and how full they are.
passage_scopes = Table("passage_scopes", metadata, _id("scope", primary_key=True), _number("count"))

# What a passage is looked up by: see storage/fragments.py. As of `message_words`, the indexes are in the migration.
passage_words = Table(
    "passage_words",
    metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    _id("passage_id"),
    _words("words"),
    UniqueConstraint("passage_id", name="passage_words_passage_id"),
)

_open = text("due_at IS NOT NULL")

# What Supermemory has of passages, or is to get. A row outlives its passage until the copy there is dropped, too.
passage_copies = Table(
    "passage_copies",
    metadata,
    _id("passage_id", primary_key=True),
    _id("container"),  # the container tag of its space
    _fixed("wanted"),  # kept | dropped
    _number("attempts", default=0),
    _number("due_at", null=True),  # milliseconds; null: there is nothing to do
    _words("error", null=True),  # what came of the last attempt
    Index("passage_copies_due", "container", "due_at", sqlite_where=_open, postgresql_where=_open),
)

# Chats that bridges have seen, and the space that each is, once somebody has registered it.
chats = Table(
    "chats",
    metadata,
    _name("jid", primary_key=True),
    _name("name"),
    _id("space_id", null=True),
    _time("seen_at", null=True),  # None: registered before any bridge has seen it
    Index("chats_space", "space_id"),
)

variables = Table(
    "variables",
    metadata,
    _fixed("scope_kind", primary_key=True),  # workspace | person | space | agent | thread
    _id("scope_id", primary_key=True),  # '' for the workspace
    _name("name", primary_key=True),
    _fixed("type"),  # text | secret
    _words("value"),  # the text, or the sealed secret
    _id("key_id", null=True),  # what a secret is sealed with
    _number("scoped", default=0),
    _words("description"),
    _id("created_by"),
    _time("created_at"),
    _time("updated_at"),
    Index(
        "variables_key",
        "key_id",
        sqlite_where=text("key_id IS NOT NULL"),
        postgresql_where=text("key_id IS NOT NULL"),
    ),
)

files = Table(
    "files",
    metadata,
    _id("id", primary_key=True),  # also where its bytes are: random, never a name somebody chose
    _name("name"),  # cleaned, for people
    _number("size"),
    _fixed("type"),  # what the bytes look like, not what somebody said
    _sealed("sha256"),
    _id("space_id", null=True),  # None: nobody but its owner has it yet
    _fixed("owner_kind"),
    _id("owner_id"),
    _number(
        "attached", default=0
    ),  # messages that show it, and portraits; one that none shows is swept away after a while
    _fixed("thumbnail", null=True),  # JSON: width, height and type of the small picture
    _time("created_at"),
    _words("client_file_id", null=True),  # chosen by whoever uploaded it: the same again is the same file
    _id("outside", null=True),  # JSON: where its text came from. None: nobody here vouches for it, so from outside
    Index(
        "files_client_file_id",
        "owner_id",
        "client_file_id",
        unique=True,
        sqlite_where=text("client_file_id IS NOT NULL"),
        postgresql_where=text("client_file_id IS NOT NULL"),
    ),
    Index("files_space", "space_id", "id"),
    Index("files_owner", "owner_id", "id"),
    Index(
        "files_unattached",
        "created_at",
        sqlite_where=text("attached = 0"),
        postgresql_where=text("attached = 0"),
    ),
)

message_files = Table(
    "message_files",
    metadata,
    _id("message_id", primary_key=True),
    _number("position"),
    _id("file_id", primary_key=True),
    Index("message_files_file", "file_id"),
)

# The picture of a person or an agent. It counts as one more message that shows the file.
portraits = Table(
    "portraits",
    metadata,
    _id("holder_id", primary_key=True),
    _id("file_id"),
    Index("portraits_file", "file_id"),
)

# How much is kept for whom: bumped in the transaction that keeps or drops a file, so a quota is one row to read.
file_usage = Table(
    "file_usage",
    metadata,
    _fixed("kind", primary_key=True),  # space | person | agent
    _id("id", primary_key=True),
    _number("bytes", default=0),
    _number("files", default=0),
)

# Bytes that nobody needs any more: removed from the disk after the commit that dropped their row.
dropped_files = Table(
    "dropped_files",
    metadata,
    _id("id", primary_key=True),
    _time("dropped_at"),
)

# What runs have written into folders: a file that is not listed here, or is another by now, is from outside.
folder_sources = Table(
    "folder_sources",
    metadata,
    _id("folder_id", primary_key=True),
    _sealed("path_hash", primary_key=True),  # SHA-256: paths are words
    _sealed("sha256"),  # of what was written there last
    _id("outside"),  # JSON: what the run had read that wrote it
)

chain_stops = Table("chain_stops", metadata, _id("chain_id", primary_key=True), _time("at"))

audit = Table(
    "audit",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),  # 1, 2, 3, … without a hole
    _time("at"),
    _fixed("actor_kind"),
    _id("actor_id"),
    _fixed("action"),
    _fixed("object_kind"),
    _id("object_id"),
    _fixed("detail"),  # JSON, never a secret and never what somebody said
    _sealed("hash"),  # SHA-256 of the row before's hash and of this row
)

# Tools that somebody has defined: everything but the built-in ones.
tools = Table(
    "tools",
    metadata,
    _name("name", primary_key=True),
    _words("definition"),  # JSON, as it goes over the wire
    _sealed("hash"),  # SHA-256 of what it does: an approval of another one does not count
    _id("created_by"),
    _time("created_at"),
    _time("updated_at"),
)

_waiting = text("status = 'waiting'")
_open = text("status IN ('waiting', 'pending')")
_unresolved = text("resolved_at IS NULL")  # the same rows; the planner takes another index for another condition
_undelivered = text("status = 'resolved' AND delivered_via IS NULL")

# Calls whose result comes later: from somebody's program, from a person, or after an approval.
pending_calls = Table(
    "pending_calls",
    metadata,
    _id("call_id", primary_key=True),
    _fixed("kind"),  # external | space | approval | variables | takeover
    _fixed("status"),  # waiting: a run waits for it | pending: it will come by inbox | resolved | expired | cancelled
    _id("agent_id"),
    _id("run_id"),
    _id("thread_id"),
    _id("space_id", null=True),
    _id("tool_name"),
    _words("args"),
    _words("result", null=True),
    _id("answered_by", null=True),
    _fixed("delivered_via", null=True),  # inline | inbox: an accepted result reaches its agent by one of them, once
    _number("visible", default=0),
    _number("deadline_at", null=True),  # milliseconds: how long a run waits
    _number("expires_at", null=True),  # milliseconds: how long an answer is taken
    _words("progress", null=True),  # JSON: what whoever carries it out has said last
    _fixed("cause_kind"),
    _id("cause_id"),
    _fixed("grants"),
    _number("depth", default=0),
    _id("chain_id"),
    _time("created_at"),
    _time("resolved_at", null=True),
    # Of approvals only: the tool as it was shown, what the approval holds for, how often it was asked for, and how far
    # the approved call has come (inline: its run has begun it | queued, started: after its run had gone on).
    _sealed("tool_hash", null=True),
    _sealed("hash", null=True),
    _number("asks", default=0),
    _fixed("execution", null=True),
    _id("outside", null=True),  # JSON: what its run had read from outside the office when it asked
    _id("spaces", null=True),  # JSON, of approvals: which spaces the call touches
    _fixed("reason", null=True),  # no policy asks for the approval. outward: what its run has read | repeat: see runs/
    _words("needs", null=True),  # JSON: the variables it had no value of, and where each is to be kept; never a value
    _id("allowed", null=True),  # JSON: who approved it before it was found to need values, and whether they changed it
    Index("pending_calls_deadline", "deadline_at", sqlite_where=_waiting, postgresql_where=_waiting),
    Index("pending_calls_open", "status", "call_id", sqlite_where=_open, postgresql_where=_open),
    Index("pending_calls_agent", "agent_id", "call_id"),
    Index("pending_calls_waited_for", "agent_id", sqlite_where=_unresolved, postgresql_where=_unresolved),
    Index("pending_calls_expiry", "expires_at", sqlite_where=_unresolved, postgresql_where=_unresolved),
    Index("pending_calls_run", "run_id"),
    Index("pending_calls_undelivered", "thread_id", sqlite_where=_undelivered, postgresql_where=_undelivered),
)

# What agents may do with tools, where, and with which arguments.
policies = Table(
    "policies",
    metadata,
    _id("id", primary_key=True),
    _sealed("key"),  # SHA-256 of agent, space, tool, condition and source: each has one decision
    _id("agent_id"),
    _id("space_id", null=True),  # None: wherever the agent is
    _id("tool_name"),
    _fixed("decision"),  # allow | ask | deny
    _words("condition", null=True),  # JSON: for which arguments; see tools/policies.py
    _sealed("tool_hash", null=True),  # it came of an approval: it holds for the tool as it was then
    _id("created_by"),
    _time("created_at"),
    _id("source", null=True),  # only for what text from there may cause; None: for whatever causes the call
    UniqueConstraint("key", name="policies_key"),
    Index("policies_agent", "agent_id", "tool_name"),
    Index("policies_space", "space_id"),
)

# Secret addresses, each of which wakes one agent.
hooks = Table(
    "hooks",
    metadata,
    _id("id", primary_key=True),
    _sealed("hash"),  # SHA-256; the secret itself is never stored
    _name("name"),
    _id("agent_id"),
    _id("person_id"),  # who made it: it gives what they still hold of these grants
    _fixed("grants"),
    _time("created_at"),
    _time("used_at", null=True),
    UniqueConstraint("hash", name="hooks_hash"),
    Index("hooks_agent", "agent_id"),
    Index("hooks_person", "person_id"),
)

# What a hook was told under a key of the sender's: the same again wakes nobody.
hook_uses = Table(
    "hook_uses",
    metadata,
    _id("hook_id", primary_key=True),
    _sealed("key", primary_key=True),  # SHA-256 of the sender's key
    _sealed("digest"),  # SHA-256 of what was said
    _id("item_id"),
    _time("created_at"),
    Index("hook_uses_created", "created_at"),
)

_enabled = text("enabled = 1")
_queued = text("status = 'queued'")
_over = text("status <> 'queued'")

# Addresses of people that are told when something waits for them.
webhooks = Table(
    "webhooks",
    metadata,
    _id("id", primary_key=True),
    _id("person_id"),
    _words("url"),
    _fixed("events"),  # JSON: mention, tool.requires_action
    _id("members"),  # JSON: whose mentions; empty: the person's own
    _fixed("grants"),  # what its person held when it was made: it is told what they still may see of that
    _sealed("secret"),  # sealed: what its deliveries are signed with
    _id("key_id"),  # what that is sealed with
    _number("enabled", default=1),
    _words("reason", null=True),  # why it is not enabled
    _number("failures", default=0),  # attempts that failed, one after another
    _words("last_error", null=True),
    _time("created_at"),
    _time("delivered_at", null=True),
    Index("webhooks_person", "person_id", "id"),
    Index("webhooks_enabled", "person_id", sqlite_where=_enabled, postgresql_where=_enabled),
    Index("webhooks_key", "key_id"),
)

# What a webhook is told of, by name only: the words are read when it is sent.
webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    _id("id", primary_key=True),  # the `webhook-id` of each attempt
    _id("webhook_id"),
    _fixed("type"),
    _id("key"),  # the same thing is told once
    _id("subject_id"),  # the message or the call
    _id("space_id", null=True),
    _fixed("status"),  # queued | delivered | failed | dropped: there was nothing to tell any more
    _number("attempts", default=0),
    _number("next_attempt_at"),  # milliseconds; while one is under way, when another process may take it over
    _number("last_status", null=True),
    _words("last_error", null=True),
    _time("created_at"),
    _time("finished_at", null=True),
    UniqueConstraint("webhook_id", "key", name="webhook_deliveries_key"),
    Index("webhook_deliveries_webhook", "webhook_id", "id"),
    Index(
        "webhook_deliveries_queued",
        "webhook_id",
        "next_attempt_at",
        sqlite_where=_queued,
        postgresql_where=_queued,
    ),
    Index("webhook_deliveries_due", "next_attempt_at", sqlite_where=_queued, postgresql_where=_queued),
    Index("webhook_deliveries_over", "finished_at", sqlite_where=_over, postgresql_where=_over),
    Index("webhook_deliveries_space", "space_id"),
)

# Where models are asked, with which key, and what they cost. Agents' models name them.
connections = Table(
    "connections",
    metadata,
    _id("id", primary_key=True),
    _name("name"),
    _name("folded"),  # the name, case folded: a model may say it instead of the id
    _fixed("provider"),  # anthropic | openai | openai-chat
    _words("base_url", null=True),
    _id("api_key_variable", null=True),
    _number("own_key", default=0),  # the variable was made with the connection, and goes with it
    _words("confirmed", null=True),  # the origin that an owner opened for it
    _name("default_model", null=True),  # what new agents run on; one connection has it
    _words("models"),  # JSON: what is said of single models
    _id("created_by"),
    _time("created_at"),
    _time("updated_at"),
    UniqueConstraint("folded", name="connections_folded"),
)

# How much may be spent in a day or a month: by an agent, in a space, for a person or a task, or by the whole office.
budgets = Table(
    "budgets",
    metadata,
    _id("id", primary_key=True),
    _fixed("kind"),  # agent | space | person | task | office
    _id("subject_id"),  # '' for the office
    _fixed("period"),  # day | month
    _fixed("unit"),  # USD | tokens
    _fixed("origin"),  # set: by somebody | limits: it stands in the agent's definition
    _number("amount"),  # billionths of a dollar, or tokens
    # What happened in the period that began then; before and after it, it has not happened.
    _time("since"),
    _number("extra", default=0),  # somebody let it go on: so much more may be spent
    _time("warned_at", null=True),
    _time("reached_at", null=True),
    _id("created_by"),
    _time("created_at"),
    _time("updated_at"),
    UniqueConstraint("kind", "subject_id", "period", "unit", "origin", name="budgets_key"),
)

# What was spent, added up in the transaction that keeps each answer of a model: a budget is a few rows to read.
spending = Table(
    "spending",
    metadata,
    _fixed("kind", primary_key=True),  # agent | space | person | task
    _id("id", primary_key=True),  # '': no space, or no person
    _time("day", primary_key=True),  # 2026-01-31, UTC
    _id("model", primary_key=True),  # who answered; '': from before this was kept
    _number("steps", default=0),
    _number("runs", default=0),
    _number("input_tokens", default=0),
    _number("output_tokens", default=0),
    _number("cached_tokens", default=0),
    _number("written_tokens", default=0),
    _number("unpriced", default=0),  # steps of models that have no price
    _number("nanodollars", default=0),
    Index("spending_day", "kind", "day"),
)

# Threads that nobody drives before then, because a budget is used up.
holds = Table(
    "holds",
    metadata,
    _id("thread_id", primary_key=True),
    _id("run_id"),
    _id("agent_id"),
    _id("budget_id"),
    _fixed("kind"),
    _id("subject_id"),
    _number("until"),  # milliseconds
    _words("reason"),
    _time("created_at"),
    Index("holds_agent", "agent_id"),
    Index("holds_budget", "budget_id"),
)

_scheduled = text("next_at IS NOT NULL")
_unended = text("status = 'fired' AND ended_at IS NULL")

# What a space has an agent do, and when.
tasks = Table(
    "tasks",
    metadata,
    _id("id", primary_key=True),
    _id("space_id"),
    _id("agent_id"),
    _words("prompt"),
    _fixed("schedule_type"),  # cron | interval | once
    _fixed("schedule_value"),
    _fixed("timezone"),
    _fixed("context_mode"),  # group | isolated
    _fixed("missed"),  # once | all | none: what becomes of times at which nobody was there
    _words("precheck", null=True),  # JSON: the tool call that decides whether the model is woken at all
    _fixed("status"),  # active | paused | completed
    _words("reason", null=True),  # why it is paused, if nobody asked for that
    _number("anchor_at"),  # milliseconds: where intervals are counted from
    _number("next_at", null=True),  # milliseconds; None: it is paused or over
    _time("last_run", null=True),
    _number("failures", default=0),  # runs that failed, one after another
    _fixed("cause_kind"),  # on whose behalf it runs, with no more than they still hold of these grants
    _id("cause_id"),
    _fixed("grants"),
    _number("member", default=0),  # they were a member of the space: if they leave it, the task pauses
    _id("created_by"),
    _number("depth", default=0),  # of the run that made it
    _id("chain_id", null=True),
    _number("made_at"),  # milliseconds
    _id("outside", null=True),  # JSON: what that run had read from outside the office
    _time("created_at"),
    _time("updated_at"),
    Index("tasks_due", "next_at", "id", sqlite_where=_scheduled, postgresql_where=_scheduled),
    Index("tasks_space", "space_id", "id"),
    Index("tasks_agent", "agent_id"),
    Index("tasks_cause", "cause_id"),
)

# Each time at which a task or a plan was due: once, whoever noticed.
task_firings = Table(
    "task_firings",
    metadata,
    _id("task_id", primary_key=True),  # or the plan's
    Column("nominal_at", BigInteger, primary_key=True, autoincrement=False),  # milliseconds: when it was due
    _fixed("status"),  # fired | missed | refused | stopped | dropped
    _words("reason", null=True),
    _number("missed", default=0),  # earlier times that it stands for
    _number("manual", default=0),  # somebody wanted it now
    _id("item_id", null=True),
    _id("run_id", null=True),
    _time("fired_at"),
    _time("ended_at", null=True),  # what came of its run has been counted
    Index("task_firings_unended", "task_id", "nominal_at", sqlite_where=_unended, postgresql_where=_unended),
    Index("task_firings_old", "fired_at"),
)

# What an agent wants, knows by a key, and means to do: see src/bullpen/mind. `place` is the private space in which it
# was written and stays, or ''.
goals = Table(
    "goals",
    metadata,
    _id("agent_id", primary_key=True),
    _id("place", primary_key=True),
    _id("id", primary_key=True),
    _words("description"),
    _fixed("status"),  # active | completed | abandoned
    _number("priority", default=0),
    _id("outside", null=True),  # JSON: what the run that wrote it had read from outside the office
    _time("created_at"),
    _time("updated_at"),
    Index("goals_place", "place", "agent_id"),
)

memories = Table(
    "memories",
    metadata,
    _id("agent_id", primary_key=True),
    _id("place", primary_key=True),
    _name("key", primary_key=True),
    _words("value"),
    _id("outside", null=True),  # as of goals
    _time("created_at"),
    _time("updated_at"),
    Index("memories_place", "place", "agent_id"),
)

# Their firings are rows of `task_firings`, like those of tasks.
plans = Table(
    "plans",
    metadata,
    _id("id", primary_key=True),
    _id("agent_id"),
    _id("place"),
    _id("ref"),  # the id that its agent and people know it by; it may have been chosen
    _words("name"),
    _words("instruction"),
    _fixed("schedule_type"),  # cron | once
    _fixed("schedule_value"),
    _fixed("timezone"),
    _number("anchor_at"),  # as of tasks, which have intervals
    _fixed("shown_zone"),  # whose clocks its times are shown by
    _id("space_id", null=True),  # where its runs begin; None: in no space
    _fixed("status"),  # active | paused | completed
    _words("reason", null=True),
    _number("next_at", null=True),  # milliseconds; None: it is paused or over
    _time("last_run", null=True),
    _number("failures", default=0),
    _fixed("cause_kind"),  # as of tasks: on whose behalf it runs, and with what
    _id("cause_id"),
    _fixed("grants"),
    _number("member", default=0),
    _id("created_by"),
    _number("depth", default=0),
    _id("chain_id", null=True),
    _number("made_at"),
    _id("outside", null=True),
    _time("created_at"),
    _time("updated_at"),
    UniqueConstraint("agent_id", "place", "ref", name="plans_ref"),
    Index("plans_due", "next_at", "id", sqlite_where=_scheduled, postgresql_where=_scheduled),
    Index("plans_space", "space_id"),
    Index("plans_cause", "cause_id"),
)

# Instructions that a space keeps under a name: what people start by writing `/name`, and what waits for approval.
skills = Table(
    "skills",
    metadata,
    _id("id", primary_key=True),
    _id("space_id"),
    _name("name"),
    _words("active", null=True),  # JSON: what is followed; None: nobody has approved of it yet
    _words("proposed", null=True),  # JSON: what somebody would have instead
    _time("created_at"),
    _time("updated_at"),
    _words("earlier", null=True),  # JSON: what it said before agents changed it, oldest first; for `undo`
    UniqueConstraint("space_id", "name", name="skills_name"),
    Index("skills_space", "space_id", "id"),
)

_unsent = text("status IN ('queued', 'sending', 'unknown')")
_dead = text("status = 'dead'")
_finished = text("finished_at IS NOT NULL")
_new_message = text("kind = 'message'")
_change = text("kind <> 'message'")

# Bridges that were connected, and which process sends for each.
bridges = Table(
    "bridges",
    metadata,
    _id("id", primary_key=True),  # what the ids of its chats begin with, as tg in tg:-100…
    _id("owner", null=True),  # the process that sends for it
    _number("until", default=0),  # milliseconds of the database's clock: from then on another process may
    _time("created_at"),
)

# What has to be sent to chats elsewhere. It names the message; the words are read when they are sent.
outbox = Table(
    "outbox",
    metadata,
    # Given while the row of the space is locked, so it rises in the order of the commits of each chat.
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    _id("bridge"),
    _name("chat"),  # the id of the chat, as tg:-100…
    _id("space_id"),
    _id("message_id"),
    _fixed("kind"),  # message | edit | delete | reaction
    _id("member_id", null=True),  # of a reaction: who reacted, and with what
    _words("emoji", null=True),
    _fixed("status"),  # queued | sending | unknown | sent | dead | dropped: see outbox/rules.py
    _number("part", default=0),  # parts of the message that are there
    _number("attempts", default=0),  # attempts that were begun
    _number("failures", default=0),  # attempts that failed, one after another
    _number("next_at", default=0),  # milliseconds: no attempt before then
    _number("repeated_part", null=True),  # the mark: this part was sent a second time, because of a lost answer
    _words("error", null=True),
    _time("created_at"),
    _time("finished_at", null=True),
    Index("outbox_message", "message_id", unique=True, sqlite_where=_new_message, postgresql_where=_new_message),
    Index("outbox_change", "message_id", "kind", sqlite_where=_change, postgresql_where=_change),
    Index("outbox_unsent", "bridge", "chat", "number", sqlite_where=_unsent, postgresql_where=_unsent),
    Index("outbox_dead", "bridge", "number", sqlite_where=_dead, postgresql_where=_dead),
    Index("outbox_finished", "finished_at", sqlite_where=_finished, postgresql_where=_finished),
    Index("outbox_space", "space_id"),
    sqlite_autoincrement=True,
)

# What messages are called in the chat elsewhere. A message that was sent in parts has a row for each.
bridge_messages = Table(
    "bridge_messages",
    metadata,
    _name("chat", primary_key=True),
    _id("remote_id", primary_key=True),
    _id("space_id"),
    _id("message_id"),
    _number("part", default=0),
    _number("incoming", default=0),  # it was said there
    Index("bridge_messages_message", "message_id"),
    Index("bridge_messages_space", "space_id"),
)

# Updates of bridges that were taken: the same again changes nothing.
bridge_updates = Table(
    "bridge_updates",
    metadata,
    _id("bridge", primary_key=True),
    _id("update_id", primary_key=True),
    _time("received_at"),
    Index("bridge_updates_received", "received_at"),
)

# Who somebody is elsewhere: a person of this office who linked the account, or a guest.
bridge_accounts = Table(
    "bridge_accounts",
    metadata,
    _id("bridge", primary_key=True),
    _name("account", primary_key=True),  # what the bridge calls them: an id that does not change, not a name
    _id("person_id"),
    _time("created_at"),
    Index("bridge_accounts_person", "person_id"),
)

# What texts mean, as vectors of one length: of passages and of messages. Triggers of migration 0029 take out a row when
# its text changes or goes, so that no vector outlives its text.
vectors = Table(
    "vectors",
    metadata,
    # Never given twice, and a new one for each change: a reader that knows count and highest number knows it all.
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    _fixed("kind"),  # passage | message
    _id("item_id"),
    _id("scope"),  # what is searched together: of passages the whole scope, of messages the space
    _id("model"),
    Column("vector", LargeBinary, nullable=False),  # 16-bit floats, little-endian
    UniqueConstraint("kind", "item_id", name="vectors_item"),
    Index("vectors_scope", "kind", "model", "scope", "number"),
    sqlite_autoincrement=True,
)

# What has no vector yet. The triggers put in whatever is written, in its own transaction, while a model is wanted.
unembedded = Table(
    "unembedded",
    metadata,
    # A text that changes gets a new one, so a vector of what it said before is not kept.
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    _fixed("kind"),
    _id("item_id"),
    _id("scope"),
    _number("failures", default=0),
    _number("next_at", default=0),  # milliseconds: not before then
    UniqueConstraint("kind", "item_id", name="unembedded_item"),
    Index("unembedded_scope", "kind", "scope"),
    Index("unembedded_next", "kind", "number"),
    sqlite_autoincrement=True,
)

# The model whose vectors are wanted; no row: none are. Read by triggers, and so by its name the last table that a
# backup in lines fills: what it brings must not be queued anew (storage/copies.py).
vectors_wanted = Table(
    "vectors_wanted",
    metadata,
    _id("model", primary_key=True),
    _number("complete", default=0),  # every text was looked at: what has no vector is queued
)
