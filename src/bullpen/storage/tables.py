"""Every table, once, for both databases.

Columns are TEXT, BIGINT, REAL only, so that statements compiled once run with no bind or result processors;
`rows.py` files encode. Times people read are RFC 3339 text; deadlines are milliseconds. A change here needs a
numbered migration (storage/migrations), and a test builds the schema both ways and compares.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, Table, Text, UniqueConstraint, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.types import REAL, Double

metadata = MetaData()

# By bytes, whatever the database's locale: both databases then sort alike, and so does Python when it sorts locks.
_TEXT = Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
_DOUBLE: Any = Double().with_variant(REAL(), "sqlite")  # PostgreSQL's REAL has four bytes, SQLite's eight


def _text(name: str, *, null: bool = False, primary_key: bool = False) -> Column[Any]:
    return Column(name, _TEXT, nullable=null, primary_key=primary_key)


def _number(name: str, *, null: bool = False, default: int | None = None) -> Column[Any]:
    server_default = None if default is None else text(str(default))
    return Column(name, BigInteger, nullable=null, server_default=server_default)


meta = Table("meta", metadata, _text("key", primary_key=True), _text("value"))

schema_migrations = Table(
    "schema_migrations",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    _text("name"),
    _text("applied_at"),
)

people = Table(
    "people",
    metadata,
    _text("id", primary_key=True),
    _text("name"),
    _text("role"),  # member | admin | owner
    _text("created_at"),
    _text("login", null=True),  # the name, case folded: what signing in looks for. None: erased
    _text("password", null=True),  # argon2id; None: signs in by link or token only
    _text("disabled_at", null=True),
    _text("erased_at", null=True),
    Index("people_login", "login", unique=True),
)

sessions = Table(
    "sessions",
    metadata,
    _text("id", primary_key=True),
    _text("hash"),  # SHA-256 of the cookie
    _text("person_id"),
    _text("created_at"),
    _number("expires_at"),
    _text("ended_at", null=True),
    UniqueConstraint("hash", name="sessions_hash"),
    Index("sessions_person", "person_id"),
)

invites = Table(
    "invites",
    metadata,
    _text("id", primary_key=True),
    _text("hash"),  # SHA-256 of the code in the link
    _text("role"),
    _text("created_by"),
    _text("created_at"),
    _number("expires_at"),
    _text("used_by", null=True),
    _text("revoked_at", null=True),
    UniqueConstraint("hash", name="invites_hash"),
)

_has_parent = text("parent IS NOT NULL")
tokens = Table(
    "tokens",
    metadata,
    _text("id", primary_key=True),
    _text("hash"),  # SHA-256; the value itself is never stored
    _text("name"),
    _text("kind"),  # owner | person | agent | tools
    _text("person_id", null=True),
    _text("agent_id", null=True),
    _text("tools", null=True),
    _text("created_at"),
    _text("revoked_at", null=True),
    _text("scopes", null=True),  # JSON: grants it is limited to
    _number("expires_at", null=True),
    _text("created_by", null=True),
    _text("parent", null=True),  # the token it was made with: it ends with that one
    UniqueConstraint("hash", name="tokens_hash"),
    Index("tokens_parent", "parent", sqlite_where=_has_parent, postgresql_where=_has_parent),
)

agents = Table(
    "agents",
    metadata,
    _text("id", primary_key=True),
    _text("name"),
    _text("scope"),
    _number("max_chain_depth", null=True),
    _text("definition"),  # JSON: instructions, model, tools, limits, …
    _text("created_at"),
    _text("updated_at"),
    _text("deleted_at", null=True),
    _text("paused_at", null=True),
    _number("interrupts", default=0),  # a new message breaks off what its model is doing: whoever posts has to know
)

spaces = Table(
    "spaces",
    metadata,
    _text("id", primary_key=True),
    _text("kind"),
    _text("name"),
    _number("private", default=0),
    _number("main", default=0),
    _text("wake_people"),
    _text("wake_agents"),
    _text("trigger", null=True),
    _text("options"),  # JSON: folder, provider, model, timezone, bridge
    _number("last_seq", default=0),  # the counter: bumped in the transaction that writes the message
    _text("created_by"),
    _text("created_at"),
    _number("agents_free_at", default=0),  # when its agents have used up what they may say: rises with each message
)

members = Table(
    "members",
    metadata,
    _text("space_id", primary_key=True),
    _text("member_id", primary_key=True),
    _text("kind"),
    _number("position"),  # join order
    _number("read_seq", default=0),
    _text("joined_at"),
    Index("members_member", "member_id"),
)

_anew = text("wake = 'command:new'")
_uncounted = text("type = 'system' OR deleted_at IS NOT NULL")

messages = Table(
    "messages",
    metadata,
    _text("id", primary_key=True),
    _text("space_id"),
    _number("seq"),
    _text("author_id"),
    _text("author_kind"),
    _text("type"),
    _text("text"),
    _text("folded", null=True),  # the text case folded, unless it is ASCII: there the database's lower() is enough
    _text("status"),
    _text("reply_to", null=True),
    _text("metadata"),
    _text("client_message_id", null=True),
    _text("run_id", null=True),
    _text("chain_id", null=True),
    _number("depth", default=0),
    _text("created_at"),
    _text("edited_at", null=True),
    _text("deleted_at", null=True),
    # The policy it met, for those who ask why: all | mention | none | trigger:WORD; or command:NAME, skill:NAME.
    _text("wake", null=True),
    _number("files", default=0),  # how many it shows: most show none, and then nobody looks for them
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
    _text("message_id"),
    _text("space_id"),
    _text("created_at"),
    _text("words"),
    UniqueConstraint("message_id", name="message_words_message_id"),
)

reactions = Table(
    "reactions",
    metadata,
    _text("message_id", primary_key=True),
    _text("member_id", primary_key=True),
    _text("emoji", primary_key=True),
    _text("created_at"),
)

threads = Table(
    "threads",
    metadata,
    _text("id", primary_key=True),
    _text("agent_id"),
    _text("scope"),
    _text("anchor"),  # what makes it the only one: the space's id, '' for scope agent, its own id when fresh
    _text("space_id", null=True),
    _text("active_space_id", null=True),
    _text("state"),  # idle | queued | waiting: its run waits for a result, and nobody drives it
    _number("epoch", default=0),
    _number("run_count", default=0),
    _text("created_at"),
    _text("cause_kind", null=True),  # a thread made for one piece of work has that work's cause and grants
    _text("cause_id", null=True),
    _text("grants", null=True),
    _text("parent_id", null=True),  # the thread that made it, for a child
    _text("scoped_names", null=True),  # JSON: variables that it does not take from the threads above it
    _number("queued_at", default=0),  # when it was last queued: milliseconds of the database's clock
    UniqueConstraint("agent_id", "scope", "anchor", name="threads_anchor"),
    Index("threads_queued", "state", sqlite_where=text("state <> 'idle'"), postgresql_where=text("state <> 'idle'")),
)

leases = Table(
    "leases",
    metadata,
    _text("thread_id", primary_key=True),
    _text("owner", null=True),
    _number("epoch", default=0),
    _number("token", default=0),
    _number("until", default=0),  # milliseconds of the database's clock
    _number("since", default=0),  # when its driver took it, by the same clock
)

# What only one process of the office may hold at a time: an MCP session, a runner, a browser, a poller.
holders = Table(
    "holders",
    metadata,
    _text("name", primary_key=True),
    _text("owner", null=True),  # the process; None: nobody has it
    _number("token", default=0),  # rises with every owner
    _number("until", default=0),  # milliseconds of the database's clock
)

_unclaimed = text("claimed_by IS NULL")

inbox_items = Table(
    "inbox_items",
    metadata,
    _text("id", primary_key=True),
    _text("thread_id"),
    _text("kind"),
    _text("key"),
    _text("batch", null=True),  # the message whose agents answer one after another
    _number("rank", default=0),
    _number("due_at", default=0),
    _text("space_id", null=True),
    _text("payload"),
    _text("cause_kind"),
    _text("cause_id"),
    _text("grants"),
    _number("depth", default=0),
    _text("chain_id"),
    _number("addressed", default=0),
    _text("claimed_by", null=True),
    _text("created_at"),
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
    _text("id", primary_key=True),
    _text("thread_id"),
    _text("agent_id"),
    _text("space_id", null=True),
    _text("status"),
    _text("outcome", null=True),
    _text("stop_reason", null=True),
    _text("silence_reason", null=True),
    _text("error", null=True),
    _text("cause_kind"),
    _text("cause_id"),
    _text("grants"),
    _text("trigger"),  # JSON, as it goes over the wire
    _text("payload"),  # JSON of the newest drained item, for the model
    _text("chain_id"),
    _number("depth", default=0),
    _number("addressed", default=0),
    _number("corrected", default=0),
    _number("cancel_requested", default=0),
    _number("ordinal", default=0),  # the thread's first run is 1
    _number("step", default=0),
    _number("position", default=0),  # run messages so far
    _text("message_ids"),
    _text("acts"),  # which kinds of outcome its calls have earned so far
    _number("active_ms", default=0),
    _number("window_seq", default=0),
    _text("prompt_hash", null=True),
    _text("summary", null=True),
    _number("input_tokens", default=0),
    _number("output_tokens", default=0),
    _number("cached_tokens", default=0),
    Column("cost", _DOUBLE, nullable=False, server_default=text("0")),
    _text("started_at"),
    _text("finished_at", null=True),
    _text("outside", null=True),  # JSON: where the text came from that it read, if it came from outside the office
    _text("paused_reason", null=True),  # it is put aside: which budget is used up, as a sentence
    # Its provider was not there: when it is asked again (milliseconds), and how often the run has waited for that.
    _number("retry_at", null=True),
    _number("retries", default=0),
    _text("seen_in", null=True),  # JSON: whose text of this office it was shown: spaces, and see tools/outward.py
    # JSON: the call for which something is done just now that could kill the process. Mostly there is none.
    _text("mark", null=True),
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
    _text("id", primary_key=True),
    _text("run_id"),
    _number("position"),
    _number("step"),
    _text("type"),
    _text("call_id", null=True),
    _text("provider_call_id", null=True),
    _text("tool_name", null=True),
    _text("args", null=True),
    _text("result", null=True),
    _number("is_error", null=True),
    _text("content", null=True),
    _number("token", default=0),  # the fencing token of whoever wrote it
    _number("started", default=0),  # a call whose effect may have begun outside our database
    _text("at"),
    _text("outside", null=True),  # JSON: where a result came from, if that is outside the office
    _text("usage", null=True),  # JSON, of an answer: who gave it, the tokens, the money, how long it took
    UniqueConstraint("run_id", "position", name="run_messages_position"),
    Index(
        "run_messages_result",
        "call_id",
        unique=True,  # P5, kept by the database itself: one result per call
        sqlite_where=text("type = 'tool_return_message'"),
        postgresql_where=text("type = 'tool_return_message'"),
    ),
)

prompts = Table("prompts", metadata, _text("hash", primary_key=True), _text("text"))

events = Table(
    "events",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    _number("xid", default=0),  # PostgreSQL: the writing transaction; SQLite has one writer and needs none
    _text("type"),
    _text("space_id", null=True),
    _text("agent_id", null=True),
    _text("run_id", null=True),
    _text("audience"),  # space | owners | all
    _text("at"),
    _text("body"),  # the JSON that goes to followers, byte for byte
    Index("events_order", "xid", "id"),
    sqlite_autoincrement=True,  # a number is never used again, even after retention removed the newest
)

blocks = Table(
    "blocks",
    metadata,
    _text("agent_id", primary_key=True),
    _text("label", primary_key=True),
    _text("content"),
    _number("version", default=1),
    _text("updated_at"),
)

passages = Table(
    "passages",
    metadata,
    _text("id", primary_key=True),
    _text("agent_id"),
    _text("content"),
    _text("folded"),  # content and tags, case folded: what keywords are looked for in
    _text("tags"),
    _text("metadata"),
    _text("hash"),
    _text("created_at"),
    _text("space_id", null=True),  # the group it was learned in, and is for; None: for wherever the agent is
    UniqueConstraint("agent_id", "hash", name="passages_hash"),
)

# What an agent has written into its blocks for one group, in place of those of the same label that it has elsewhere.
group_blocks = Table(
    "group_blocks",
    metadata,
    _text("agent_id", primary_key=True),
    _text("space_id", primary_key=True),
    _text("label", primary_key=True),
    _text("content"),
    _text("updated_at"),
)

# Chats that bridges have seen, and the space that each is, once somebody has registered it.
chats = Table(
    "chats",
    metadata,
    _text("jid", primary_key=True),
    _text("name"),
    _text("space_id", null=True),
    _text("seen_at", null=True),  # None: registered before any bridge has seen it
    Index("chats_space", "space_id"),
)

variables = Table(
    "variables",
    metadata,
    _text("scope_kind", primary_key=True),  # workspace | person | space | agent | thread
    _text("scope_id", primary_key=True),  # '' for the workspace
    _text("name", primary_key=True),
    _text("type"),  # text | secret
    _text("value"),  # the text, or the sealed secret
    _text("key_id", null=True),  # what a secret is sealed with
    _number("scoped", default=0),
    _text("description"),
    _text("created_by"),
    _text("created_at"),
    _text("updated_at"),
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
    _text("id", primary_key=True),  # also where its bytes are: random, never a name somebody chose
    _text("name"),  # cleaned, for people
    _number("size"),
    _text("type"),  # what the bytes look like, not what somebody said
    _text("sha256"),
    _text("space_id", null=True),  # None: nobody but its owner has it yet
    _text("owner_kind"),
    _text("owner_id"),
    _number("attached", default=0),  # messages that show it; one that none shows is swept away after a while
    _text("thumbnail", null=True),  # JSON: width, height and type of the small picture
    _text("created_at"),
    _text("client_file_id", null=True),  # chosen by whoever uploaded it: the same again is the same file
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
    _text("message_id", primary_key=True),
    _number("position"),
    _text("file_id", primary_key=True),
    Index("message_files_file", "file_id"),
)

# How much is kept for whom: bumped in the transaction that keeps or drops a file, so a quota is one row to read.
file_usage = Table(
    "file_usage",
    metadata,
    _text("kind", primary_key=True),  # space | person | agent
    _text("id", primary_key=True),
    _number("bytes", default=0),
    _number("files", default=0),
)

# Bytes that nobody needs any more: removed from the disk after the commit that dropped their row.
dropped_files = Table(
    "dropped_files",
    metadata,
    _text("id", primary_key=True),
    _text("dropped_at"),
)

chain_stops = Table("chain_stops", metadata, _text("chain_id", primary_key=True), _text("at"))

audit = Table(
    "audit",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),  # 1, 2, 3, … without a hole
    _text("at"),
    _text("actor_kind"),
    _text("actor_id"),
    _text("action"),
    _text("object_kind"),
    _text("object_id"),
    _text("detail"),  # JSON, never a secret and never what somebody said
    _text("hash"),  # SHA-256 of the row before's hash and of this row
)

# Tools that somebody has defined: everything but the built-in ones.
tools = Table(
    "tools",
    metadata,
    _text("name", primary_key=True),
    _text("definition"),  # JSON, as it goes over the wire
    _text("hash"),  # SHA-256 of what it does: an approval of another one does not count
    _text("created_by"),
    _text("created_at"),
    _text("updated_at"),
)

_waiting = text("status = 'waiting'")
_open = text("status IN ('waiting', 'pending')")
_unresolved = text("resolved_at IS NULL")  # the same rows; the planner takes another index for another condition
_undelivered = text("status = 'resolved' AND delivered_via IS NULL")

# Calls whose result comes later: from somebody's program, from a person, or after an approval.
pending_calls = Table(
    "pending_calls",
    metadata,
    _text("call_id", primary_key=True),
    _text("kind"),  # external | space | approval | variables | takeover
    _text("status"),  # waiting: a run waits for it | pending: it will come by inbox | resolved | expired | cancelled
    _text("agent_id"),
    _text("run_id"),
    _text("thread_id"),
    _text("space_id", null=True),
    _text("tool_name"),
    _text("args"),
    _text("result", null=True),
    _text("answered_by", null=True),
    _text("delivered_via", null=True),  # inline | inbox: an accepted result reaches its agent by one of them, once
    _number("visible", default=0),
    _number("deadline_at", null=True),  # milliseconds: how long a run waits
    _number("expires_at", null=True),  # milliseconds: how long an answer is taken
    _text("progress", null=True),  # JSON: what whoever carries it out has said last
    _text("cause_kind"),
    _text("cause_id"),
    _text("grants"),
    _number("depth", default=0),
    _text("chain_id"),
    _text("created_at"),
    _text("resolved_at", null=True),
    # Of approvals only: the tool as it was shown, what the approval holds for, how often it was asked for, and how far
    # the approved call has come (inline: its run has begun it | queued, started: after its run had gone on).
    _text("tool_hash", null=True),
    _text("hash", null=True),
    _number("asks", default=0),
    _text("execution", null=True),
    _text("outside", null=True),  # JSON: what its run had read from outside the office when it asked
    _text("spaces", null=True),  # JSON, of approvals: which spaces the call touches
    _text("reason", null=True),  # outward: no policy asks for the approval, but what its run has read
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
    _text("id", primary_key=True),
    _text("key"),  # SHA-256 of agent, space, tool and condition: each has one decision
    _text("agent_id"),
    _text("space_id", null=True),  # None: wherever the agent is
    _text("tool_name"),
    _text("decision"),  # allow | ask | deny
    _text("condition", null=True),  # JSON: for which arguments; see tools/policies.py
    _text("tool_hash", null=True),  # it came of an approval: it holds for the tool as it was then
    _text("created_by"),
    _text("created_at"),
    UniqueConstraint("key", name="policies_key"),
    Index("policies_agent", "agent_id", "tool_name"),
    Index("policies_space", "space_id"),
)

# Secret addresses, each of which wakes one agent.
hooks = Table(
    "hooks",
    metadata,
    _text("id", primary_key=True),
    _text("hash"),  # SHA-256; the secret itself is never stored
    _text("name"),
    _text("agent_id"),
    _text("person_id"),  # who made it: it gives what they still hold of these grants
    _text("grants"),
    _text("created_at"),
    _text("used_at", null=True),
    UniqueConstraint("hash", name="hooks_hash"),
    Index("hooks_agent", "agent_id"),
    Index("hooks_person", "person_id"),
)

# What a hook was told under a key of the sender's: the same again wakes nobody.
hook_uses = Table(
    "hook_uses",
    metadata,
    _text("hook_id", primary_key=True),
    _text("key", primary_key=True),  # SHA-256 of the sender's key
    _text("digest"),  # SHA-256 of what was said
    _text("item_id"),
    _text("created_at"),
    Index("hook_uses_created", "created_at"),
)

_enabled = text("enabled = 1")
_queued = text("status = 'queued'")
_over = text("status <> 'queued'")

# Addresses of people that are told when something waits for them.
webhooks = Table(
    "webhooks",
    metadata,
    _text("id", primary_key=True),
    _text("person_id"),
    _text("url"),
    _text("events"),  # JSON: mention, tool.requires_action
    _text("members"),  # JSON: whose mentions; empty: the person's own
    _text("grants"),  # what its person held when it was made: it is told what they still may see of that
    _text("secret"),  # sealed: what its deliveries are signed with
    _text("key_id"),  # what that is sealed with
    _number("enabled", default=1),
    _text("reason", null=True),  # why it is not enabled
    _number("failures", default=0),  # attempts that failed, one after another
    _text("last_error", null=True),
    _text("created_at"),
    _text("delivered_at", null=True),
    Index("webhooks_person", "person_id", "id"),
    Index("webhooks_enabled", "person_id", sqlite_where=_enabled, postgresql_where=_enabled),
    Index("webhooks_key", "key_id"),
)

# What a webhook is told of, by name only: the words are read when it is sent.
webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    _text("id", primary_key=True),  # the `webhook-id` of each attempt
    _text("webhook_id"),
    _text("type"),
    _text("key"),  # the same thing is told once
    _text("subject_id"),  # the message or the call
    _text("space_id", null=True),
    _text("status"),  # queued | delivered | failed | dropped: there was nothing to tell any more
    _number("attempts", default=0),
    _number("next_attempt_at"),  # milliseconds; while one is under way, when another process may take it over
    _number("last_status", null=True),
    _text("last_error", null=True),
    _text("created_at"),
    _text("finished_at", null=True),
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

# How much may be spent in a day or a month: by an agent, in a space, for a person or a task, or by the whole office.
budgets = Table(
    "budgets",
    metadata,
    _text("id", primary_key=True),
    _text("kind"),  # agent | space | person | task | office
    _text("subject_id"),  # '' for the office
    _text("period"),  # day | month
    _text("unit"),  # USD | tokens
    _text("origin"),  # set: by somebody | limits: it stands in the agent's definition
    _number("amount"),  # billionths of a dollar, or tokens
    # What happened in the period that began then; before and after it, it has not happened.
    _text("since"),
    _number("extra", default=0),  # somebody let it go on: so much more may be spent
    _text("warned_at", null=True),
    _text("reached_at", null=True),
    _text("created_by"),
    _text("created_at"),
    _text("updated_at"),
    UniqueConstraint("kind", "subject_id", "period", "unit", "origin", name="budgets_key"),
)

# What was spent, added up in the transaction that keeps each answer of a model: a budget is a few rows to read.
spending = Table(
    "spending",
    metadata,
    _text("kind", primary_key=True),  # agent | space | person | task
    _text("id", primary_key=True),  # '': no space, or no person
    _text("day", primary_key=True),  # 2026-01-31, UTC
    _text("model", primary_key=True),  # who answered; '': from before this was kept
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
    _text("thread_id", primary_key=True),
    _text("run_id"),
    _text("agent_id"),
    _text("budget_id"),
    _text("kind"),
    _text("subject_id"),
    _number("until"),  # milliseconds
    _text("reason"),
    _text("created_at"),
    Index("holds_agent", "agent_id"),
    Index("holds_budget", "budget_id"),
)

_scheduled = text("next_at IS NOT NULL")
_unended = text("status = 'fired' AND ended_at IS NULL")

# What a space has an agent do, and when.
tasks = Table(
    "tasks",
    metadata,
    _text("id", primary_key=True),
    _text("space_id"),
    _text("agent_id"),
    _text("prompt"),
    _text("schedule_type"),  # cron | interval | once
    _text("schedule_value"),
    _text("timezone"),
    _text("context_mode"),  # group | isolated
    _text("missed"),  # once | all | none: what becomes of times at which nobody was there
    _text("precheck", null=True),  # JSON: the tool call that decides whether the model is woken at all
    _text("status"),  # active | paused | completed
    _text("reason", null=True),  # why it is paused, if nobody asked for that
    _number("anchor_at"),  # milliseconds: where intervals are counted from
    _number("next_at", null=True),  # milliseconds; None: it is paused or over
    _text("last_run", null=True),
    _number("failures", default=0),  # runs that failed, one after another
    _text("cause_kind"),  # on whose behalf it runs, with no more than they still hold of these grants
    _text("cause_id"),
    _text("grants"),
    _number("member", default=0),  # they were a member of the space: if they leave it, the task pauses
    _text("created_by"),
    _number("depth", default=0),  # of the run that made it
    _text("chain_id", null=True),
    _number("made_at"),  # milliseconds
    _text("outside", null=True),  # JSON: what that run had read from outside the office
    _text("created_at"),
    _text("updated_at"),
    Index("tasks_due", "next_at", "id", sqlite_where=_scheduled, postgresql_where=_scheduled),
    Index("tasks_space", "space_id", "id"),
    Index("tasks_agent", "agent_id"),
    Index("tasks_cause", "cause_id"),
)

# Each time at which a task was due: once, whoever noticed.
task_firings = Table(
    "task_firings",
    metadata,
    _text("task_id", primary_key=True),
    Column("nominal_at", BigInteger, primary_key=True, autoincrement=False),  # milliseconds: when it was due
    _text("status"),  # fired | missed | refused | stopped | dropped
    _text("reason", null=True),
    _number("missed", default=0),  # earlier times that it stands for
    _number("manual", default=0),  # somebody wanted it now
    _text("item_id", null=True),
    _text("run_id", null=True),
    _text("fired_at"),
    _text("ended_at", null=True),  # what came of its run has been counted
    Index("task_firings_unended", "task_id", "nominal_at", sqlite_where=_unended, postgresql_where=_unended),
    Index("task_firings_old", "fired_at"),
)

# Instructions that a space keeps under a name: what people start by writing `/name`, and what waits for approval.
skills = Table(
    "skills",
    metadata,
    _text("id", primary_key=True),
    _text("space_id"),
    _text("name"),
    _text("active", null=True),  # JSON: what is followed; None: nobody has approved of it yet
    _text("proposed", null=True),  # JSON: what somebody would have instead
    _text("created_at"),
    _text("updated_at"),
    UniqueConstraint("space_id", "name", name="skills_name"),
    Index("skills_space", "space_id", "id"),
)
