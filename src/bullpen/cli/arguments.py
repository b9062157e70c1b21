"""What can be typed: every command and option of `bullpen`, and which module carries it out.

Standard library only, since `--help` must not wait for imports. Names of statuses are therefore written out here; a
test compares them with `bullpen.wire`.
"""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bullpen import __version__

ROLES = ("member", "admin", "owner")
SCOPES = ("space", "agent", "person", "thread")
WEBHOOK_EVENTS = ("mention", "tool.requires_action")
BUDGET_KINDS = ("agent", "space", "person", "task", "office")
USAGE_BY = ("agent", "space", "person", "day", "model")
DECISIONS = ("allow", "ask", "deny")
PENDING_KINDS = ("external", "space", "approval", "variables", "takeover")
PENDING_STATUSES = ("waiting", "pending", "resolved", "expired", "cancelled")
SCHEDULE_TYPES = ("cron", "interval", "once")
CONTEXT_MODES = ("group", "isolated")
MISSED = ("once", "all", "none")
TASK_STATUSES = ("active", "paused", "completed", "all")
RUN_STATUSES = ("queued", "thinking", "acting", "waiting", "completed", "failed", "cancelled")

Add = Callable[..., ArgumentParser]


def parser() -> ArgumentParser:
    top = ArgumentParser(
        prog="bullpen",
        description="An office where AI agents and people share the same rooms, and agents act only through tools.",
        epilog=(
            "Commands that talk to a server use BULLPEN_URL and BULLPEN_TOKEN; without a token, "
            "the socket that a running server keeps in the data folder."
        ),
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"bullpen {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def add(name: str, module: str, help: str, **more: Any) -> ArgumentParser:
        command = commands.add_parser(name, help=help, description=help, allow_abbrev=False, **more)
        command.set_defaults(module=module)
        command.add_argument("--data", type=Path, metavar="DIR", help="the data folder (BULLPEN_DATA, ./bullpen-data)")
        return command

    _add_server(add)
    _add_operator(add)
    _add_variables(add)
    _add_policies(add)
    _add_budgets(add)
    _add_models(add)
    _add_tasks(add)
    _add_groups(add)
    _add_skills(add)
    _add_memory(add)
    _add_hooks(add)
    _add_webhooks(add)
    _add_bridges(add)
    _add_brakes(add)
    _add_talk(add)
    _add_listings(add)
    return top


def _add_server(add: Add) -> None:
    serve = add("serve", "serve", "Run the server: API, page and worker in one process.")
    serve.add_argument("--host", help="address to listen on (127.0.0.1)")
    serve.add_argument("--port", type=_port, help="port to listen on (8420)")
    serve.add_argument("--demo", metavar="NAME", help="load an example first: office, companion, gateway, assistant")
    serve.add_argument("--project", type=Path, metavar="DIR", help="apply a project folder first, at every start")
    add("worker", "worker", "Run one more worker process (PostgreSQL).")
    add("migrate", "migrate", "Bring the database to this version, after a backup.")


def _add_operator(add: Add) -> None:
    token = add("token", "token", "Make access tokens.")
    actions = token.add_subparsers(title="actions", metavar="ACTION", required=True)
    create = actions.add_parser(
        "create",
        help="Make a token and print it, alone, on stdout.",
        description="Make a token and print it, alone, on stdout. It is shown this once.",
        allow_abbrev=False,
    )
    create.add_argument("--name", required=True, help="what the token is for; with --owner, also the owner's name")
    holder = create.add_mutually_exclusive_group()
    holder.add_argument("--owner", action="store_true", help="may do everything; on a new server this is the claim")
    holder.add_argument("--agent", metavar="ID", help="acts as this agent")
    holder.add_argument("--tools", type=_names, metavar="A,B", help="may answer the calls of these tools, nothing else")
    # Given before or after `create`; a default here would hide one that was given before.
    create.add_argument("--data", type=Path, metavar="DIR", help="the data folder", default=SUPPRESS)
    create.add_argument("--scopes", type=_names, metavar="A,B", help="limit it to these grants; `read` only looks")
    create.add_argument("--days", type=int, help="how long it works; otherwise until it is revoked")
    create.set_defaults(action="create")

    _add_people(add, actions)
    audit = add("audit", "audit", "List who did what, newest first; `audit verify` checks that nobody has changed it.")
    audit.add_argument("what", nargs="?", choices=("list", "verify"), default="list", help="list (default) or verify")
    audit.add_argument("--action", metavar="NAME", help="only this action, e.g. token.created")
    audit.add_argument("--actor", metavar="ID", help="only what this person or agent did")
    audit.add_argument("--object", metavar="ID", help="only what was done to this")
    audit.add_argument("--limit", type=_count, help="at most this many (50; up to 200)")
    audit.add_argument("--cursor", help="go on where an earlier listing ended")
    _add_json(audit)
    doctor = add("doctor", "doctor", "Check every part for real, and say what to do about what is wrong.")
    doctor.add_argument(
        "--models", action="store_true", help="ask each provider whose key is in the settings one short question"
    )
    _add_json(doctor)

    _add_upkeep(add)
    apply = add(
        "apply", "apply", "Load agents, spaces, tools and skills from a file or folder. Doing it again changes nothing."
    )
    apply.add_argument("path", type=Path, metavar="PATH", help="YAML or JSON file, or a project folder")
    apply.add_argument("--model", help="run every agent on this model, e.g. openai:NAME (BULLPEN_MODEL)")
    apply.add_argument("--approve-skills", action="store_true", help="you have read its skills: make them active")
    _add_json(apply)


def _add_people(add: Add, token_actions: Any) -> None:
    for name, help in (("list", "List the tokens that work."), ("revoke", "End a token, also for what it has open.")):
        action = token_actions.add_parser(name, help=help, description=help, allow_abbrev=False)
        action.add_argument("--data", type=Path, metavar="DIR", help="the data folder", default=SUPPRESS)
        action.set_defaults(action=name)
        if name == "list":
            _add_json(action)
        else:
            action.add_argument("id", metavar="ID", help="id of the token, as `token list` shows it")
    invite = add("invite", "invite", "Make a link that lets one person in, once.")
    invite.add_argument("--role", choices=ROLES, default="member", help="what they may do (member)")
    invite.add_argument("--hours", type=int, default=72, help="how long the link works (72)")
    _add_json(invite)
    password = add("password", "password", "Give a person a new password; it is asked for, or read from stdin.")
    password.add_argument("name", metavar="NAME", nargs="?", help="whose; the owner's if left out")


def _add_variables(add: Add) -> None:
    variables = add("variables", "variables", "List variables; `variables set` and `variables delete` change them.")
    actions = variables.add_subparsers(title="actions", metavar="ACTION")
    change = {
        "set": "Give a variable a value, which is asked for or read from stdin.",
        "delete": "Take a variable back.",
    }
    listing = _add_scope(variables)
    listing.add_argument("--limit", type=_count, help="at most this many (50; up to 200)")
    listing.add_argument("--cursor", help="go on where an earlier listing ended")
    _add_json(listing)
    variables.set_defaults(action="list")
    for name, help in change.items():
        action = actions.add_parser(name, help=help, description=help, allow_abbrev=False)
        action.add_argument("name", metavar="NAME")
        action.add_argument("--data", type=Path, metavar="DIR", help="the data folder", default=SUPPRESS)
        _add_scope(action, default=SUPPRESS)
        action.set_defaults(action=name)
        if name == "set":
            action.add_argument("--secret", action="store_true", help="seal it: nobody can read it again")
            action.add_argument(
                "--scoped", action="store_true", help="not for threads below, unless it is given to them"
            )
            action.add_argument("--description", default="", help="what it is for")
    keys = add("keys", "keys", "List the keys that secrets are sealed with; `keys rotate` makes a new one.")
    what = "list (default); rotate; or abandon: delete secrets whose key is lost for good"
    keys.add_argument("what", nargs="?", choices=("list", "rotate", "abandon"), default="list", help=what)
    keys.add_argument("--yes", action="store_true", help="abandon: say so, nothing brings them back")
    _add_json(keys)


def _add_policies(add: Add) -> None:
    policies = add("policies", "policies", "List what agents may do with tools; `policies set` and `delete` change it.")
    actions = policies.add_subparsers(title="actions", metavar="ACTION")
    policies.add_argument("--agent", metavar="ID", help="only those of this agent")
    policies.add_argument("--space", metavar="ID", help="only those for this space")
    policies.add_argument("--limit", type=_count, help="at most this many (50; up to 200)")
    policies.add_argument("--cursor", help="go on where an earlier listing ended")
    _add_json(policies)
    policies.set_defaults(action="list")
    put = actions.add_parser(
        "set",
        help="Decide whether an agent may use a tool.",
        description="Decide whether an agent may use a tool. A `deny` from anywhere wins.",
        allow_abbrev=False,
    )
    put.add_argument("agent", metavar="AGENT", help="id of the agent")
    put.add_argument("tool", metavar="TOOL", help="name of the tool")
    put.add_argument("decision", choices=DECISIONS, help="ask: somebody has to approve each call")
    put.add_argument("--space", metavar="ID", help="only in this space", default=SUPPRESS)
    put.add_argument(
        "--when", metavar="JSON", help='only for some arguments: {"path": "amount", "op": "gt", "value": 100}'
    )
    put.add_argument(
        "--source", metavar="SOURCE", help="only for calls that text from there may cause: a host, file, …"
    )
    delete = actions.add_parser(
        "delete", help="Take a policy back.", description="Take a policy back.", allow_abbrev=False
    )
    delete.add_argument("id", metavar="ID", help="id of the policy, as `bullpen policies` shows it")
    for action, name in ((put, "set"), (delete, "delete")):
        action.add_argument("--data", type=Path, metavar="DIR", help="the data folder", default=SUPPRESS)
        action.set_defaults(action=name)


def _add_budgets(add: Add) -> None:
    budgets = add("budgets", "budgets", "List what may be spent, and what was; `budgets set` and `delete` change it.")
    actions = budgets.add_subparsers(title="actions", metavar="ACTION")
    _add_json(budgets)
    budgets.set_defaults(action="list", verb="budgets")
    put = _add_action(actions, "set", "Say how much may be spent in a day or a month, instead of what was said before.")
    put.add_argument("kind", choices=BUDGET_KINDS, help="whose: an agent's, what is spent in a space, for a person, …")
    put.add_argument("of", metavar="ID", nargs="?", help="id of the agent, space, person or task; none for the office")
    put.add_argument("amount", metavar="AMOUNT", type=_amount, help="US dollars; with --tokens, tokens")
    put.add_argument("--per", choices=("day", "month"), default="day", help="day (default) or month, in UTC")
    put.add_argument("--tokens", action="store_true", help="count tokens, in and out, instead of money")
    delete = _add_action(actions, "delete", "Take a budget back: what it had stopped goes on.")
    delete.add_argument("id", metavar="ID", help="id of the budget, as `bullpen budgets` shows it")
    usage = add("usage", "budgets", "Show what was used: tokens and money, by agent, space, person, day or model.")
    usage.add_argument("--by", choices=USAGE_BY, default="agent", help="agent (default), space, person, day or model")
    usage.add_argument("--days", type=_days, help="how far back, today included (30; up to 366)")
    usage.set_defaults(verb="usage")
    _add_json(usage)


def _add_models(add: Add) -> None:
    models = add("models", "models", "List connections: where models are asked; the actions change them.")
    actions = models.add_subparsers(title="actions", metavar="ACTION")
    models.add_argument("--json", action="store_true", help="machine-readable output")
    models.set_defaults(action="list")
    listed = _add_action(actions, "list", "List the models that a connection offers, and their prices.")
    listed.add_argument("id", metavar="ID", help="id or name of the connection")
    listed.add_argument("--json", action="store_true", help="machine-readable output", default=SUPPRESS)
    made = _add_action(actions, "add", "Connect a provider, or a server at an address. Prints the connection's id.")
    made.add_argument("where", metavar="WHERE", help="anthropic, openai, or an address such as http://127.0.0.1:11434")
    made.add_argument("--name", help="what it is called here")
    made.add_argument("--key", action="store_true", help="it needs a key, which is asked for or read from stdin")
    check = _add_action(actions, "check", "Ask one model of a connection a question; says what failed.")
    check.add_argument("id", metavar="ID", help="id or name of the connection")
    check.add_argument("model", metavar="MODEL", help="as its server calls it")
    check.add_argument("--json", action="store_true", help="machine-readable output", default=SUPPRESS)
    price = _add_action(actions, "price", "Say what a model costs, in dollars for a million tokens.")
    price.add_argument("id", metavar="ID", help="id or name of the connection")
    price.add_argument("model", metavar="MODEL", help="as its server calls it")
    price.add_argument("input", metavar="IN", type=float, help="for what it reads; 0 if it is free")
    price.add_argument("output", metavar="OUT", type=float, help="for what it writes")
    price.add_argument("--cached", metavar="DOLLARS", type=float, help="for what it reads from its cache")
    price.add_argument("--context", metavar="TOKENS", type=_count, help="the most it takes at once")
    default = _add_action(actions, "default", "Say what new agents run on; without a model: nothing.")
    default.add_argument("id", metavar="ID", help="id or name of the connection")
    default.add_argument("model", metavar="MODEL", nargs="?", help="as its server calls it")
    remove = _add_action(actions, "remove", "End a connection; its key goes with it. Refused while agents use it.")
    remove.add_argument("id", metavar="ID", help="id or name of the connection")
    check = add("check-model", "check_model", "Ask a model one question: is it reached, is the key accepted?")
    check.add_argument("model", metavar="MODEL", help="as an agent names it: provider:name")
    check.add_argument("--key-variable", metavar="NAME", help="the variable with the key, if not the usual one")
    _add_json(check)


def _add_tasks(add: Add) -> None:
    tasks = add("tasks", "tasks", "List what is scheduled, with its next times; the actions change it.")
    actions = tasks.add_subparsers(title="actions", metavar="ACTION")
    tasks.add_argument("--space", metavar="ID", help="only those of this space")
    tasks.add_argument("--agent", metavar="ID", help="only those of this agent")
    tasks.add_argument("--status", choices=TASK_STATUSES, help="otherwise active and paused ones")
    _add_page(tasks)
    tasks.set_defaults(action="list")
    create = _add_action(actions, "create", "Schedule something, and print the task's id and its next times.")
    create.add_argument("space", metavar="SPACE", help="id of the space")
    create.add_argument("type", choices=SCHEDULE_TYPES)
    create.add_argument("value", metavar="WHEN", help='"0 9 * * *", 10m, or 2026-02-01T15:30:00 in local time')
    create.add_argument("prompt", metavar="PROMPT", help="what the agent is to do then")
    create.add_argument("--agent", metavar="ID", help="which agent, if the space has several", default=SUPPRESS)
    create.add_argument("--context", choices=CONTEXT_MODES, help="group (default): with the history of the space")
    create.add_argument("--timezone", metavar="ZONE", help="otherwise the space's, else the server's (TZ)")
    create.add_argument("--missed", choices=MISSED, help="when nobody was there: once (default), all or none")
    said = {
        "show": "Show one task.",
        "firings": "List the times at which a task was due, newest first, and what came of them.",
        "pause": "Pause a task.",
        "resume": "Resume a task: it goes on with its next time.",
        "run": "Fire a task now, besides its schedule.",
        "cancel": "Cancel a task; it is gone, with its history.",
    }
    for name, help in said.items():
        action = _add_action(actions, name, help)
        action.add_argument("id", metavar="ID", help="id of the task, as `bullpen tasks` shows it")
        if name == "firings":
            action.add_argument("--limit", type=_count, help="at most this many (50; up to 200)", default=SUPPRESS)
            action.add_argument("--cursor", help="go on where an earlier listing ended", default=SUPPRESS)
    for action in actions.choices.values():
        action.add_argument("--json", action="store_true", help="machine-readable output", default=SUPPRESS)


def _add_groups(add: Add) -> None:
    groups = add("groups", "groups", "List the groups; `groups chats` and `register` make chats elsewhere into groups.")
    actions = groups.add_subparsers(title="actions", metavar="ACTION")
    _add_page(groups)
    groups.set_defaults(action="list")
    register = _add_action(actions, "register", "Make a chat elsewhere a group, and print the group's id.")
    register.add_argument("jid", metavar="JID", help="the chat, as in tg:-1001234567890")
    register.add_argument("name", metavar="NAME", help="what the group is called")
    register.add_argument("folder", metavar="FOLDER", help="lowercase, with hyphens: family-chat; it is the id as well")
    register.add_argument("trigger", metavar="TRIGGER", help="the word that wakes its agents, as in @Andy")
    register.add_argument("--members", type=_names, default=[], metavar="A,B", help="ids of its agents and people")
    register.add_argument("--provider", metavar="NAME", help="whose model its agents think with, if not their own")
    register.add_argument("--model", metavar="NAME", help="which one")
    chats = _add_action(actions, "chats", "List the chats that bridges have seen and that are no groups yet.")
    chats.add_argument("--limit", type=_count, help="at most this many (50; up to 200)", default=SUPPRESS)
    chats.add_argument("--cursor", help="go on where an earlier listing ended", default=SUPPRESS)
    for action in actions.choices.values():
        action.add_argument("--json", action="store_true", help="machine-readable output", default=SUPPRESS)


def _add_skills(add: Add) -> None:
    skills = add("skills", "skills", "List the skills of spaces; the actions store, approve, start, import and export.")
    actions = skills.add_subparsers(title="actions", metavar="ACTION")
    skills.add_argument("--space", metavar="ID", help="only those of this space", default=None)
    _add_page(skills)
    skills.set_defaults(action="list")
    said = {
        "show": "Show what a skill says, and what is proposed for it.",
        "store": "Store a skill, over one that has this name.",
        "approve": "Approve of what is proposed: people can start it then. Prints what changes.",
        "reject": "Forget what is proposed. What is active stays.",
        "undo": "Take back what an agent has stored at once: it says what it said before, or is gone.",
        "delete": "Delete a skill.",
        "invoke": "Start a skill, as if you had written /NAME in the space.",
        "import": "Take skills from SKILL.md folders. They wait for approval.",
        "export": "Write the active skills of a space as SKILL.md folders.",
    }
    made = {name: _add_action(actions, name, help) for name, help in said.items()}
    for name, action in made.items():
        action.add_argument("space", metavar="SPACE", help="id of the space", default=SUPPRESS)
        if name not in ("import", "export"):
            action.add_argument("name", metavar="NAME", help="the name behind the slash")
        action.add_argument("--json", action="store_true", help="machine-readable output", default=SUPPRESS)
    made["store"].add_argument("instructions", metavar="FILE", help="what to do, step by step; - reads it from stdin")
    made["store"].add_argument("--description", metavar="TEXT", required=True, help="a line for lists")
    made["store"].add_argument("--parameters", metavar="TEXT", help="what may be written behind the name")
    made["store"].add_argument("--agent", metavar="ID", help="who follows it; otherwise the first agent of the space")
    made["approve"].add_argument("--hash", help="approve only this proposal, as `skills show` names it")
    made["undo"].add_argument("--hash", help="take back only this, as `skills show --json` names it")
    made["invoke"].add_argument("parameters", metavar="TEXT", nargs="*", help="what to write behind the name")
    made["invoke"].add_argument("--key", metavar="TEXT", help="the same key again starts nothing and tells the same")
    made["import"].add_argument("path", metavar="PATH", type=Path, help="a SKILL.md, its folder, or a folder of such")
    made["import"].add_argument("--approve", action="store_true", help="you have looked at them: make them active")
    made["export"].add_argument("folder", metavar="FOLDER", type=Path, help="where to write NAME/SKILL.md")
    made["export"].add_argument("names", metavar="NAME", nargs="*", help="only these")


def _add_memory(add: Add) -> None:
    memory = add("memory", "memory", "List what agents and spaces remember; the actions search, export and import it.")
    actions = memory.add_subparsers(title="actions", metavar="ACTION")
    memory.set_defaults(action="list")
    said = {
        "list": "List the newest passages of an agent or a space.",
        "search": "Find passages by their words, the best first.",
        "export": "Write passages as lines of JSON, of all agents and spaces that you may read, or of one.",
        "import": "Store the passages that `memory export` has written.",
    }
    made = {name: _add_action(actions, name, help) for name, help in said.items()}
    for name, action in made.items():
        action.add_argument("--agent", metavar="ID", help="only what this agent remembers")
        action.add_argument("--space", metavar="ID", help="only what this space remembers")
        action.add_argument("--json", action="store_true", help="machine-readable output", default=SUPPRESS)
        if name in ("list", "search"):
            action.add_argument("--tags", type=_names, default=[], metavar="A,B", help="only with all of these tags")
            action.add_argument("--limit", type=_count, help="at most this many (50; up to 200)")
            action.add_argument("--cursor", help="go on where an earlier listing ended")
    made["search"].add_argument("text", metavar="TEXT", help="words to look for, in any order")
    made["export"].add_argument("file", metavar="FILE", help="where to write; - writes to stdout")
    made["export"].add_argument("--force", action="store_true", help="replace a file that is there")
    made["import"].add_argument("file", metavar="FILE", help="what to read; - reads stdin")
    made["import"].add_argument("--create", action="store_true", help="make the agents and spaces that are not there")
    made["import"].add_argument("--model", metavar="NAME", help="what agents that are made think with")
    memory.add_argument("--json", action="store_true", help="machine-readable output", default=False)
    memory.set_defaults(agent=None, space=None, tags=[], limit=None, cursor=None)


def _add_hooks(add: Add) -> None:
    hooks = add("hooks", "hooks", "List secret addresses that wake an agent; `hooks create` and `revoke` change them.")
    actions = hooks.add_subparsers(title="actions", metavar="ACTION")
    hooks.add_argument("--agent", metavar="ID", help="only those of this agent")
    _add_page(hooks)
    hooks.set_defaults(action="list")
    create = _add_action(
        actions, "create", "Make a hook and print its address, alone, on stdout. It is shown this once."
    )
    create.add_argument("agent", metavar="AGENT", help="id of the agent that it wakes")
    create.add_argument("--name", required=True, help="who will ring it; the agent is told")
    create.add_argument("--json", action="store_true", help="machine-readable output", default=SUPPRESS)
    revoke = _add_action(actions, "revoke", "End a hook: its address leads nowhere from then on.")
    revoke.add_argument("id", metavar="ID", help="id of the hook, as `bullpen hooks` shows it")


def _add_bridges(add: Add) -> None:
    bridges = add("bridges", "bridges", "List bridges to chats elsewhere, and what waits to be sent there.")
    actions = bridges.add_subparsers(title="actions", metavar="ACTION")
    bridges.add_argument("--json", action="store_true", help="machine-readable output")
    bridges.set_defaults(action="list")
    dead = _add_action(actions, "dead", "List what could not be sent, newest first.")
    dead.add_argument("id", metavar="BRIDGE", help="as `bullpen bridges` shows it")
    dead.add_argument("--json", action="store_true", help="machine-readable output", default=SUPPRESS)
    dead.add_argument("--limit", type=_count, help="at most this many (50; up to 200)", default=None)
    dead.add_argument("--cursor", help="go on where an earlier listing ended", default=None)
    for name, help in {"retry": "Send a dead entry after all.", "drop": "Never send a dead entry."}.items():
        action = _add_action(actions, name, help)
        action.add_argument("id", metavar="BRIDGE", help="as `bullpen bridges` shows it")
        action.add_argument("entry", metavar="ENTRY", help="as `bullpen bridges dead BRIDGE` shows it")


def _add_webhooks(add: Add) -> None:
    webhooks = add("webhooks", "webhooks", "List addresses that are told when something waits for you.")
    actions = webhooks.add_subparsers(title="actions", metavar="ACTION")
    _add_page(webhooks)
    webhooks.set_defaults(action="list")
    create = _add_action(actions, "create", "Make a webhook and print what it signs with, alone, on stdout, this once.")
    create.add_argument("url", metavar="URL", help="where to tell you")
    create.add_argument("--events", type=_events, metavar="A,B", help=f"of what: {', '.join(WEBHOOK_EVENTS)} (all)")
    create.add_argument("--members", type=_names, metavar="A,B", help="whose mentions; otherwise your own")
    create.add_argument("--json", action="store_true", help="machine-readable output", default=SUPPRESS)
    said = {
        "delete": "End a webhook.",
        "enable": "Switch a webhook on again.",
        "disable": "Switch a webhook off.",
        "test": "Send a ping now, and say what came back.",
        "deliveries": "List what a webhook was told, newest first.",
    }
    for name, help in said.items():
        action = _add_action(actions, name, help)
        action.add_argument("id", metavar="ID", help="id of the webhook, as `bullpen webhooks` shows it")
        if name in ("test", "deliveries"):
            action.add_argument("--json", action="store_true", help="machine-readable output", default=SUPPRESS)
        if name == "deliveries":
            action.add_argument("--limit", type=_count, help="at most this many (50; up to 200)", default=SUPPRESS)
            action.add_argument("--cursor", help="go on where an earlier listing ended", default=SUPPRESS)


def _add_action(actions: Any, name: str, help: str) -> ArgumentParser:
    action: ArgumentParser = actions.add_parser(name, help=help, description=help, allow_abbrev=False)
    action.add_argument("--data", type=Path, metavar="DIR", help="the data folder", default=SUPPRESS)
    action.set_defaults(action=name)
    return action


def _add_page(listing: ArgumentParser) -> None:
    listing.add_argument("--limit", type=_count, help="at most this many (50; up to 200)")
    listing.add_argument("--cursor", help="go on where an earlier listing ended")
    _add_json(listing)


def _add_scope(command: ArgumentParser, default: Any = None) -> ArgumentParser:
    scope = command.add_mutually_exclusive_group()
    for kind in SCOPES:
        help = f"of this {kind}, instead of the whole office"
        scope.add_argument(f"--{kind}", metavar="ID", help=help, default=default)
    return command


def _add_brakes(add: Add) -> None:
    pause = add("pause", "pause", "Pause an agent, or all: what they do stops at its next safe place, and keeps it.")
    resume = add("resume", "pause", "Let an agent, or all, go on exactly where they were.")
    for command, verb in ((pause, "pause"), (resume, "resume")):
        command.set_defaults(verb=verb)
        command.add_argument("agent", metavar="AGENT", nargs="?", help="id of the agent")
        command.add_argument("--all", action="store_true", help="all agents, those to come as well")
        _add_json(command)
    retry = add("retry", "retry", "Have a run that is over done once more.")
    retry.add_argument("run", metavar="RUN", help="id of the run, as `bullpen runs` shows it")
    retry.add_argument("--key", metavar="KEY", help="repeat this command with the same key, and it makes no second run")
    _add_json(retry)
    stop = add("stop", "stop", "Cancel a run, or everything an agent is doing.")
    stop.add_argument("run", metavar="RUN", nargs="?", help="id of the run")
    stop.add_argument("--agent", metavar="ID", help="whatever this agent is doing just now")
    _add_json(stop)


def _add_upkeep(add: Add) -> None:
    backup = add("backup", "backup", "Write the whole office into a file, also while a server runs.")
    backup.add_argument(
        "file", type=Path, metavar="FILE", help="NAME.tar (with the files), NAME.db (SQLite) or NAME.jsonl.gz"
    )
    restore = add("restore", "backup", "Make the office what a backup says. No server may run.")
    restore.add_argument("file", type=Path, metavar="FILE", help="what `bullpen backup` wrote")
    backup.add_argument("--force", action="store_true", help="replace a file that is there already")
    restore.add_argument("--force", action="store_true", help="replace an office that is there; it is kept as a backup")
    for command in (backup, restore):
        command.set_defaults(restore=command is restore)
        _add_json(command)
    export = add("export", "export", "Write everything kept of a space, a person or an agent, as lines of JSON.")
    erase = add("erase", "erase", "Forget a space, a person or an agent, for good.")
    for command in (export, erase):
        command.add_argument("kind", choices=("space", "person", "agent"))
        command.add_argument("id", metavar="ID")
    export.add_argument("file", type=Path, metavar="FILE", help="where to write it; - for stdout")
    export.add_argument("--files", type=Path, metavar="DIR", help="also write the bytes of its files, into this folder")
    export.add_argument("--force", action="store_true", help="replace a file that is there already")
    erase.add_argument("--yes", action="store_true", help="say so: nothing brings it back")
    _add_json(erase)


def _add_talk(add: Add) -> None:
    send = add("send", "send", "Post a message and print its id.")
    send.add_argument("space", metavar="SPACE", help="id of the space")
    send.add_argument("text", metavar="TEXT", nargs="?", help="what to say; - reads it from stdin")
    send.add_argument("--attach", metavar="FILE", type=Path, action="append", help="upload a file and show it, too")
    send.add_argument("--reply-to", metavar="MESSAGE", help="id of the message this answers")
    _add_json(send)
    upload = add("upload", "files", "Upload a file and print its id. What no message shows is forgotten after a day.")
    upload.add_argument("file", type=Path, metavar="FILE")
    upload.add_argument("--space", metavar="ID", help="into this space; otherwise only you have it")
    upload.add_argument("--key", metavar="TEXT", help="the same key again is the same file, kept once")
    upload.set_defaults(verb="upload")
    _add_json(upload)
    download = add("download", "files", "Write the bytes of a file to disk, and print where.")
    download.add_argument("id", metavar="ID", help="id of the file")
    download.add_argument(
        "file", type=Path, metavar="FILE", nargs="?", help="where to; - for stdout; else its own name"
    )
    download.add_argument("--force", action="store_true", help="replace a file that is there already")
    download.set_defaults(verb="download")
    resolve = add("resolve", "resolve", "Answer a call that waits, or cancel it.")
    resolve.add_argument("call", metavar="CALL", help="id of the call, as `bullpen pending` shows it")
    resolve.add_argument(
        "result",
        metavar="JSON",
        nargs="?",
        help='the answer, e.g. {"confirmed": true}; - for stdin; left out for values, which are asked for',
    )
    resolve.add_argument("--cancel", action="store_true", help="nobody will answer it; its agent is told so")
    resolve.add_argument(
        "--scope",
        choices=("workspace", *SCOPES),
        help="of a call that waits for values: keep them here, not where it says",
    )
    _add_json(resolve)
    follow = add("follow", "follow", "Show what happens as it happens, until Ctrl-C.")
    follow.add_argument("space", metavar="SPACE", nargs="?", help="only this space; otherwise all that you may see")
    follow.add_argument("--after", metavar="CURSOR", help="begin after this event instead of now")
    _add_json(follow, "each event as one line of JSON")


def _add_listings(add: Add) -> None:
    runs = add("runs", "listings", "List runs, newest first.")
    runs.add_argument("--agent", metavar="ID")
    runs.add_argument("--space", metavar="ID")
    runs.add_argument("--status", choices=RUN_STATUSES)
    others = [add(name, "listings", f"List {name}.") for name in ("spaces", "agents", "people", "tools")]
    pending = add("pending", "listings", "List the calls that wait for somebody's answer, newest first.")
    pending.add_argument(
        "--status", choices=PENDING_STATUSES, help="those that ended so; otherwise those that are open"
    )
    pending.add_argument("--kind", choices=PENDING_KINDS, help="only these")
    files = add("files", "listings", "List the files of a space, or those that only you have.")
    files.add_argument("--space", metavar="ID")
    for listing in (runs, *others, pending, files):
        listing.set_defaults(listing=listing.prog.split()[-1])
        listing.add_argument("--limit", type=_count, help="at most this many (50; up to 200)")
        listing.add_argument("--cursor", help="go on where an earlier listing ended")
        _add_json(listing)
    search = add("search", "search", "Find messages by their words, newest first.")
    search.add_argument("text", metavar="TEXT", help='words in any order; a "phrase" in quotes')
    search.add_argument("--space", metavar="ID", help="only in this space")
    search.add_argument("--author", metavar="ID", help="only what this person or agent said")
    search.add_argument(
        "--mode",
        choices=["keyword", "meaning", "fused"],
        help="by words (as without this), by meaning, or by both, the best first",
    )
    search.add_argument("--limit", type=_count, help="at most this many (50; up to 200)")
    search.add_argument("--cursor", help="go on where an earlier search ended")
    _add_json(search)
    why = add("why", "why", "Say which agents a message woke and which not, and the reason.")
    why.add_argument("id", metavar="MESSAGE", help="id of the message")
    why.add_argument("--agent", metavar="ID", help="only this agent")
    _add_json(why)
    run = add("run", "run", "Show one run: what each step took and cost, and its journal.")
    run.add_argument("id", metavar="ID")
    run.add_argument("--step", type=_count, metavar="N", help="what its model was shown before this answer")
    _add_json(run)
    prompt = add("prompt", "prompt", "Show what an agent would be shown if it were woken now, part by part.")
    prompt.add_argument("agent", metavar="AGENT", help="id of the agent")
    prompt.add_argument("--space", metavar="ID", help="in this space")
    _add_json(prompt)


def _add_json(command: ArgumentParser, help: str = "machine-readable output") -> None:
    command.add_argument("--json", action="store_true", help=help)


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise ArgumentTypeError("write names with commas between them: a,b")
    return names


def _events(text: str) -> list[str]:
    named = _names(text)
    if unknown := [name for name in named if name not in WEBHOOK_EVENTS]:
        raise ArgumentTypeError(f"there is no {unknown[0]!r}; there are {', '.join(WEBHOOK_EVENTS)}")
    return named


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise ArgumentTypeError("a port is a number from 0 to 65535")
    return int(text)


def _days(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 366:
        raise ArgumentTypeError("write a number from 1 to 366")
    return int(text)


def _amount(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not 0 <= amount <= 1e15:
        raise ArgumentTypeError(f"{text!r} is no amount. Write a number, such as 5 or 0.25.")
    return amount


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 200:
        raise ArgumentTypeError("write a number from 1 to 200")
    return int(text)
