"""The key ring: what is sealed opens where it belongs and nowhere else, and a file that is not right is refused."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bullpen.errors import Broken, CannotStart, KeyMissing, SecretInvalid
from bullpen.variables import keys
from bullpen.variables.keys import KeyRing, Keys
from bullpen.variables.types import Scope, SecretRef

LAB = Scope("space", "lab")


@pytest.fixture
def ring(tmp_path: Path) -> KeyRing:
    return Keys(tmp_path / "keys.json").make()


def sealed(ring: KeyRing, value: str, scope: Scope = LAB, name: str = "KEY") -> SecretRef:
    return SecretRef(name, scope, ring.first, ring.seal(ring.first, scope, name, value))


@given(st.text())
def test_a_sealed_value_opens_again_and_never_looks_the_same(
    tmp_path_factory: pytest.TempPathFactory, value: str
) -> None:
    ring = KeyRing(Path("unsaved"), {"k": b"k" * keys.SIZE})
    first, second = sealed(ring, value), sealed(ring, value)
    assert ring.open(first) == ring.open(second) == value
    assert first.sealed != second.sealed
    assert len(value) < 4 or base64.b64encode(value.encode()).decode() not in first.sealed


@pytest.mark.proves("F6", "S3-07")
@pytest.mark.parametrize(
    "scope, name",
    [
        (Scope("space", "lab2"), "KEY"),
        (Scope("agent", "lab"), "KEY"),
        (Scope("workspace"), "KEY"),
        (LAB, "KEY2"),
        (Scope("space", "la"), "bKEY"),  # the same letters, divided otherwise
    ],
)
def test_a_sealed_value_does_not_open_in_another_place(ring: KeyRing, scope: Scope, name: str) -> None:
    ref = sealed(ring, "a secret")
    with pytest.raises(SecretInvalid, match="moved here from elsewhere"):
        ring.open(SecretRef(name, scope, ref.key_id, ref.sealed))


@pytest.mark.proves("F6")
def test_a_sealed_value_with_one_changed_bit_does_not_open(ring: KeyRing) -> None:
    ref = sealed(ring, "a secret")
    bytes_ = bytearray(base64.b64decode(ref.sealed))
    for position in range(len(bytes_)):
        bytes_[position] ^= 1
        changed = base64.b64encode(bytes_).decode()
        bytes_[position] ^= 1
        with pytest.raises(SecretInvalid):
            ring.open(SecretRef("KEY", LAB, ref.key_id, changed))
    for broken in ("", "not base64!", "AAAA"):
        with pytest.raises(SecretInvalid):
            ring.open(SecretRef("KEY", LAB, ref.key_id, broken))


@pytest.mark.proves("F10")
def test_no_key_serves_two_purposes(ring: KeyRing) -> None:
    derived = {label: ring.derive(label, ring.first) for label in keys.LABELS}
    assert len({*derived.values(), ring.keys[ring.first]}) == len(keys.LABELS) + 1
    with pytest.raises(Broken):
        ring.derive("cookies", ring.first)


def test_the_key_file_is_private_and_holds_what_was_saved(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "keys.json"
    made = Keys(path).make()
    assert path.stat().st_mode & 0o777 == 0o600
    loaded = keys.load(path)
    assert loaded is not None
    assert dict(loaded.keys) == dict(made.keys)
    assert loaded.ours
    assert [p.name for p in path.parent.iterdir()] == ["keys.json"]


def test_two_processes_making_the_first_key_get_the_same_one(tmp_path: Path) -> None:
    one, two = Keys(tmp_path / "keys.json"), Keys(tmp_path / "keys.json")
    assert one.make().first == two.make().first
    assert [p.name for p in tmp_path.iterdir()] == ["keys.json"]


@pytest.mark.proves("F7")
def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    Keys(path).make()
    path.chmod(0o640)
    with pytest.raises(CannotStart, match="chmod 600"):
        keys.load(path)


@pytest.mark.proves("F7")
@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"{}",
        b'{"version":1,"keys":[]}',
        b'{"version":1,"keys":["AAAA"]}',
        b'{"version":2,"keys":[]}',
        b"short",
        b'{"version":1,"keys":{"a":1}}',
        b"",
        b"\xff" * 31,
        b"deadbeef\n" * 4,
    ],
)
def test_an_invalid_key_file_is_refused_with_an_explanation(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(CannotStart, match=r"damaged|no key file"):
        keys.load(path)


@pytest.mark.parametrize("first", [b"k", b"{"])
def test_an_external_key_is_read_as_raw_hex_or_base64(tmp_path: Path, first: bytes) -> None:
    raw = first + os.urandom(keys.SIZE - 2) + b"\xff"
    path = tmp_path / "key"
    for content in (raw, raw.hex().encode() + b"\n", base64.b64encode(raw)):
        path.write_bytes(content)
        loaded = keys.load(path)
        assert loaded is not None
        assert loaded.first == keys.id_of(raw)
        assert not loaded.ours
    old = os.urandom(keys.SIZE)
    path.write_bytes(raw.hex().encode() + b"\n" + base64.b64encode(old) + b"\n")
    loaded = keys.load(path)
    assert loaded is not None
    assert list(loaded.keys) == [keys.id_of(raw), keys.id_of(old)]


def test_a_key_ring_rotated_by_another_process_is_reloaded(tmp_path: Path) -> None:
    mine, theirs = Keys(tmp_path / "keys.json"), Keys(tmp_path / "keys.json")
    mine.make()
    turned = theirs.change(lambda ring: ring.turned())
    assert turned.first not in (mine.ring() or turned).keys
    assert mine.holding(turned.first).first == turned.first
    with pytest.raises(KeyMissing, match="holds other keys"):
        mine.holding("0123456789abcdef")
