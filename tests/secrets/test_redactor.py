"""The redactor: values in every form, shapes, streams; and prose left alone."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bullpen import ids
from bullpen.observe import forms, redact, shapes
from bullpen.observe.redact import MASK, Redactor
from tests import effort
from tests.secrets.writing import ACCOUNT, AWKWARD, PARTS, PEM, SECRETS, TOKEN, traces, written

ROOT = Path(__file__).parents[2]
TRIED = "tried-out-and-kept-nowhere"


def knowing(values: Mapping[str, str]) -> Redactor:
    made = Redactor()
    for name, value in values.items():
        made.add(value, name=name)
    return made


@pytest.fixture
def redactor() -> Redactor:
    return knowing(SECRETS)


@pytest.fixture(scope="module")
def shared_redactor() -> Redactor:
    """For tests that add nothing to it: compiling all forms takes a while."""
    return knowing(SECRETS)


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("form", written(TOKEN))
def test_a_value_is_masked_in_every_form(shared_redactor: Redactor, secret: str, form: str) -> None:
    text = written(SECRETS[secret])[form]
    clean = shared_redactor.clean(f"before {text} after")
    assert clean.startswith("before ")
    assert clean.endswith(" after")
    assert f"***{secret}***" in clean
    for part in PARTS[secret]:
        left = [trace for trace in traces(part) if trace in clean.encode()]
        assert not left, clean


def test_masks_name_the_secret_and_leave_the_rest(redactor: Redactor) -> None:
    assert redactor.clean(f"a {TOKEN}/b") == "a ***TOKEN***/b"
    assert redactor.clean(json.dumps({"x": AWKWARD})) == '{"x": "***AWKWARD***"}'
    assert redactor.clean(f"[{PEM}]") == "[***PEM***]"
    redactor.add("no-name-4-this")
    redactor.add("an-0dd-name", name="a name\nof two lines")
    assert redactor.clean("no-name-4-this, an-0dd-name") == "***, ***"


def test_a_longer_value_wins_over_its_beginning_whatever_the_order() -> None:
    for values in (("hunter2!", "hunter2!more"), ("hunter2!more", "hunter2!")):
        redactor = Redactor()
        for value in values:
            redactor.add(value)
        assert redactor.clean("hunter2!more hunter2!") == "*** ***"


def test_a_line_or_member_of_a_secret_is_masked_too(redactor: Redactor) -> None:
    lines = PEM.splitlines()
    assert redactor.clean(lines[3]) == "***PEM***"
    assert redactor.clean(lines[0]) == lines[0], "the first line is everybody's"
    account = json.loads(ACCOUNT)
    assert redactor.clean(account["id"]) == "***ACCOUNT***"
    assert redactor.clean(account["private_key"]) == "***ACCOUNT***"
    assert redactor.clean("a service_account of the warehouse") == "a service_account of the warehouse"


def test_a_value_with_a_line_end_is_found_without_it() -> None:
    redactor = Redactor()
    redactor.add("s3cret-of-a-file\n", name="FILE")
    assert redactor.clean("it is s3cret-of-a-file.") == "it is ***FILE***."


def test_a_long_value_is_masked_in_pieces_with_bounded_memory() -> None:
    value = "".join(base64.b64encode(bytes([n % 251, n % 241, n % 239])).decode() for n in range(20_000))
    redactor = Redactor()
    redactor.add(value, name="LONG")
    assert sum(map(len, forms.forms(value))) < 40 * len(value)
    for text in (value, value.encode().hex(), value[1000:3000]):
        clean = redactor.clean(text)
        assert "***LONG***" in clean
        assert len(clean.replace("***LONG***", "")) < 1100, "not more than what stands around the pieces"


@pytest.mark.parametrize("value", ["", "abc", "1234", "    ", "  ab  "])
def test_what_is_too_short_is_not_masked_and_says_so(value: str) -> None:
    redactor = Redactor()
    assert redactor.add(value, name="X") is False
    assert redactor.clean(f"1234 abc{value}") == f"1234 abc{value}"


def test_case_variants_are_masked_only_for_non_word_secrets() -> None:
    redactor = Redactor()
    redactor.add("summer", name="A")
    redactor.add("Tr0ub4dor", name="B")
    assert redactor.clean("Summer summer TR0UB4DOR tr0ub4dor") == "Summer ***A*** ***B*** ***B***"
    assert forms.is_plain("summer")
    assert forms.is_plain("https://example.com/oauth")
    assert not forms.is_plain("Tr0ub4dor")
    assert not forms.is_plain("https://me:pw@example.com/")


def test_a_value_that_is_forgotten_is_shown_again(redactor: Redactor) -> None:
    version = redactor.version
    redactor.forget(TOKEN)
    redactor.forget("never added")
    assert redactor.clean(TOKEN) == TOKEN
    assert redactor.clean(PEM) == "***PEM***"
    assert redactor.version == version + 1


def test_many_added_secrets_are_compiled_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    real = redact._Compiled

    def make(*args: Any) -> Any:
        made.append(args)
        return real(*args)

    monkeypatch.setattr(redact, "_Compiled", make)
    redactor = Redactor()
    for n in range(200):
        redactor.add(f"s3cret number {n}", name=f"N{n}")
    for n in range(200):
        assert redactor.add(f"s3cret number {n}", name="again")
    assert redactor.clean("s3cret number 7, s3cret number 77") == "***N7***, ***N77***"
    assert len(made) == 1


# ── JSON ────────────────────────────────────────────────────────────────────────────────────────────────


def test_json_without_a_secret_comes_back_as_the_same_object(redactor: Redactor) -> None:
    values: list[Any] = [{"a": ['b\n"', {"c": 1.5, "https://x.y/z": None}]}, [], "text", 5, None, ("a", "b")]
    for value in values:
        assert redactor.clean_json(value) is value


def test_nested_json_is_cleaned_in_keys_and_values(redactor: Redactor) -> None:
    redactor.add("83920174", name="PIN")

    class Odd:
        pass

    odd = Odd()
    assert redactor.clean_json({"a": [1, {"b": f"x{AWKWARD}y", f"{TOKEN}": "k"}]}) == {
        "a": [1, {"b": "x***AWKWARD***y", "***TOKEN***": "k"}]
    }
    assert redactor.clean_json({"pin": 83920174, "at": 1839201740, "yes": True}) == {
        "pin": "***PIN***",
        "at": 1839201740,
        "yes": True,
    }
    assert redactor.clean_json((TOKEN, odd)) == ["***TOKEN***", odd]
    assert redactor.clean_json({"half": "\ud800" + TOKEN}) == {"half": "\ud800***TOKEN***"}
    assert redactor.clean_json({"text": json.dumps({"x": PEM})}) == {"text": '{"x": "***PEM***"}'}


def test_repeatedly_escaped_json_is_cleaned(redactor: Redactor) -> None:
    thrice = json.dumps(json.dumps(AWKWARD))
    assert redactor.clean_json({"body": thrice}) == {"body": '"\\"***AWKWARD***\\""'}
    assert redactor.clean_json([json.dumps({"body": thrice})]) == ['{"body": "\\"\\\\\\"***AWKWARD***\\\\\\"\\""}']


def test_a_secret_inside_an_encodable_object_is_masked(redactor: Redactor) -> None:
    from dataclasses import dataclass

    @dataclass
    class Answer:
        said: str

    assert redactor.clean_json({"answer": Answer(TOKEN)}) == {"answer": {"said": "***TOKEN***"}}


def test_a_field_name_survives_though_it_contains_a_secret() -> None:
    redactor = Redactor()
    redactor.add("space", name="SILLY")
    assert redactor.clean_json({"spaceId": "in space"}) == {"spaceId": "in ***SILLY***"}


@pytest.mark.parametrize(
    "text, clean",
    [
        ('{"text":"a CANARY-7f3Kq9ZpW2xLmT4vB8nR"}', '{"text":"a ***TOKEN***"}'),
        (r'{"text":"\u0043ANARY\u002D7f3Kq9ZpW2xLmT4vB8nR\n"}', r'{"text":"***TOKEN***\n"}'),
        ('{"n":183920471,"pin":83920}', '{"n":183920471,"pin":"***PIN***"}'),
        (r'{"text": "nothing \u0043 here"}', r'{"text": "nothing \u0043 here"}'),
        ("{oops CANARY-7f3Kq9ZpW2xLmT4vB8nR \\", "{oops ***TOKEN*** \\"),
        (json.dumps({"text": AWKWARD}), '{"text":"***AWKWARD***"}'),
    ],
)
def test_arguments_stay_json(redactor: Redactor, text: str, clean: str) -> None:
    redactor.add("83920", name="PIN")
    assert redactor.clean_arguments(text) == clean


def test_arguments_that_are_nested_without_end_are_cleaned_too(redactor: Redactor) -> None:
    for depth in (200, 300, 900, 5000):
        deep = '{"a":' * depth + f'"\\n{TOKEN}"' + "}" * depth
        assert TOKEN not in redactor.clean_arguments(deep)


# ── shapes ──────────────────────────────────────────────────────────────────────────────────────────────

BODY = "\n".join(PEM.splitlines()[1:-1])
SHAPED = [
    ("sent bp_Zm9yIHlvdXIgZXllcyBvbmx5.", "sent ***."),
    ("Bearer 3f9a8b7c6d5e4f3a2b1c0d9e", "Bearer ***"),
    ("-H 'authorization: bearer abc.DEF-123_456+xyz=='", "-H 'authorization: bearer ***'"),
    ("Basic dXNlcjpwYXNzd29yZA==", "Basic ***"),
    ("postgresql://me:abcdef@db:5432/office", "postgresql://me:***@db:5432/office"),
    ("redis://:abcdef@cache/0", "redis://:***@cache/0"),
    ("GET https://x.y/z?a=1&access_token=abcdef0123&b=2 failed", "GET https://x.y/z?a=1&access_token=***&b=2 failed"),
    ("https://x.y/z#token=abcdef0123", "https://x.y/z#token=***"),
    (
        "https://api.example.com/bot123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc/getMe: 404",
        "https://api.example.com/bot***/getMe: 404",
    ),
    ("/bot123456789%3AAAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc/", "/bot***/"),
    ("sk-proj-a1B2c3D4e5F6g7H8i9J0k1L2", "***"),
    ("rk_live_a1B2c3D4e5F6g7H8", "***"),
    ("key AKIAIOSFODNN7EXAMPLE here", "key *** here"),
    ("ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", "***"),
    ("x_pat_11ABCDEFG0123456789abcdefg", "x_pat_***"),
    ("xoxb-123456789012-abcdefGHIJKL", "***"),
    (f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n-----END RSA PRIVATE KEY-----\nrest", "-----***\nrest"),
    (f"-----BEGIN PRIVATE KEY-----\n{BODY[:300]}", "-----***"),
    (
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
        "***",
    ),
]


@pytest.mark.proves("F11")
@pytest.mark.parametrize("text, clean", SHAPED)
def test_secret_shaped_text_is_masked_without_being_registered(text: str, clean: str) -> None:
    redactor = Redactor()
    assert redactor.clean(text) == clean
    assert redactor.clean(clean) == clean, "and once is enough"


@pytest.mark.proves("F11")
def test_a_url_token_is_masked_by_value_and_by_shape() -> None:
    token = "123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc"
    error = f"GET https://api.example.com/bot{token}/getMe answered 404"
    knows = Redactor()
    knows.add(token, name="BOT_TOKEN")
    assert knows.clean(error) == "GET https://api.example.com/bot***BOT_TOKEN***/getMe answered 404"
    assert Redactor().clean(error) == "GET https://api.example.com/bot***/getMe answered 404"


def _prose() -> Iterator[tuple[str, str]]:
    for pattern in ("docs/**/*.md", "*.md", "changelog.d/*.md", "examples/**/*.*", "src/bullpen/**/*.py", "tests/*.md"):
        for path in sorted(ROOT.glob(pattern)):
            if path.suffix in (".md", ".py", ".yaml") and path.name not in ("shapes.py", "forms.py"):
                yield str(path.relative_to(ROOT)), path.read_text()


def test_prose_code_and_our_own_ids_are_left_alone() -> None:
    redactor = Redactor()
    for name, text in _prose():
        for number, line in enumerate(text.splitlines(), start=1):
            assert redactor.clean(line) == line, f"{name}:{number}"
        assert redactor.clean(text) == text, name
    made = [ids.run(), ids.message(), ids.call(), ids.run_message(), "dm-ada-psn_01", "req_0123456789abcdef"]
    sayings = [
        "The task-management-system-2024-rollout is at risk-assessment-phase-2.",
        "Basic understanding of the bearer of bad news; Bearer tokens are explained below.",
        "see https://example.com/bottom/both?page=2&token= and mailto:a@b.c at 12:30",
        "a.b.c = eyJ is how it begins; AKIA alone is nothing; xoxo-love; sk-learn-is-a-library-name-here",
    ]
    for text in made + sayings:
        assert redactor.clean(text) == text


def test_many_partial_matches_take_only_linear_time() -> None:
    """Whoever controls a text must not be able to make looking at it slow."""
    from time import thread_time  # what other threads of this process do meanwhile is not the redactor's

    for unit in (
        "bp_",
        "://a:",
        "eyJaaaaaaaaaa.",
        "-----BEGIN PRIVATE KEY-----",
        "?token=",
        "bp_aaaaaaaaaaaaaaaa ",
        "sk-",
    ):
        small, large = unit * (20_000 // len(unit)), unit * (200_000 // len(unit))
        redactor = Redactor()
        redactor.clean(small)
        began = thread_time()
        redactor.clean(large)
        assert thread_time() - began < 2.0, unit


# ── streams ─────────────────────────────────────────────────────────────────────────────────────────────

VALUES = ("aabab", "aababba", "babba!", "ab\nab", "üb-üb", 'q"\\q"')
PIECES = [
    *'ab!ü\n\\"-. ',
    *VALUES,
    "abab",
    "616162",
    "YWFiYWI",
    "bp_aaaaaaaa",
    "bp_" + "a" * 20,
    "Bearer aaaa1111",
    "aaaa1111",
    "://a:",
    "@",
    "?token=",
    "/bot1234567:",
    "a" * 19,
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "eyJaaaaaaaa.",
    "AKIA",
    "SIXTEENCAPITALS0",
    "sk-",
    "***",
]


FEW = knowing({f"V{n}": value for n, value in enumerate(VALUES)})


def streamed(redactor: Redactor, chunks: list[str]) -> tuple[str, int]:
    """What a stream gave, and the most that it held back."""
    stream, given, held, fed = redactor.stream(), "", 0, ""
    for chunk in chunks:
        fed += chunk
        given += stream.feed(chunk)

        held = max(held, len(stream._coming))
    return given + stream.end(), held


@settings(max_examples=effort.count(400, sample=50))
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join), st.data())
@example("bp_" + "a" * 16 + "YWFiYWI", None)
def test_a_stream_however_split_is_cleaned_like_the_whole(text: str, data: Any) -> None:
    redactor = FEW
    if data is None:
        chunks = list(text)
    else:
        cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
        chunks = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    given, held = streamed(redactor, chunks)
    assert given == redactor.clean(text)
    longest = max(len(form) for value in VALUES for form in forms.forms(value))
    assert held < longest


ALL = knowing(SECRETS)


@given(st.text(), st.integers(0, 40), st.integers(1, 7))
def test_a_secret_that_is_split_over_pieces_is_masked(around: str, at: int, size: int) -> None:
    redactor = ALL
    text = around[:at] + TOKEN + around[at:] + AWKWARD
    given, _ = streamed(redactor, [text[n : n + size] for n in range(0, len(text), size)])
    assert given == redactor.clean(text)
    assert TOKEN not in given
    assert AWKWARD not in given


def test_growing_text_is_shown_up_to_a_possible_secret(redactor: Redactor) -> None:
    assert redactor.so_far("the key is ") == "the key is "
    assert redactor.so_far("the key is CANARY-7f3K") == "the key is "
    assert redactor.so_far(f"the key is {TOKEN}") == "the key is ***TOKEN***"
    assert redactor.so_far(f"the key is {TOKEN}, you ") == "the key is ***TOKEN***, you "
    assert redactor.so_far("the key is CANARY-7f3Kq, as you know ") == "the key is CANARY-7f3Kq, as you know "
    assert redactor.so_far("see bp_Zm9yIHl") == "see "


def test_shape_prefixes_fit_the_lookbehind_window() -> None:
    for shape in shapes.SHAPES:
        assert shape.whole.groups <= 1
        for begin in shape.begins:
            assert len(begin) >= 2
    assert len(b"-----") <= shapes.BEHIND
    assert MASK == "***"


def test_a_temporarily_masked_value_is_unmasked_afterwards() -> None:
    redactor = Redactor()
    with redactor.meanwhile(TRIED, "apiKey"), redactor.meanwhile(TRIED, "apiKey"):
        assert TRIED not in redactor.clean(f"the key {TRIED} is wrong")
    assert redactor.clean(f"the key {TRIED}") == f"the key {TRIED}"


def test_a_registered_secret_stays_masked_after_a_temporary_mask() -> None:
    redactor = Redactor()
    redactor.add(kept := "kept-before-somebody-tries-it")
    with redactor.meanwhile(kept), redactor.meanwhile(TRIED):
        redactor.add(TRIED)
    assert kept not in redactor.clean(kept)
    assert TRIED not in redactor.clean(TRIED)
