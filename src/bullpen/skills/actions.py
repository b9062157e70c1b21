"""Store a skill, propose one, approve of it or not, delete it; and start one. Who may is said in access/rules.py.

A skill works with no more rights than whoever answers for it held: the person who wrote it or approved of it, or the
run that an agent wrote it in. So nobody's words can make an owner's run do what they could not do themselves. What
nobody has answered for yet is kept as a proposal, beside what is active, and is followed by nobody.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from bullpen import ids
from bullpen.access import rules as access
from bullpen.access.rules import Action
from bullpen.access.types import Principal
from bullpen.agents import rows as agent_rows
from bullpen.audit.actions import note
from bullpen.errors import Conflict, Invalid, NotFound
from bullpen.events.actions import in_turn, record
from bullpen.inbox import actions as inbox
from bullpen.inbox.types import Item, Recipient
from bullpen.observe.redact import here, owner
from bullpen.skills import rows, rules
from bullpen.skills.types import Skill, Version, Writer
from bullpen.spaces import actions as spaces
from bullpen.spaces import rows as space_rows
from bullpen.spaces import rules as space_rules
from bullpen.spaces.types import Draft, Room
from bullpen.storage import Transaction
from bullpen.threads import actions as threads
from bullpen.threads import rows as thread_rows
from bullpen.wire.events import DeletedSkill, SkillCreated, SkillDeleted, SkillEvent, SkillUpdated
from bullpen.wire.nouns import SkillStatus

MOST_EARLIER = 4
NOBODY = "There is no agent here who could do that. Add one to the space first."


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants a skill to say."""

    description: str
    instructions: str
    parameters: str | None = None
    agent_id: str | None = None


# ── who may ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def turn_of(space_id: str) -> str:
    return f"skills:{ids.canonical_space(space_id)}"


async def turn(tx: Transaction, space_id: str) -> None:
    """Skills of one space change one after the other."""
    await in_turn(tx, turn_of(space_id))


async def get(tx: Transaction, caller: Principal, space_id: str, name: str, action: Action = "see_skill") -> Skill:
    """The skill, if the caller may do this with it. Unknown and hidden are deliberately the same."""
    room = await spaces.room_for(tx, caller, action, space_id)
    skill = await rows.select_skill(tx, room.id, name)
    if skill is None:
        raise NotFound(f"There is no skill {name!r} in {room.id!r}.")
    return skill


def writer_of(caller: Principal) -> Writer:
    return Writer(caller.id, caller.kind, caller.name, access.written(caller.grants))


# ── storing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def store_for(
    tx: Transaction, caller: Principal, space_id: str, name: str, wish: Wish, status: SkillStatus, *, most: int
) -> Skill:
    """Store a skill as this caller. What an agent writes is a proposal, whatever it asks for."""
    await turn(tx, space_id)
    room = await spaces.room_for(tx, caller, "write_skill", space_id)
    allowed: SkillStatus = status if caller.kind == "person" else "proposed"
    return await store(tx, room, name, wish, writer_of(caller), allowed, most=most)


async def store(
    tx: Transaction, room: Room, name: str, wish: Wish, writer: Writer, status: SkillStatus, *, most: int
) -> Skill:
    """Keep a skill, or a proposal to have one. The caller has the turn of the space's skills, and has checked who may.

    The same again changes nothing. What is stored over another keeps that one's beginning.
    """
    rules.check_name(name)
    known = await rows.select_skill(tx, room.id, name)
    if known is None and most and await rows.count_skills(tx, room.id) >= most:
        message = f"{room.id!r} has {most} skills, which is the most. Delete some first."
        raise Invalid(message, fields={"name": "there are too many skills"})
    version = await _version(tx, room, name, wish, writer)
    at = tx.clock.now()
    skill = known or Skill(ids.skill(), room.id, name, None, None, at, at)
    if status == "active":
        version = replace(version, grants=writer.grants)
        if known is not None and _is_there(known, version):
            return known
        if writer.kind == "agent":
            return await _keep_at_once(tx, skill, known, version, writer)
        wanted = replace(skill, active=version, proposed=None, earlier=())
        return await _keep(tx, wanted, known, writer, "skill.stored")
    if known is not None and (version.says_the_same(known.active) or version.says_the_same(known.proposed)):
        return known
    version = replace(version, diff=rules.diff(name, skill.active, version))
    skill = await _keep(tx, replace(skill, proposed=version), known, writer, "skill.proposed")
    if known is None or known.proposed is None:  # else the space has been told, and nobody has looked yet
        await spaces.announce(tx, room.id, _told(skill, writer))
    return skill


