"""The key ring: what secrets are sealed with. A file of its own, outside the database, that only this user can read.

A secret is sealed with AES-256-GCM under a random nonce; its scope and name are associated data, so that a sealed value
copied into another row does not open there. The key that seals is derived from the ring's by a label (HKDF): no key
serves two purposes. An old key stays in the ring until nothing is sealed with it any more.

The file is one that Bullpen writes (JSON), or one that somebody else provides, as a container's secret: a key on each
line, as 64 hex digits or as base64, the one to seal with first.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import orjson

from bullpen.errors import Broken, CannotStart, KeyMissing, SecretInvalid
from bullpen.variables.types import Scope, SecretRef

VERSION: Final = 1
SIZE: Final = 32
NONCE: Final = 12
# What each derived key is for. A new purpose gets a new label.
LABELS: Final = ("variables", "webhooks", "approvals")


def id_of(key: bytes) -> str:
    """Names a key without telling it. A key that is not the right one has another name."""
    return sha256(b"bullpen key id" + key).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class KeyRing:
    path: Path
    keys: Mapping[str, bytes] = field(repr=False)  # by their ids, the one to seal with first
    ours: bool = True  # a file that somebody else provides is not ours to change
    _derived: dict[tuple[str, str], Any] = field(default_factory=dict, repr=False)

    @property
    def first(self) -> str:
        return next(iter(self.keys))

    # ── sealing ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def seal(self, key_id: str, scope: Scope, name: str, value: str) -> str:
        return self.seal_for("variables", key_id, _about(scope, name), value)

    def open(self, ref: SecretRef) -> str:
        opened = self.open_for("variables", ref.key_id, _about(ref.scope, ref.name), ref.sealed)
        if opened is None:
            raise SecretInvalid(
                f"The secret {ref.name} of {ref.scope} cannot be opened: it was changed, or moved here from elsewhere. "
                "Set it again.",
                fields={"variable": ref.name, "scope": str(ref.scope)},
            )
        return opened

    def seal_for(self, label: str, key_id: str, about: bytes, value: str) -> str:
        """For one purpose. `about` says what it is and where it stands: elsewhere it does not open."""
        nonce = os.urandom(NONCE)
        return base64.b64encode(nonce + self._cipher(label, key_id).encrypt(nonce, value.encode(), about)).decode()

    def open_for(self, label: str, key_id: str, about: bytes, sealed: str) -> str | None:
        """None: it was changed, or moved here from elsewhere."""
        cipher = self._cipher(label, key_id)
        try:
            whole = base64.b64decode(sealed, validate=True)
            opened: bytes = cipher.decrypt(whole[:NONCE], whole[NONCE:], about)
        except (binascii.Error, ValueError, _invalid_tag()):
            return None
        return opened.decode()

    def _cipher(self, label: str, key_id: str) -> Any:
        found = self._derived.get((label, key_id))
        if found is None:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM

            found = self._derived[label, key_id] = AESGCM(self.derive(label, key_id))
        return found

    def derive(self, label: str, key_id: str) -> bytes:
        """The key for one purpose."""
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        if label not in LABELS:
            raise Broken(f"{label!r} is no purpose of a key; see variables/keys.py.")
        key = self.keys.get(key_id)
        if key is None:
            raise KeyMissing(missing_key(self.path, key_id))
        return HKDF(SHA256(), SIZE, salt=None, info=f"bullpen {label}".encode()).derive(key)

    # ── changing ────────────────────────────────────────────────────────────────────────────────────────────────────

    def turned(self) -> KeyRing:
        """The same ring with a new key in front."""
        key = secrets.token_bytes(SIZE)
        return KeyRing(self.path, {id_of(key): key, **self.keys})

    def only(self, key_ids: Collection[str]) -> KeyRing:
        return KeyRing(self.path, {id: key for id, key in self.keys.items() if id in key_ids}, self.ours)

    def save(self) -> None:
        """Whole or not at all, and on the disk before anything is sealed with it."""
        with self._written() as partial:
            partial.rename(self.path)

    def save_first(self) -> bool:
        """Save it unless there is a file already: of several who make the first key at once, one does."""
        with self._written() as partial:
            try:
                self.path.hardlink_to(partial)
            except FileExistsError:
                return False
            finally:
                partial.unlink(missing_ok=True)
        return True

    @contextlib.contextmanager
    def _written(self) -> Iterator[Path]:
        held = {"version": VERSION, "keys": [base64.b64encode(key).decode() for key in self.keys.values()]}
        partial = self.path.with_name(f"{self.path.name}.{secrets.token_hex(4)}.partial")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                os.write(descriptor, orjson.dumps(held, option=orjson.OPT_INDENT_2) + b"\n")
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            yield partial
            _sync(self.path.parent)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise KeyMissing(f"The key file {self.path} cannot be written: {error.strerror}.") from error


class Keys:
    """The ring of this process: read when it is first needed, and again when somebody else may have turned it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ring: KeyRing | None = None

    def ring(self) -> KeyRing | None:
        """What the file holds; None if there is no file."""
        if self._ring is None:
            self._ring = load(self.path)
        return self._ring

    def holding(self, key_id: str) -> KeyRing:
        """The ring, which has this key; another process may have added it to the file since we read it."""
        ring = self.ring()
        if ring is None or key_id not in ring.keys:
            ring = self._ring = load(self.path)
        if ring is None or key_id not in ring.keys:
            raise KeyMissing(missing_key(self.path, key_id))
        return ring

    def change(self, change: Callable[[KeyRing], KeyRing]) -> KeyRing:
        """Write another ring; nobody else writes to the file meanwhile."""
        ring = load(self.path)
        if ring is None:
            raise KeyMissing(f"There is no key file at {self.path}.")
        changed = change(ring)
        changed.save()
        self._ring = changed
        return changed

    def make(self) -> KeyRing:
        key = secrets.token_bytes(SIZE)
        made = KeyRing(self.path, {id_of(key): key})
        self._ring = made if made.save_first() else load(self.path)
        assert self._ring is not None
        return self._ring


