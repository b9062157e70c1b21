"""The closed list of grants, who holds which, and what each action takes. Pure.

`authorize` is the only place where a right is judged. An action is allowed if the principal holds the grant it takes
and stands to the thing as the action asks. What somebody may not even see does not exist for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from bullpen.access.types import OFFICE, Grant, Principal, Thing
from bullpen.errors import Forbidden, Invalid, NotFound
from bullpen.wire.nouns import BudgetKind, GivenRole

GRANTS: Final[frozenset[Grant]] = frozenset(get_args(Grant))

# ── who holds what ──────────────────────────────────────────────────────────────────────────────────────────────────

# Not among the roles: nobody is given it, and a member's token may be limited to the same grants.
GUEST: Final[frozenset[Grant]] = frozenset({"read_space", "post"})
MEMBER: Final[frozenset[Grant]] = frozenset({"read_space", "post", "manage_space", "schedule"})
ADMIN: Final[frozenset[Grant]] = MEMBER | {"manage_agents", "answer_pending", "register_group"}
OWNER: Final = GRANTS
ROLES: Final[Mapping[GivenRole, frozenset[Grant]]] = {"member": MEMBER, "admin": ADMIN, "owner": OWNER}
AGENT: Final[frozenset[Grant]] = frozenset({"read_space", "post", "schedule", "register_group"})

# What a space lets a run do in it. A main group is where the office itself is run from; any other group is a room for
# people who need not know of each other's, so what is done in it stays in it.
SPACE: Final[frozenset[Grant]] = frozenset({"read_space", "post", "manage_space", "answer_pending", "schedule"})
MAIN_GROUP: Final[frozenset[Grant]] = GRANTS - {"owner"}


@dataclass(frozen=True, slots=True)
class Preset:
    """What runs in a space may do, and whether they keep to it: to its messages, tasks, memory and files."""

    grants: frozenset[Grant]
    stays: bool = False


PRESETS: Final[Mapping[str, Preset]] = {
    "space": Preset(SPACE),
    "group": Preset(SPACE, stays=True),
    "main group": Preset(MAIN_GROUP),
}

SYSTEM: Final = Principal(kind="system", id="system", name="Bullpen", grants=GRANTS)

# A token may be limited to some grants, by their names or by these.
SCOPES: Final[Mapping[str, frozenset[Grant]]] = {
    "read": frozenset({"read_space"}),
    **{grant: frozenset({grant}) for grant in sorted(GRANTS)},
}


def grants_of(role: str) -> frozenset[Grant]:
    """What a person holds. A role that we do not know grants nothing."""
    return GUEST if role == "guest" else ROLES.get(role, frozenset())  # type: ignore[call-overload]


def preset(kind: str, main: bool) -> Preset:
    return PRESETS["space" if kind != "group" else "main group" if main else "group"]


def authority(agent: frozenset[Grant], cause: frozenset[Grant], space: frozenset[Grant]) -> frozenset[Grant]:
    """What a run may do: what the agent may, and whoever caused it may, and the space lets be done in it."""
    return agent & cause & space


def limited(grants: frozenset[Grant], scopes: Iterable[str] | None) -> frozenset[Grant]:
    """What is left of a holder's grants in a token with these scopes."""
    return grants if scopes is None else grants & frozenset().union(*(SCOPES.get(scope, ()) for scope in scopes))


def check_scopes(scopes: Iterable[str]) -> None:
    if unknown := [scope for scope in scopes if scope not in SCOPES]:
        raise Invalid(
            f"There is no scope {unknown[0]!r}. There are: {', '.join(SCOPES)}.",
            fields={"scopes": f"unknown: {', '.join(unknown)}"},
        )


def written(grants: Iterable[Grant]) -> str:
    """Grants as a column holds them: sorted, so that equal sets are equal text."""
    return ",".join(sorted(grants))


def parsed(text: str) -> frozenset[Grant]:
    """What a column held. A name we do not know grants nothing."""
    return frozenset(grant for grant in GRANTS if grant in text.split(","))


# ── how somebody stands to a thing ──────────────────────────────────────────────────────────────────────────────────

Relation: TypeAlias = Callable[[Principal, Thing], bool]


def anybody(principal: Principal, thing: Thing) -> bool:
    return True


def people(principal: Principal, thing: Thing) -> bool:
    return principal.kind in ("person", "system")


def members(principal: Principal, thing: Thing) -> bool:
    return thing.member


def holder(principal: Principal, thing: Thing) -> bool:
    return thing.holder == principal.id


def keepers(principal: Principal, thing: Thing) -> bool:
    """Whoever made the space, or manages agents, and is in it. A DM, or a room its maker has left, is all members'."""
    return thing.member and (thing.made_it or "manage_agents" in principal.grants)


