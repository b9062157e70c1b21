"""The redactor: values in every form, shapes, streams; and prose left alone."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bullpen import ids
from bullpen.observe import forms, names, shapes, values
from bullpen.observe.redact import MASK, Masker, Redactor
from tests import effort
from tests.secrets.writing import ACCOUNT, AWKWARD, PARTS, PEM, SECRETS, TOKEN, traces, written

ROOT = Path(__file__).parents[2]
TRIED = "tried-out-and-kept-nowhere"


def knowing(known: Mapping[str, str]) -> Redactor:
    made = Redactor()
    for name, value in known.items():
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
    assert redactor.clean(f"{TOKEN[:20]} alone") == f"{TOKEN[:20]} alone", "only how it begins"


def test_a_longer_value_wins_over_its_beginning_whatever_the_order() -> None:
    for both in (("hunter2!", "hunter2!more"), ("hunter2!more", "hunter2!")):
        redactor = Redactor()
        for value in both:
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
    value = long_value(forms.BOUND)
    redactor = Redactor()
    redactor.add(value, name="LONG")
    assert sum(map(len, forms.forms(value))) < 40 * len(value)
    for text in (value, value.encode().hex(), value[1000:3000]):
        clean = redactor.clean(text)
        assert "***LONG***" in clean
        assert len(clean.replace("***LONG***", "")) < 1100, "not more than what stands around the pieces"


def test_a_too_long_value_costs_no_more_than_another() -> None:
    value = long_value(80_000)
    redactor = Redactor()
    redactor.add(value, name="HUGE")
    assert redactor.clean(value[: forms.LIMIT]) == "***HUGE***" * (forms.LIMIT // forms.PIECE)
    assert "***HUGE***" in redactor.clean(json.dumps({"said": value[1000:3000]}))
    legal = Redactor()
    legal.add(long_value(forms.BOUND), name="LEGAL")
    assert nodes(redactor) <= 2 * nodes(legal)


def test_a_value_of_many_forms_is_split_over_automata(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MOST", 512)
    value = "".join(random.Random(7).choices([chr(sign) for sign in range(33, 127)], k=forms.BOUND))
    redactor = Redactor()
    redactor.add(value, name="ODD")
    sizes = [segment.size for segment in redactor.segments]
    assert len(sizes) > 1
    assert max(sizes) <= values.MOST
    for text in (value, json.dumps(value)[1:-1], value.encode().hex()):
        assert set(redactor.clean(text).split("***ODD***")) == {""}
    redactor.add(value, "ODD", "person ann")
    assert set(redactor.masker(["person ann"]).segments) == set(redactor.segments), "built once for all"
    redactor.add("an0ther-value", "X", "person ann")
    redactor.drop("ODD", "person ann")
    redactor.forget(value)
    assert redactor.clean(value) == value
    assert redactor.clean("an0ther-value") == "***X***"


def long_value(size: int) -> str:
    return "".join(base64.b64encode(bytes([n % 251, n % 241, n % 239])).decode() for n in range(size // 4))


def nodes(masker: Masker) -> int:
    """How large what it builds can be."""
    return sum(segment.nodes for segment in masker.segments)


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
    redactor.forget("never added")
    assert redactor.version == version
    redactor.forget(TOKEN)
    assert redactor.clean(TOKEN) == TOKEN
    assert redactor.clean(PEM) == "***PEM***"
    assert redactor.version != version


def test_many_added_secrets_are_compiled_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    real = values._Compiled

    def make(*args: Any) -> Any:
        made.append(args)
        return real(*args)

    monkeypatch.setattr(values, "_Compiled", make)
    redactor = Redactor()
    for n in range(100):
        redactor.add(f"s3cret-number-{n}", name=f"N{n}")
    for n in range(100):
        assert redactor.add(f"s3cret-number-{n}", name="again")
    assert redactor.clean("s3cret-number-7, s3cret-number-77") == "***N7***, ***N77***"
    assert len(made) == 1


def test_one_more_secret_builds_one_small_automaton(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MOST", 64)
    redactor = Redactor()
    for n in range(40):
        redactor.add(f"s3cret-number-{n}", name=f"N{n}")
    assert redactor.clean("s3cret-number-7") == "***N7***"
    made: list[int] = []
    real = values._compile

    def build(held: Any) -> Any:
        built = real(held)
        made.append(len(built.forms))
        return built

    monkeypatch.setattr(values, "_compile", build)
    redactor.add("0ne-m0re", name="MORE")
    assert redactor.clean("0ne-m0re s3cret-number-7 s3cret-number-39") == "***MORE*** ***N7*** ***N39***"
    assert len(made) == 1
    assert made[0] <= 64
    count = len(list(redactor.segments))
    assert count <= sum(segment.size for segment in redactor.segments) // 48 + 1
    for n in range(40):
        redactor.forget(f"s3cret-number-{n}")
        redactor.add(f"s3cret-number-{n + 40}")
    assert len(list(redactor.segments)) <= count + 1, "room that was left is used again"


# ── owners and names ────────────────────────────────────────────────────────────────────────────────────


def test_a_masker_knows_the_values_of_its_owners_alone() -> None:
    redactor = Redactor()
    redactor.add("office-wide-1", "O")
    redactor.add("of-ann-alone-1", "A", "person ann")
    redactor.add("of-bob-alone-1", "B", "person bob")
    redactor.add("of-bob-alone-1", "B", "space lab")
    text = "office-wide-1 of-ann-alone-1 of-bob-alone-1"
    assert redactor.clean(text) == "***O*** ***A*** ***B***"
    assert redactor.masker().clean(text) == "***O*** of-ann-alone-1 of-bob-alone-1"
    ann = redactor.masker(["person ann", "space other"])
    assert ann.clean(text) == "***O*** ***A*** of-bob-alone-1"
    assert redactor.masker(["person ann"]) is ann, "it is made once"
    redactor.drop("B", "person bob")
    assert redactor.clean(text) == "***O*** ***A*** ***B***", "the space still has it"
    redactor.drop_all("space lab")
    assert redactor.clean(text) == "***O*** ***A*** of-bob-alone-1"
    redactor.replace("0f-ann-anew", "A", "person ann")
    assert redactor.masker(["person ann"]).clean("0f-ann-anew of-ann-alone-1") == "***A*** of-ann-alone-1"


def test_anothers_secret_does_not_make_a_run_look_again() -> None:
    redactor = Redactor()
    redactor.add("of-ann-alone-1", "A", "person ann")
    ann = redactor.masker(["person ann"]).version
    redactor.add("of-bob-alone-1", "B", "person bob")
    assert redactor.masker(["person ann"]).version == ann
    redactor.add("of-ann-too-12", "C", "person ann")
    assert redactor.masker(["person ann"]).version != ann


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> Redactor:
    """Knows names, and values that are parts of them."""
    monkeypatch.setattr(names, "KEPT", {"send_message", "tool.started", "clientMessageId"})
    return knowing(
        {"A": "end_messag", "B": "tool.start", "C": "ntMessageI", "D": "Send_Message 9", "E": "0123456789abcd"}
    )


@pytest.mark.parametrize(
    "text, clean",
    [
        ("use send_message.", "use send_message."),
        ("use end_message", "use ***A***e"),
        ("resend_message", "res***A***e"),
        ('{"type":"tool.started"}', '{"type":"tool.started"}'),
        ("tool.starter", "***B***er"),
        ("clientMessageId", "clientMessageId"),
        ("send_message 9", "***D***"),
        ("run_0123456789abcdefghijklmnop", "run_0123456789abcdefghijklmnop"),
        ("run_0123456789abcdefghijklmnopq", "run_***E***efghijklmnopq"),
        ("in my-0123456789abcd-space", "in my-***E***-space"),
    ],
)
def test_no_value_takes_away_part_of_a_name(named: Redactor, text: str, clean: str) -> None:
    assert named.clean(text) == clean
    for size in range(1, len(text)):
        given, _ = streamed(named, [text[at : at + size] for at in range(0, len(text), size)])
        assert given == clean
    assert named.keeping({"my-0123456789abcd-space"}).clean("my-0123456789abcd-space") == "my-0123456789abcd-space"


def test_a_name_is_never_taken_as_a_value(named: Redactor) -> None:
    for value in ("send_message", "SEND_message", ids.run(), ids.agent().upper()):
        assert named.add(value, name="X") is False


# ── JSON ────────────────────────────────────────────────────────────────────────────────────────────────


def test_json_without_a_secret_comes_back_as_the_same_object(redactor: Redactor) -> None:
    innocent: list[Any] = [{"a": ['b\n"', {"c": 1.5, "https://x.y/z": None}]}, [], "text", 5, None, ("a", "b")]
    for value in innocent:
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
