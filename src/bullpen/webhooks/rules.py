"""Who may be told, how a delivery is signed, and when one that failed is tried again. Pure.

Signatures follow the Standard Webhooks convention, so that receivers can check them with what they have.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Final

from bullpen.access import rules as access
from bullpen.access.types import Principal, Thing
from bullpen.webhooks.types import Asked, Listener, Listening, Place, Sent

PREFIX: Final = "whsec_"
MOST: Final = 20  # webhooks of one person
MOST_TEXT: Final = 4000  # characters of a message that are told

# Seconds until the next attempt: after the first failure, the second, … After the last there is none.
WAITS: Final = (10, 60, 300, 1800, 7200, 21600)
JITTER: Final = 0.2
# A delivery was given up, and so many attempts in a row have failed: nobody is there.
MOST_FAILURES: Final = 10
GONE: Final = 410


# ── who may be told ─────────────────────────────────────────────────────────────────────────────────────────────────


def may_read(listener: Listener) -> bool:
    """Mentions are told to members only, as they are made to members only."""
    return access.allows(listener.person, "read_message", Thing("message", member=listener.member))


def may_answer(listener: Listener, asked: Asked, place: Place | None) -> bool:
    """Is there anything this person could do about the call? Whoever can only look is not called to it."""
    thing = _thing(listener, asked, place)
    see, answer = _ACTIONS.get(asked.kind, ("see_call", "answer_card"))
    return access.allows(listener.person, see, thing) and access.allows(listener.person, answer, thing)


_ACTIONS: Final[dict[str, tuple[access.Action, access.Action]]] = {
    "approval": ("see_approval", "answer_approval"),
    "external": ("see_call", "answer_external"),
    "variables": ("see_needs", "supply"),
}


def _thing(listener: Listener, asked: Asked, place: Place | None) -> Thing:
    return Thing(
        "call",
        asked.call_id,
        holder=asked.agent_id,
        causer=asked.person_id,
        member=listener.member,
        public=place is not None and place.public,
        people=0 if place is None else place.people,
        tool=asked.tool_name,
        shown=asked.visible and place is not None,
    )


def key_of(asked: Asked, asks: int) -> str:
    """What makes it the same thing: a call that is asked for anew is told anew."""
    return f"call:{asked.call_id}:{asked.kind}:{asks}"


def listener_of(found: Listening) -> Listener:
    held = access.grants_of(found.role) & access.parsed(found.grants)
    principal = Principal("person", found.person_id, found.name, held, credential=found.webhook_id)
    members = found.members or (found.person_id,)
    return Listener(found.webhook_id, principal, frozenset(found.events), members, found.member_id is not None)


# ── what is sent ────────────────────────────────────────────────────────────────────────────────────────────────────


def signature(secret: str, id: str, timestamp: int, body: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    return "v1," + base64.b64encode(hmac.digest(key, f"{id}.{timestamp}.".encode() + body, hashlib.sha256)).decode()


def headers(secret: str, id: str, timestamp: int, body: bytes) -> dict[str, str]:
    return {
        "Content-Type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature(secret, id, timestamp, body),
    }


def shortened(text: str) -> str:
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}…"


# ── what came of it ─────────────────────────────────────────────────────────────────────────────────────────────────


def arrived(sent: Sent) -> bool:
    return sent.status is not None and 200 <= sent.status < 300


def problem(sent: Sent) -> str:
    return sent.error or f"It answered with status {sent.status}."


def wait_after(attempt: int, luck: float) -> int | None:
    """Milliseconds until the next attempt; None: there is none. `luck` from 0 to 1 keeps many from coming back at
    once."""
    if attempt > len(WAITS):
        return None
    return int(WAITS[attempt - 1] * 1000 * (1 + JITTER * (2 * luck - 1)))


def off_because(sent: Sent, failures: int, *, given_up: bool) -> str | None:
    """Why the webhook is switched off now, if it is."""
    if sent.status == GONE:
        return "It answered 410 Gone."
    if given_up and failures >= MOST_FAILURES:
        return f"{failures} attempts in a row have failed. {problem(sent)}"
    return None
