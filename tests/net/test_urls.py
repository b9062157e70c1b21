"""The one parser: what it makes of a URL is what every other reader makes of it, or it refuses."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import unquote, urlsplit

import httpx
import pytest
import yarl
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bullpen.errors import CannotStart, EgressDenied
from bullpen.net import urls
from bullpen.net.allowance import Allowance
from bullpen.net.types import Origin
from tests import effort

pieces = st.one_of(
    st.sampled_from(
        ["http", "https", "://", "/", "//", "\\", "@", ":", "?", "#", "%", "%2e", "%00", ".", "..", "[", "]"]
    ),
    st.sampled_from(
        ["127.0.0.1", "0x7f", "1", "::1", "::ffff:10.0.0.1", "example.com", "a", "。", "ü", "ⓛ", "xn--", "_"]
    ),
    st.sampled_from(
        ["80", "443", "0", "65536", " ", "\t", "\r\n", "\x00", "\ud800", "\u200b", "&", "=", "+", ";", "{", "}"]
    ),
    st.text(max_size=3),
)
texts = st.one_of(
    st.lists(pieces, max_size=12).map("".join),
    st.lists(pieces, max_size=10).map(lambda parts: "http://" + "".join(parts)),
    st.lists(pieces, max_size=10).map(lambda parts: "https://example.com/" + "".join(parts)),
)


@settings(max_examples=effort.count(1000, sample=150))
@given(text=texts)
@example(text="http://a.example.com:443/../%2e%2E/ü?q=[1]&%zz#f")
@pytest.mark.proves("D9")
def test_other_url_parsers_read_our_urls_as_we_do(text: str) -> None:
    try:
        url = urls.parse(text)
    except EgressDenied:
        return
    written = str(url)
    assert urls.parse(written) == url
    assert written.isascii()
    assert written.isprintable()
    assert " " not in written
    port = {"http": 80, "https": 443}[url.origin.scheme]
    for host, seen in (
        (urlsplit(written).hostname, urlsplit(written).port or port),
        (yarl.URL(written, encoded=True).raw_host, yarl.URL(written, encoded=True).port),
        (httpx.URL(written).raw_host.decode(), httpx.URL(written).port or port),
    ):
        assert host is not None
        assert (_same(host), seen) == (_same(url.origin.host), url.origin.port)
    assert yarl.URL(written, encoded=True).raw_path_qs == url.target


def _same(host: str) -> object:
    try:
        return ip_address(host)
    except ValueError:
        return host


@pytest.mark.parametrize(
    "text, written",
    [
        ("HTTP://EXAMPLE.com", "http://example.com/"),
        ("https://example.com:443", "https://example.com/"),
        ("http://example.com:443/", "http://example.com:443/"),
        ("http://example.com.", "http://example.com/"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://example.com/a b/ü?q=ä b", "http://example.com/a%20b/%C3%BC?q=%C3%A4%20b"),
        ("http://example.com/a%2fb%zz", "http://example.com/a%2fb%25zz"),
        ("http://example.com/a/./b/../c/", "http://example.com/a/c/"),
        ("http://example.com/../../x", "http://example.com/x"),
        ("http://example.com/a/%2E%2e/x/%2e", "http://example.com/x/"),
        ("http://example.com//a//b", "http://example.com//a//b"),
        ("http://example.com?x=1#frag", "http://example.com/?x=1"),
        ("http://example.com#frag?x", "http://example.com/"),
        ("http://example.com/?a=b?c/d@e:f", "http://example.com/?a=b?c/d@e:f"),
        ("http://example.com/@user:pass", "http://example.com/@user:pass"),
        ("http://[2606:2800:0220:0001:0:0:0:1]/", "http://[2606:2800:220:1::1]/"),
        ("http://[::ffff:8.8.8.8]/", "http://8.8.8.8/"),
        ("http://8.8.8.8:8080/", "http://8.8.8.8:8080/"),
        ("http://a_b.example.com/", "http://a_b.example.com/"),
    ],
)
def test_a_url_is_written_in_one_way(text: str, written: str) -> None:
    assert str(urls.parse(text)) == written


@pytest.mark.parametrize(
    "reference, leads_to",
    [
        ("/x", "https://example.com/x"),
        ("x", "https://example.com/a/x"),
        ("../x", "https://example.com/x"),
        ("../../../x", "https://example.com/x"),
        ("?y=2", "https://example.com/a/b?y=2"),
        ("", "https://example.com/a/b?x=1"),
        ("#frag", "https://example.com/a/b?x=1"),
        ("//other.example/x", "https://other.example/x"),
        ("http://other.example", "http://other.example/"),
        ("./x:y", "https://example.com/a/x:y"),
    ],
)
def test_a_reference_is_joined_to_where_it_came_from(reference: str, leads_to: str) -> None:
    assert str(urls.join(urls.parse("https://example.com/a/b?x=1"), reference)) == leads_to


@pytest.mark.parametrize(
    "reference", ["//user@other.example/", "\\\\evil", "/\\evil", "javascript:1", "x:y", "///", "http:x"]
)
def test_a_reference_that_can_be_misread_is_refused(reference: str) -> None:
    with pytest.raises(EgressDenied):
        urls.join(urls.parse("https://example.com/a/b"), reference)


# ── templates ───────────────────────────────────────────────────────────────────────────────────────────────────────

TEMPLATE = "https://api.example.com/users/{id}/notes?q={q}"


@pytest.mark.proves("D10")
@settings(max_examples=effort.count(400, sample=60))
@given(value=st.text(min_size=1))
@example(value="@evil.example.com")
@example(value="../admin")
@example(value="%2e%2e/")
@example(value="?x=1#")
@example(value="..")
@example(value="%2e")
@example(value="a\r\nHost: evil")
@example(value="//evil.example.com/")
@example(value="{q}")
def test_a_template_value_cannot_leave_its_placeholder(value: str) -> None:
    try:
        url = urls.fill(TEMPLATE, {"id": value, "q": value})
    except EgressDenied:
        assert value in (".", "..") or any(c < " " or c == "\x7f" or "\ud800" <= c <= "\udfff" for c in value)
        return
    assert url.origin == Origin("https", "api.example.com", 443)
    empty, users, filled, notes = url.path.split("/")
    assert (empty, users, notes) == ("", "users", "notes")
    assert unquote(filled) == value
    assert unquote(url.query.removeprefix("q=")) == value
    assert not set(url.query.removeprefix("q=")) & set("&=#?/@+ ")


@pytest.mark.proves("D10")
@pytest.mark.parametrize("value", ["a\r\nX: y", "a\nb", "\x00", "\x7f", "\ud800", ".", "..", ""])
def test_a_template_value_that_would_escape_is_refused(value: str) -> None:
    with pytest.raises(EgressDenied):
        urls.fill(TEMPLATE, {"id": value, "q": "x"})


@pytest.mark.parametrize(
    "template", ["https://api.example.com/{a}{b}", "https://api.example.com/x/{a}%2E", "https://h.example/.{a}"]
)
def test_values_cannot_build_a_dot_segment_together(template: str) -> None:
    with pytest.raises(EgressDenied):
        urls.fill(template, {"a": ".", "b": "."})


@pytest.mark.parametrize(
    "template",
    [
        "https://{host}/x",
        "{scheme}://a.example",
        "https://a.example:{port}/",
        "https://a.{x}.example/",
        "{url}",
        "a.example/{id}",
    ],
)
def test_the_host_of_a_template_is_fixed(template: str) -> None:
    with pytest.raises(EgressDenied):
        urls.fill(template, dict.fromkeys(("host", "scheme", "port", "x", "url", "id"), "1"))


def test_a_missing_value_is_named() -> None:
    with pytest.raises(EgressDenied, match="a value for q"):
        urls.fill(TEMPLATE, {"id": "1"})
    assert str(urls.fill("https://a.example/x?k={{var:KEY}}", {})) == "https://a.example/x?k=%7B%7Bvar:KEY%7D%7D"


# ── listings ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_listing_is_read_from_the_settings() -> None:
    allowance = Allowance.from_text(
        "gateway:lights=http://10.0.0.5:8123/api, model=http://localhost:11434/v1\n model=https://b.example"
    )
    assert allowance.lists("gateway:lights", Origin("http", "10.0.0.5", 8123))
    assert allowance.lists("model", Origin("http", "localhost", 11434))
    assert allowance.lists("model", Origin("https", "b.example", 443))
    assert not allowance.lists("model", Origin("http", "10.0.0.5", 8123))
    assert not Allowance.from_text("").lists("model", Origin("http", "localhost", 11434))


@pytest.mark.parametrize(
    "text", ["http://10.0.0.5", "model=10.0.0.5:8000", "=http://10.0.0.5", "model=", "model=http://u@h.example"]
)
def test_an_unreadable_listing_stops_the_server_with_a_clear_error(text: str) -> None:
    with pytest.raises(CannotStart, match=r"egress\.listed"):
        Allowance.from_text(text)
