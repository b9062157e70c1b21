"""A call's own way out: requests in the name of its tool, with the values of its variables.

A tool's configuration refers to variables as {{var:NAME}}. Here each reference becomes a random word that stands for
the value until the request is written: what a model puts into its arguments cannot be such a word, so it cannot ask
for a value, and whatever is logged or raised on the way holds no secret.

Whoever answered is noted: what comes of such a call is outside text, and so is what a file says or is called, what
rings a hook, and what somebody's program answers. `together` is how the names of such sources are kept.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

from bullpen.errors import Broken, EgressError, VariablesRequired
from bullpen.net import urls
from bullpen.variables import rules
from bullpen.variables.actions import Vault
from bullpen.variables.types import Value

if TYPE_CHECKING:
    from bullpen.net.client import Egress
    from bullpen.net.response import Answer
    from bullpen.net.types import Body, Limits
    from bullpen.wire import Message

FILE = "file"  # the source of all that files say and are called
CHAT = "chat"  # and of what chats elsewhere are called
MOST_SOURCES = 20
MORE = "more"  # there were more than are kept: nobody can allow these
MOST_LETTERS = 100  # of one source; a longer one ends with its hash, so that no two become the same
_ODD = re.compile(r"[^A-Za-z0-9.:_-]+")


def together(*several: Iterable[str]) -> tuple[str, ...]:
    """Sources, each once, as plain words: whoever chose such a name cannot say anything by it. Not without end."""
    found = dict.fromkeys(plain(source) for sources in several for source in sources)
    known = [source for source in found if source != MORE]
    return tuple(known) if len(known) == len(found) <= MOST_SOURCES else (*known[:MOST_SOURCES], MORE)


def plain(source: str) -> str:
    """One source as it is kept, and as a policy names it."""
    name = _ODD.sub("_", source) or "unknown"
    if len(name) <= MOST_LETTERS:
        return name
    return f"{name[: MOST_LETTERS - 17]}.{sha256(source.encode()).hexdigest()[:16]}"


def of_messages(messages: Iterable[Message]) -> tuple[str, ...]:
    """What reading these taints with: what their authors' runs had read, and the names of people's files."""
    shown = [message for message in messages if message.deleted_at is None]  # of others nothing is left to read
    return together(
        *(message.metadata.get("outside", ()) for message in shown),
        (FILE for message in shown if message.attachments and message.author_kind != "agent"),
    )


@dataclass(frozen=True, slots=True)
class Outside:
    use: str  # who asks: what an owner lists is listed for one use
    egress: Callable[[], Egress]
    vault: Vault
    values: Mapping[str, Value] = field(default_factory=dict)
    reached: list[str] = field(default_factory=list)  # who has answered, if only with an error
    goes_out: bool = True  # the tool is one that may; calls of others were not judged as such

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        places: Mapping[str, str] | None = None,
        body: Body | None = None,
        limits: Limits | None = None,
    ) -> Answer:
        """Ask. URL and headers may refer to variables; `places` are the model's, for each `{name}` of the URL."""
        if not self.goes_out:
            raise Broken(f"{self.use} only touches our database (effect `tx`), so it may not send requests.")
        words: dict[str, Callable[[], str]] = {}
        target = urls.fill(self._stand_in(url, words), places or {})
        named = {name: self._stand_in(value, words) for name, value in (headers or {}).items()}
        try:
            answer = await self.egress().request(
                self.use, method, target, headers=named, body=body, limits=limits, stand_ins=words
            )
        except EgressError as error:
            if error.sent:  # what they say may be in the sentence
                self.reached.append(target.origin.host)
            raise
        self.reached.extend((target.origin.host, answer.url.origin.host))
        return answer

    def _stand_in(self, text: str, words: dict[str, Callable[[], str]]) -> str:
        """The text with a word for each reference; only variables that the tool declares have values here."""

        def word(name: str) -> str:
            if name not in self.values:
                raise VariablesRequired([{"name": name}])  # also one that is not declared: there is none to be had
            made = f"var{secrets.token_hex(12)}"
            words[made] = partial(self.vault.text, self.values[name])
            return made

        return rules.replaced(text, word)