def whom_it_shows(principal: Principal, thing: Thing) -> bool:
    """Any person may know of a public space, and join it."""
    return thing.public and people(principal, thing)


def owners(principal: Principal, thing: Thing) -> bool:
    return people(principal, thing) and principal.is_owner


def signed_in(principal: Principal, thing: Thing) -> bool:
    """A person at the page: no token, and no program on this machine."""
    return principal.kind == "person" and principal.credential.startswith("ses_")


def owners_where_open(principal: Principal, thing: Thing) -> bool:
    """Owners look into public spaces, and into those where agents are among themselves; never into private talk."""
    return (thing.public or thing.people == 0) and owners(principal, thing)


def owners_who_read(principal: Principal, thing: Thing) -> bool:
    """Owners see what an agent does unseen, wherever they may look."""
    return owners(principal, thing) and (thing.member or owners_where_open(principal, thing))


def people_there(principal: Principal, thing: Thing) -> bool:
    """A person who is in the space: agents do not answer what people are asked, least of all their own."""
    return people(principal, thing) and thing.member


def people_it_shows_to(principal: Principal, thing: Thing) -> bool:
    return people_there(principal, thing) and thing.shown


def approvers(principal: Principal, thing: Thing) -> bool:
    """Wherever it was asked for: in a room where nobody has the right, nobody could answer."""
    return people(principal, thing) and "answer_pending" in principal.grants


def causer(principal: Principal, thing: Thing) -> bool:
    """The person for whom it is done."""
    return people(principal, thing) and thing.causer == principal.id


def people_who_manage_agents(principal: Principal, thing: Thing) -> bool:
    return people(principal, thing) and agent_managers(principal, thing)


def its_agent(principal: Principal, thing: Thing) -> bool:
    return principal.kind == "agent" and thing.holder == principal.id


def its_program(principal: Principal, thing: Thing) -> bool:
    """A token that names the tool, and that is for this agent or for any."""
    named = principal.tools is not None and thing.tool in principal.tools
    return named and principal.serves in (None, thing.holder)


def agent_managers(principal: Principal, thing: Thing) -> bool:
    return "manage_agents" in principal.grants


# ── what each action takes ──────────────────────────────────────────────────────────────────────────────────────────

Action = Literal[
    "see_space",
    "read_space",
    "join_space",
    "post",
    "pin_message",
    "tell_typing",
    "create_space",
    "manage_space",
    "keep_space",
    "register_group",
    "report_chat",
    "erase_space",
    "read_message",
    "change_message",
    "upload_file",
    "read_file",
    "delete_file",
    "see_agent",
    "manage_agents",
    "confirm_address",
    "see_inside_agent",
    "change_inside_agent",
    "plan_for_agent",
    "see_run",
    "see_inside_run",
    "cancel_run",
    "retry_run",
    "list_people",
    "manage_people",
    "manage_owners",
    "change_person",
    "end_session",
    "make_token",
    "make_any_token",
    "see_token",
    "see_usage",
    "set_budget",
    "set_any_budget",
    "see_tool",
    "see_call",
    "answer_external",
    "answer_card",
    "cancel_call",
    "see_approval",
    "answer_approval",
    "cancel_approval",
    "see_needs",
    "supply",
    "cancel_needs",
    "see_task",
    "make_task",
    "change_task",
    "start_task",
    "stop_task",
    "see_skill",
    "write_skill",
    "approve_skill",
    "invoke_skill",
    "manage_hooks",
    "list_webhooks",
    "make_webhook",
    "see_webhook",
    "change_webhook",
    "delete_webhook",
    "operate",
]


@dataclass(frozen=True, slots=True)
class Rule:
    """What an action takes: a grant, and one of these relations to the thing."""

    grant: Grant
    relations: tuple[Relation, ...]
    seen_by: Action | None = None  # whoever may not do this either does not get to know of the thing at all
    programs: bool = False  # a token that names the tool may, and needs no grant: it is good for nothing else