async def _keep_at_once(tx: Transaction, skill: Skill, known: Skill | None, version: Version, writer: Writer) -> Skill:
    """What an agent stores for somebody is followed at once. The space is told, and can take it back."""
    earlier = skill.earlier if skill.active is None else _remembered(skill.earlier, skill.active)
    wanted = replace(skill, active=version, proposed=None, earlier=earlier)
    what = "stored" if skill.active is None else "changed"
    asked = "" if writer.asked_by is None else f", as {writer.asked_by} had asked"
    told = (
        f"{writer.name} {what} the skill /{skill.name}{asked}. It can be started now, and anybody here can undo this."
    )
    await spaces.announce(tx, skill.space_id, told, metadata={"skill": {"name": skill.name, "hash": version.hash}})
    return await _keep(tx, wanted, known, writer, "skill.stored")


def _remembered(earlier: tuple[Version, ...], active: Version) -> tuple[Version, ...]:
    """Not without end. The first is what a person answered for, if anybody did: it is never forgotten."""
    return (*earlier[:1], *(*earlier[1:], active)[-(MOST_EARLIER - 1) :]) if earlier else (active,)


def _is_there(known: Skill, version: Version) -> bool:
    """Is it active already, word for word, and answered for by somebody who held as much?"""
    active = known.active
    if active is None or known.proposed is not None or not version.says_the_same(active):
        return False
    return access.parsed(version.grants) <= access.parsed(active.grants)


def _told(skill: Skill, writer: Writer) -> str:
    what = "would change the skill" if skill.active is not None else "proposes a skill"
    return f"{writer.name} {what} /{skill.name}. It waits for somebody to look at it and approve of it."


async def _version(tx: Transaction, room: Room, name: str, wish: Wish, writer: Writer) -> Version:
    if wish.agent_id is not None and not await _is_agent_of(tx, room, wish.agent_id):
        message = f"{wish.agent_id!r} is no agent of {room.id!r}."
        raise Invalid(message, fields={"agentId": "is not an agent of the space"})
    version = Version(
        description=_words(writer, room, wish.description),
        instructions=_words(writer, room, wish.instructions),
        parameters=None if not wish.parameters else _words(writer, room, wish.parameters),
        agent_id=wish.agent_id,
        written_by=writer.id,
        written_kind=writer.kind,
        at=tx.clock.now(),
        outside=writer.outside,
    )
    return replace(version, hash=rules.hash_of(room.id, name, version))


def _words(writer: Writer, room: Room, text: str) -> str:
    """As they are kept: an agent's without secrets, anybody else's as they wrote them."""
    return text if writer.kind != "agent" else here(owner("agent", writer.id), owner("space", room.id)).clean(text)


async def _is_agent_of(tx: Transaction, room: Room, agent_id: str) -> bool:
    return any(recipient.agent_id == agent_id for recipient in await space_rows.select_recipients(tx, room))


async def _keep(tx: Transaction, skill: Skill, known: Skill | None, by: Writer | Principal, action: str) -> Skill:
    skill = replace(skill, updated_at=tx.clock.now())
    await rows.put_skill(tx, skill)
    _tell(tx, SkillCreated if known is None else SkillUpdated, skill)
    _note(tx, by, action, skill)
    return skill


def _tell(tx: Transaction, kind: type[SkillEvent], skill: Skill) -> None:
    record(tx, kind(space_id=skill.space_id, skill=rows.on_the_wire(skill)))