def missing_key(path: Path, key_id: str) -> str:
    there = "holds other keys" if path.exists() else "does not exist"
    return (
        f"Secrets are sealed with the key {key_id}, but the key file {path} {there}. Put back the file that was used "
        "with this database, or say where it is with BULLPEN_KEY_FILE. Without it they are lost: no new key opens them."
    )


def load(path: Path) -> KeyRing | None:
    """The ring in this file; None if there is no file. One of ours that others can read is refused."""
    try:
        status = path.stat()
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CannotStart(f"The key file {path} cannot be read: {error.strerror}.") from None
    # A raw key may begin with any byte. Ours is JSON, and always longer than one.
    ours = len(content) != SIZE and content.lstrip().startswith(b"{")
    if ours and status.st_mode & 0o077:
        raise CannotStart(f"Others can read the key file {path}. Make it private: chmod 600 {path}")
    keys = _written_by_us(path, content) if ours else _provided(path, content)
    return KeyRing(path, {id_of(key): key for key in keys}, ours)


def _written_by_us(path: Path, content: bytes) -> Sequence[bytes]:
    damaged = CannotStart(f"The key file {path} is damaged, or of a newer Bullpen. Put back a copy of it.")
    try:
        held = orjson.loads(content)
        keys = [base64.b64decode(text, validate=True) for text in held["keys"]]
    except (orjson.JSONDecodeError, KeyError, AttributeError, TypeError, binascii.Error):
        raise damaged from None
    if held.get("version") != VERSION or not keys or any(len(key) != SIZE for key in keys):
        raise damaged
    return keys


def _provided(path: Path, content: bytes) -> Sequence[bytes]:
    if len(content) == SIZE and not content.isascii():
        return [content]
    keys = [key for line in content.split() if (key := _decoded(line)) is not None]
    if not keys or len(keys) != len(content.split()):
        raise CannotStart(f"{path} is no key file: it should hold 32 random bytes on each line, as hex or as base64.")
    return keys


def _decoded(line: bytes) -> bytes | None:
    for decode in (bytes.fromhex, _base64):
        with contextlib.suppress(ValueError):
            key = decode(line.decode())
            if len(key) == SIZE:
                return key
    return None


def _base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _about(scope: Scope, name: str) -> bytes:
    # Lengths first: no two scopes and names can be written alike.
    return b"\0".join(f"{len(part)}:{part}".encode() for part in ("variable", scope.kind, scope.id, name))


def _invalid_tag() -> type[Exception]:
    from cryptography.exceptions import InvalidTag

    return InvalidTag


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