ACTIONS: Final[Mapping[Action, Rule]] = {
    "see_space": Rule("read_space", (members, whom_it_shows, owners_where_open), seen_by="see_space"),
    "read_space": Rule("read_space", (members, owners_where_open), seen_by="see_space"),
    "join_space": Rule("post", (whom_it_shows, members), seen_by="see_space"),
    "post": Rule("post", (members,), seen_by="see_space"),
    "pin_message": Rule("post", (members,), seen_by="see_space"),
    "tell_typing": Rule("post", (people_there,), seen_by="see_space"),
    "create_space": Rule("manage_space", (anybody,)),
    "manage_space": Rule("manage_space", (members, owners), seen_by="see_space"),
    # What changes the space for everybody in it, or uses what is everybody's.
    "keep_space": Rule("manage_space", (keepers, owners), seen_by="see_space"),
    "register_group": Rule("register_group", (people,)),  # agents do it with their tool, in the main group
    "report_chat": Rule("register_group", (people,)),
    "erase_space": Rule("owner", (people,)),  # private ones too: somebody must be able to
    "read_message": Rule("read_space", (members, owners_where_open), seen_by="read_message"),
    "change_message": Rule("post", (holder,), seen_by="read_message"),
    "upload_file": Rule("post", (anybody,)),  # into no space; into one it is `post`
    # Its holder is whoever gave it, while it is in no space; then it belongs to the space.
    "read_file": Rule("read_space", (holder, members, owners_where_open), seen_by="read_file"),
    "delete_file": Rule("post", (holder, owners)),
    "see_agent": Rule("read_space", (anybody,), seen_by="see_agent"),
    "manage_agents": Rule("manage_agents", (anybody,)),
    # What it opens is open to all agents: a token that leaked, or a program that holds one, must not.
    "confirm_address": Rule("owner", (signed_in,)),
    "see_inside_agent": Rule("read_space", (holder, agent_managers)),
    "change_inside_agent": Rule("post", (holder, agent_managers)),
    # Its run works on behalf of whoever sets the plan, as that of a task does.
    "plan_for_agent": Rule("schedule", (holder, agent_managers)),
    "see_run": Rule("read_space", (holder, members, owners_where_open), seen_by="see_run"),
    "see_inside_run": Rule("read_space", (holder, owners), seen_by="see_run"),
    "cancel_run": Rule("post", (holder, people), seen_by="see_run"),
    # It works on behalf of whoever caused it, with what is theirs: so others may not have it do so once more.
    "retry_run": Rule("post", (causer, people_who_manage_agents), seen_by="see_run"),
    "list_people": Rule("read_space", (people,)),
    "manage_people": Rule("manage_agents", (people,)),
    "manage_owners": Rule("owner", (people,)),
    "change_person": Rule("post", (holder,)),
    "end_session": Rule("post", (holder, owners), seen_by="end_session"),
    "make_token": Rule("post", (people,)),
    "make_any_token": Rule("owner", (people,)),
    "see_token": Rule("read_space", (holder, owners), seen_by="see_token"),
    "see_usage": Rule("manage_agents", (people,)),
    "set_budget": Rule("manage_agents", (people,)),
    "set_any_budget": Rule("owner", (people,)),
    "see_tool": Rule("read_space", (people,), programs=True),
    "see_call": Rule("read_space", (its_agent, people_it_shows_to, owners_who_read), seen_by="see_call", programs=True),
    "answer_external": Rule("post", (its_agent, owners), programs=True),
    "answer_card": Rule("post", (people_there,)),
    "cancel_call": Rule("post", (its_agent, people_it_shows_to, owners), seen_by="see_call", programs=True),
    "see_approval": Rule("read_space", (its_agent, people_it_shows_to, approvers), seen_by="see_approval"),
    "answer_approval": Rule("answer_pending", (approvers,)),
    "cancel_approval": Rule("post", (its_agent, approvers), seen_by="see_approval"),
    # Which values are missing: for whoever it works for, and whoever may set some. A value takes its scope's right too.
    "see_needs": Rule(
        "read_space", (its_agent, people_it_shows_to, causer, people_who_manage_agents), seen_by="see_needs"
    ),
    "supply": Rule("post", (causer, people_it_shows_to, people_who_manage_agents), seen_by="see_needs"),
    "cancel_needs": Rule(
        "post", (its_agent, causer, people_it_shows_to, people_who_manage_agents), seen_by="see_needs"
    ),
    "see_task": Rule("read_space", (members, owners_where_open), seen_by="see_task"),
    "make_task": Rule("schedule", (members,), seen_by="see_space"),
    # It works on behalf of whoever made it, so its words are theirs to change; stopping it is everybody's in the space.
    "change_task": Rule("schedule", (holder, owners), seen_by="see_task"),
    "start_task": Rule("schedule", (members, owners), seen_by="see_task"),
    "stop_task": Rule("post", (members, owners), seen_by="see_task"),
    "see_skill": Rule("read_space", (members, owners_where_open), seen_by="see_space"),
    # A skill never does more than whoever answers for it could: so every person there may, and agents propose.
    "write_skill": Rule("post", (members,), seen_by="see_space"),
    "approve_skill": Rule("post", (people_there,), seen_by="see_space"),
    "invoke_skill": Rule("post", (people_there,), seen_by="see_space"),
    "manage_hooks": Rule("manage_agents", (people,)),
    "list_webhooks": Rule("read_space", (people,)),
    "make_webhook": Rule("post", (people,)),
    "see_webhook": Rule("read_space", (holder, owners), seen_by="see_webhook"),
    # Where somebody's mentions go is theirs alone to say; that nothing goes anywhere, an owner's too.
    "change_webhook": Rule("post", (holder,), seen_by="see_webhook"),
    "delete_webhook": Rule("post", (holder, owners), seen_by="see_webhook"),
    "operate": Rule("owner", (people,)),
}