def _note(tx: Transaction, by: Writer | Principal, action: str, skill: Skill) -> None:
    actor = by if isinstance(by, Principal) else Principal(by.kind, by.id, by.name, access.parsed(by.grants))  # type: ignore[arg-type]
    note(tx, actor, action, "skill", skill.id, spaceId=skill.space_id, name=skill.name, hash=skill.shown.hash)


# ── what waits for approval ─────────────────────────────────────────────────────────────────────────────────────────


async def approve(tx: Transaction, caller: Principal, skill: Skill, hash: str | None) -> Skill:
    """A person answers for what was proposed. Their rights are the most that its runs have. The caller has the turn.

    `hash`: of the proposal that they have looked at. None: whatever is proposed now.
    """
    if skill.proposed is None:
        if skill.active is not None and _was_approved(skill.active, caller, hash):
            return skill
        raise Conflict(f"Nothing is proposed for /{skill.name}.", fields={"hash": "nothing is proposed"})
    if hash not in (None, skill.proposed.hash):
        raise Conflict("This is not any more what you have looked at. Look at it again.", fields={"hash": "old"})
    version = replace(skill.proposed, approved_by=caller.id, grants=access.written(caller.grants), diff="")
    wanted = replace(skill, active=version, proposed=None, earlier=())
    return await _keep(tx, wanted, skill, caller, "skill.approved")


def _was_approved(active: Version, caller: Principal, hash: str | None) -> bool:
    """Is this the same approval once more?"""
    return active.approved_by == caller.id if hash is None else active.hash == hash


async def reject(tx: Transaction, caller: Principal, skill: Skill) -> Skill | None:
    """What was proposed is forgotten; None: with it the skill, which was never more. The caller has the turn."""
    if skill.proposed is None:
        raise Conflict(f"Nothing is proposed for /{skill.name}.")
    if skill.active is None:
        _note(tx, caller, "skill.rejected", skill)
        await _delete(tx, skill)
        return None
    return await _keep(tx, replace(skill, proposed=None), skill, caller, "skill.rejected")


async def undo(tx: Transaction, caller: Principal, skill: Skill, hash: str | None) -> Skill | None:
    """Take back what an agent has stored at once: the skill says what it said before. None: it is gone again.

    `hash`: of what is taken back. None: whatever it says now. The caller has the turn.
    """
    active = skill.active
    if active is None or not active.can_be_undone:
        raise Conflict(f"There is nothing to undo: no agent has changed /{skill.name} since a person answered for it.")
    if hash not in (None, active.hash):
        raise Conflict("The skill says something else by now. Look at it again.", fields={"hash": "old"})
    before = skill.earlier[-1] if skill.earlier else None
    left = "is gone" if before is None else "says what it said before"
    await spaces.announce(tx, skill.space_id, f"{caller.name} took the change back: /{skill.name} {left}.")
    if before is None and skill.proposed is None:
        _note(tx, caller, "skill.undone", skill)
        await _delete(tx, skill)
        return None
    proposed = skill.proposed
    if proposed is not None:
        proposed = replace(proposed, diff=rules.diff(skill.name, before, proposed))
    wanted = replace(skill, active=before, proposed=proposed, earlier=skill.earlier[:-1])
    return await _keep(tx, wanted, skill, caller, "skill.undone")


# ── the end ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def delete(tx: Transaction, by: Writer | Principal, skill: Skill) -> None:
    """The skill is gone, and so is its command. Runs that follow it go on. The caller has the turn."""
    _note(tx, by, "skill.deleted", skill)
    await _delete(tx, skill)


async def _delete(tx: Transaction, skill: Skill) -> None:
    await rows.delete_skill(tx, skill.id)
    gone = DeletedSkill(id=skill.id, space_id=skill.space_id, name=skill.name)
    record(tx, SkillDeleted(space_id=skill.space_id, skill=gone))


async def forget(tx: Transaction, whose: ids.Whose) -> None:
    """Those of a space, and what somebody wrote, in every space: for erasures. What they approved of stays."""
    for skill in await rows.select_whose(tx, whose):
        active, proposed = (_without(version, whose.member) for version in (skill.active, skill.proposed))
        earlier = tuple(one for each in skill.earlier if (one := _without(each, whose.member)) is not None)
        if skill.space_id == whose.space or (active is None and proposed is None):
            await _delete(tx, skill)
        elif (active, proposed, earlier) != (skill.active, skill.proposed, skill.earlier):
            left = replace(skill, active=active, proposed=proposed, earlier=earlier, updated_at=tx.clock.now())
            await rows.put_skill(tx, left)
            _tell(tx, SkillUpdated, left)


def _without(version: Version | None, member_id: str) -> Version | None:
    if version is None or version.written_by == member_id:
        return None
    return replace(
        version,
        agent_id=None if version.agent_id == member_id else version.agent_id,
        approved_by=None if version.approved_by == member_id else version.approved_by,
    )


# ── starting one ────────────────────────────────────────────────────────────────────────────────────────────────────


async def tell_waiting(tx: Transaction, skill: Skill) -> str:
    """What whoever writes `/name` reads as long as nobody has approved of it."""
    by = skill.shown.written_by
    name = (await agent_rows.select_names(tx, [by])).get(by, by)
    return f"/{skill.name} waits for approval and starts nothing yet. {name} proposed it. {rules.WHO_APPROVES}"


async def follower(tx: Transaction, room: Room, version: Version, parameters: str) -> Recipient | None:
    """Which agent follows it: its own, or one that is mentioned, or the first who joined."""
    present = await space_rows.select_recipients(tx, room)
    own = [each for each in present if each.agent_id == version.agent_id]
    named = [each for each in present if space_rules.mentions(parameters, id=each.agent_id, name=each.name)]
    return next(iter([*own, *named, *present]), None)


async def start(tx: Transaction, room: Room, skill: Skill, draft: Draft, parameters: str) -> tuple[str, str] | None:
    """The message starts the skill, in a thread that has no past. The agent and the thread; None: nobody is there."""
    version = skill.active
    assert version is not None, "a proposal is followed by nobody"
    agent = await follower(tx, room, version, parameters)
    if agent is None:
        return None
    cause = draft.author.cause
    most = access.parsed(cause.grants) & access.parsed(version.grants)
    thread_id = await threads.create_fresh(
        tx,
        agent.agent_id,
        room.id,
        cause_kind=cause.kind,
        cause_id=cause.id,
        grants=access.written(most),
        id=ids.thread_for(draft.id),
    )
    payload = {**spaces.told(draft), "text": parameters, "skill": await _instructions(tx, skill, version)}
    if version.outside:  # a person has looked at it and it is followed; what its run sends is still looked at
        payload["outside"] = list(version.outside)
    item = Item(
        ids.inbox_item(), thread_id, "skill", room.id, payload, cause, depth=0, chain_id=draft.chain_id, addressed=True
    )
    await inbox.deliver_item(tx, item, key=key(draft.id))
    return agent.agent_id, thread_id


async def started_by(tx: Transaction, message_id: str) -> tuple[str, str] | None:
    """The agent and the thread of the skill that this message started; None: it started none."""
    thread_id = ids.thread_for(message_id)
    found = await thread_rows.select_thread(tx, thread_id)
    return None if found is None else (found.agent_id, thread_id)


def key(message_id: str) -> str:
    """Under which the inbox item of a skill that a message started is kept."""
    return f"skill:{message_id}"


async def _instructions(tx: Transaction, skill: Skill, version: Version) -> dict[str, Any]:
    """What it says, as it is now. Whose words these are is said as in a message: an erasure finds them by that."""
    by = version.written_by
    names = await agent_rows.select_names(tx, [by])
    return {
        "name": skill.name,
        "spaceId": skill.space_id,
        "authorId": by,
        "authorKind": version.written_kind,
        "authorName": names.get(by, by),
        "text": version.instructions,
    }