# Whoever manages agents says what they may spend; what people and the whole office may, an owner.
BUDGET_ACTIONS: Final[Mapping[BudgetKind, Action]] = {
    "agent": "set_budget",
    "space": "set_budget",
    "task": "set_budget",
    "person": "set_any_budget",
    "office": "set_any_budget",
}


def allows(principal: Principal, action: Action, thing: Thing = OFFICE) -> bool:
    rule = ACTIONS[action]
    if rule.programs and its_program(principal, thing):
        return True
    if rule.grant not in principal.grants:
        return False
    if rule.seen_by not in (None, action) and not allows(principal, rule.seen_by, thing):
        return False
    return any(relation(principal, thing) for relation in rule.relations)


def authorize(principal: Principal, action: Action, thing: Thing = OFFICE) -> None:
    """Return, or raise: NotFound if the thing is none of their business, else Forbidden with what it takes."""
    if allows(principal, action, thing):
        return
    rule = ACTIONS[action]
    if rule.seen_by is not None and not allows(principal, rule.seen_by, thing):
        raise NotFound(f"There is no {thing.kind} {thing.id!r}, or it is not yours to see.")
    if principal.tools is not None:
        raise Forbidden(
            f"This token only answers calls of {', '.join(sorted(principal.tools))}: GET /api/pending lists them, POST "
            "/api/pending/{id}/resolve answers one. For anything else, make a token of a person or an agent."
        )
    if rule.grant not in principal.grants:
        raise Forbidden(
            f"This needs the grant {rule.grant!r}, which {principal.name} does not hold. Ask the owner for it."
        )
    raise Forbidden(_REFUSALS.get(action, "This is not yours to do. Ask the owner.").format(id=thing.id))


_REFUSALS: Final[Mapping[Action, str]] = {
    "read_space": "You are not a member of {id!r}. Join it first: POST /api/spaces/{id}/members.",
    "post": "You are not a member of {id!r}. Join it first: POST /api/spaces/{id}/members.",
    "pin_message": "You are not a member of {id!r}. Join it first: POST /api/spaces/{id}/members.",
    "tell_typing": "Only people who are in {id!r} can say that they are typing there.",
    "manage_space": "You are not a member of {id!r}. Join it first: POST /api/spaces/{id}/members.",
    "keep_space": (
        "Only the person who made {id!r}, somebody in it who manages agents, or an owner may do this. Ask one of them."
    ),
    "change_message": "Only its author may change a message.",
    "delete_file": "Only whoever gave it, or an owner, may delete a file.",
    "see_inside_agent": "What an agent remembers is for the agent itself and for those who manage agents.",
    "plan_for_agent": "Plans of an agent are for the agent itself, and for those who manage agents and may schedule.",
    "change_inside_agent": "What an agent remembers is for the agent itself and for those who manage agents.",
    "see_inside_run": "The journal of a run is for owners and for the agent itself.",
    "answer_external": "Only the agent's own token, one that names the tool, or an owner may answer this call.",
    "answer_card": "Only a person who is in the space may answer this.",
    "answer_approval": "Only an owner, or a person who holds `answer_pending`, may approve this.",
    "cancel_approval": "Only its agent, an owner, or a person who holds `answer_pending` may cancel this.",
    "supply": "Only people may give values, and never the agent that asks for them.",
    "confirm_address": "An address in this network is confirmed by an owner, on the page. A token cannot do it.",
    "cancel_run": "Only people, and the agent itself, may cancel a run.",
    "retry_run": "Only the person who caused a run, or somebody who manages agents, may have it done once more.",
    "list_people": "Only people may list people.",
    "see_tool": "Only people may read how tools are defined.",
    "make_task": "You are not a member of {id!r}. Join it first: POST /api/spaces/{id}/members.",
    "change_task": "Only the person for whom it works, or an owner, may change a task.",
    "start_task": "Only members of its space may start a task.",
    "stop_task": "Only members of its space may stop a task.",
    "see_skill": "You are not a member of {id!r}. Join it first: POST /api/spaces/{id}/members.",
    "write_skill": "You are not a member of {id!r}. Join it first: POST /api/spaces/{id}/members.",
    "approve_skill": "Only people who are in the space may approve of a skill.",
    "invoke_skill": "Only people who are in the space may start a skill.",
    "list_webhooks": "Only people have webhooks.",
    "make_webhook": "Only people have webhooks.",
    "change_webhook": "Only the person whose webhook this is may change or try it.",
}
