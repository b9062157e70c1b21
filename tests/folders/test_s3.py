"""Storage that speaks S3: signed as the others sign, in parts of bounded size, and clear about what is wrong."""

from __future__ import annotations

import asyncio
import logging
import tempfile
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given as fuzzed
from hypothesis import strategies as st

from bullpen import ids
from bullpen.errors import CannotStart, EgressDenied, NotFound, Unavailable
from bullpen.files import s3
from bullpen.files.s3 import S3Blobs
from bullpen.files.signing import EMPTY, Signer, query_of
from bullpen.net.allowance import Allowance
from bullpen.net.client import Egress
from bullpen.observe.redact import REDACTOR
from bullpen.settings import S3Settings, load_settings
from tests.cli.processes import bullpen
from tests.folders.stores import ACCESS, SECRET, Storage, all_of, closed_port, given, s3_blobs
from tests.net.servers import Asked, Behaviour, World, answer, says, world

MANY = 1 << 40
AT = datetime(2030, 5, 17, 12, 34, 56, tzinfo=UTC)


# ── signatures ──────────────────────────────────────────────────────────────────────────────────────────────────────


def by_the_book(method: str, url: str, body_hash: str, more: dict[str, str], region: str) -> str:
    """The Authorization header as the reference implementation makes it."""
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    request = AWSRequest(method, url, headers={**more, "x-amz-content-sha256": body_hash})
    auth = S3SigV4Auth(Credentials(ACCESS, SECRET), "s3", region)
    request.context["timestamp"] = AT.strftime("%Y%m%dT%H%M%SZ")
    request.headers["X-Amz-Date"] = request.context["timestamp"]
    canonical = auth.canonical_request(request)
    signature = auth.signature(auth.string_to_sign(request, canonical), request)
    names = auth.signed_headers(auth.headers_to_sign(request))
    return f"AWS4-HMAC-SHA256 Credential={auth.scope(request)}, SignedHeaders={names}, Signature={signature}"


names = st.text("abcXYZ-09 /+=~é%", min_size=1, max_size=12)


@fuzzed(
    st.sampled_from(["GET", "PUT", "POST", "DELETE", "HEAD"]),
    st.text("abcXYZ019_.-/", max_size=30),
    st.dictionaries(names, names, max_size=4),
    st.sampled_from(["us-east-1", "eu-north-7"]),
    st.booleans(),
)
def test_signatures_are_those_of_the_reference(
    method: str, key: str, query: dict[str, str], region: str, ranged: bool
) -> None:
    path, asked = f"/bucket/{key}", query_of(query)
    more = {"Range": "bytes=5-"} if ranged else {}
    signed = Signer(ACCESS, SECRET, region).headers(method, "store.example.com:9000", path, asked, at=AT, more=more)
    url = f"https://store.example.com:9000{path}" + (f"?{asked}" if asked else "")
    assert signed["Authorization"] == by_the_book(method, url, EMPTY, more, region)


def test_a_signer_does_not_show_its_secret() -> None:
    assert SECRET not in repr(Signer(ACCESS, SECRET, "r")) + repr(S3Settings(secret_key=SECRET))


# ── against a server ────────────────────────────────────────────────────────────────────────────────────────────────


async def test_objects_lie_under_the_prefix_and_only_ours_are_listed(storage: Storage, tmp_path: Path) -> None:
    storage.client.put_object(Bucket=storage.bucket, Key="office/notes.txt", Body=b"somebody else's")
    async with (
        s3_blobs(storage.settings(prefix="office/"), tmp_path) as ours,
        s3_blobs(storage.settings(), tmp_path) as bare,
    ):
        id, other = ids.file(), ids.file()
        await ours.keep(id, given([b"x"]), most=1)
        await bare.keep(other, given([b"y"]), most=1)
        assert sorted(storage.keys()) == sorted([f"office/{id}", "office/notes.txt", other])
        assert [each async for each in ours.ids()] == [id]
        assert [each async for each in bare.ids()] == [other]


async def test_a_large_object_uploads_in_parts_and_appears_when_complete(storage: Storage, tmp_path: Path) -> None:
    async with s3_blobs(storage.settings(), tmp_path) as blobs:
        id, seen = ids.file(), []

        async def watched() -> AsyncIterator[bytes]:
            for number in range(40):
                yield bytes([number]) * 500_000
                seen.append((await asyncio.to_thread(storage.keys), await asyncio.to_thread(storage.begun)))

        await blobs.keep(id, watched(), most=MANY)
    assert all(keys == [] for keys, _ in seen)
    assert [id] in [begun for _, begun in seen]
    assert (storage.keys(), storage.begun()) == ([id], [])
    assert list(tmp_path.iterdir()) == [], "what was on its way has left nothing on the disk"


async def test_what_a_killed_process_began_is_tidied_up(storage: Storage, tmp_path: Path) -> None:
    for name in ("office/fil_ab", "elsewhere/fil_cd"):
        storage.client.create_multipart_upload(Bucket=storage.bucket, Key=name)
    async with s3_blobs(storage.settings(prefix="office"), tmp_path) as blobs:
        assert await blobs.tidy(idle=0) == 1
    assert storage.begun() == ["elsewhere/fil_cd"]


async def test_an_upload_that_is_under_way_is_not_tidied_up() -> None:
    heard: list[str] = []

    async def behave(asked: Asked, writer: asyncio.StreamWriter) -> None:
        heard.append(f"{asked.method} {asked.target}")
        times = {"old": "2020-01-01T00:00:00.000Z", "young": datetime.now(UTC).isoformat()}
        entries = "".join(
            f"<Upload><Key>fil_{name}</Key><UploadId>{name}</UploadId><Initiated>{at}</Initiated></Upload>"
            for name, at in times.items()
        )
        writer.write(answer(f"<L>{entries}</L>".encode() if asked.method == "GET" else b""))

    async with away(behave) as (blobs, _):
        assert await blobs.tidy(idle=3600) == 1
    assert heard[1:] == ["DELETE /b/fil_old?uploadId=old"]


async def test_a_large_upload_holds_little_memory(storage: Storage, tmp_path: Path) -> None:
    """100 MB through an upload that goes nowhere, so that only our own memory is counted."""
    piece = b"m" * 65_536

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(1600):
            yield piece

    async def store(asked: Asked, writer: asyncio.StreamWriter) -> None:
        asked.body = b""
        if asked.method == "POST" and asked.target.endswith("uploads="):
            writer.write(answer(b"<R><UploadId>u</UploadId></R>"))
        else:
            writer.write(answer(b"<R></R>", ETag='"t"'))

    async with away(store) as (blobs, _):
        await blobs.keep(ids.file(), given([piece]), most=MANY)
        tracemalloc.start()
        kept = await blobs.keep(ids.file(), pieces(), most=MANY)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert kept.size == 1600 * 65_536
    # The server of this test reads a whole part (8 MiB, joined once) in the same process.
    assert peak - 2 * s3.PART < 5 * 10**6, peak


# ── a server that is not well ───────────────────────────────────────────────────────────────────────────────────────


@asynccontextmanager
async def away(behave: Behaviour, **more: str) -> AsyncIterator[tuple[S3Blobs, World]]:
    settings = S3Settings(endpoint="http://store.example.com", bucket="b", access_key=ACCESS, secret_key=SECRET, **more)
    async with world() as made:
        name = "b.store.example.com" if settings.addressing == "host" else "store.example.com"
        await made.server(behave, name=name)
        with tempfile.TemporaryDirectory() as spool:
            yield S3Blobs(settings, lambda: made.egress, Path(spool)), made


@pytest.fixture(autouse=True)
def _hardly_any_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3, "WAIT_SECONDS", 0.001)


async def test_the_bucket_stands_in_the_path_or_in_the_host() -> None:
    for addressing, expected in (
        ("path", ("store.example.com", "/b/p/fil_ab")),
        ("host", ("b.store.example.com", "/p/fil_ab")),
    ):
        heard: list[Asked] = []

        async def behave(asked: Asked, writer: asyncio.StreamWriter, heard: list[Asked] = heard) -> None:
            heard.append(asked)
            writer.write(answer(b""))

        async with away(behave, addressing=addressing, prefix="p") as (blobs, _):
            await blobs.size("fil_ab")
        assert (heard[0].headers["host"], heard[0].target) == expected
        assert "SignedHeaders=host;x-amz-content-sha256;x-amz-date" in heard[0].headers["authorization"]
        assert SECRET not in str(heard[0])


async def test_a_busy_store_is_retried_and_then_reported_unavailable() -> None:
    busy = answer(b"", "503 Slow Down")
    async with away(says(busy, busy, answer(b"hello"))) as (blobs, _):
        assert await all_of(blobs.read("fil_ab")) == b"hello"
    async with away(says(busy)) as (blobs, _):
        for asked in (blobs.size("fil_ab"), all_of(blobs.read("fil_ab")), blobs.drop("fil_ab"), blobs.check()):
            with pytest.raises(Unavailable, match="cannot be used just now"):
                await asked
        with pytest.raises(Unavailable):
            await blobs.keep("fil_ab", given([b"x"]), most=1)


async def test_an_unreachable_store_is_reported_unavailable(tmp_path: Path) -> None:
    with closed_port() as port:
        settings = S3Settings(endpoint=f"http://127.0.0.1:{port}", bucket="b", access_key=ACCESS, secret_key=SECRET)
        async with s3_blobs(settings, tmp_path) as blobs:
            for asked in (all_of(blobs.read("fil_ab")), blobs.keep("fil_ab", given([b"x"]), most=1)):
                with pytest.raises(Unavailable, match=r"127\.0\.0\.1.* Try again later\."):
                    await asked


async def test_a_lost_connection_is_made_again_from_where_it_broke() -> None:
    heard: list[str] = []

    async def behave(asked: Asked, writer: asyncio.StreamWriter) -> None:
        heard.append(asked.headers.get("range", ""))
        if not heard[-1]:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
            await writer.drain()
            writer.close()
        else:
            writer.write(answer(b"world", "206 Partial Content"))

    async with away(behave) as (blobs, _):
        assert await all_of(blobs.read("fil_ab")) == b"helloworld"
    assert heard == ["", "bytes=5-"]


async def test_a_store_without_ranges_is_read_from_the_start() -> None:
    async with away(says(answer(b"helloworld"))) as (blobs, _):
        assert await all_of(blobs.read("fil_ab", 7)) == b"rld"


@pytest.mark.parametrize(
    "body, status, error",
    [
        (b"<Error><Code>NoSuchKey</Code></Error>", "404 Not Found", NotFound),
        (b"<Error><Code>NoSuchBucket</Code></Error>", "404 Not Found", Unavailable),
        (b"<Error><Code>SignatureDoesNotMatch</Code></Error>", "403 Forbidden", Unavailable),
        (b"gibberish", "400 Bad Request", Unavailable),
        (b"", "301 Moved Permanently", Unavailable),
    ],
)
async def test_a_refusal_is_distinguished_from_a_missing_object(
    body: bytes, status: str, error: type[Exception]
) -> None:
    async with away(says(answer(body, status))) as (blobs, _):
        with pytest.raises(error):
            await all_of(blobs.read("fil_ab"))


BOMB = b"""<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<R><Contents><Key>&b;</Key></Contents></R>"""


@pytest.mark.parametrize(
    "page",
    [
        BOMB,
        BOMB.decode().encode("utf-16"),
        b"<R><Contents/></R>",
        b"<R>",
        b"",
        b"\xff\xfe",
        b"<R><IsTruncated>true</IsTruncated></R>",
    ],
    ids=["bomb", "bomb in UTF-16", "no key", "half", "nothing", "no text", "no token"],
)
async def test_an_unintelligible_store_listing_is_refused(page: bytes) -> None:
    async with away(says(answer(page))) as (blobs, _):
        with pytest.raises(Unavailable, match="cannot be understood"):
            [id async for id in blobs.ids()]


async def test_listings_are_read_page_by_page() -> None:
    heard: list[str] = []

    async def behave(asked: Asked, writer: asyncio.StreamWriter) -> None:
        heard.append(asked.target)
        number = len(heard)
        more = (
            "<IsTruncated>true</IsTruncated><NextContinuationToken>a b/=</NextContinuationToken>" if number < 3 else ""
        )
        entry = f"<Contents><Key>fil_{number}x</Key><LastModified>2020-01-01T00:00:00.000Z</LastModified></Contents>"
        writer.write(answer(f'<L xmlns="http://example.com/doc/">{entry}{more}</L>'.encode()))

    async with away(behave) as (blobs, _):
        assert [id async for id in blobs.ids()] == ["fil_1x", "fil_2x", "fil_3x"]
    assert "continuation-token" not in heard[0]
    assert "continuation-token=a%20b%2F%3D" in heard[1]


async def test_an_upload_that_the_store_fails_at_completion_is_aborted() -> None:
    """S3 may answer 200 to the last request and say in its body that it failed."""
    heard: list[str] = []

    async def behave(asked: Asked, writer: asyncio.StreamWriter) -> None:
        heard.append(f"{asked.method} {asked.target}")
        if asked.target.endswith("?uploads="):
            writer.write(answer(b"<R><UploadId>u1</UploadId></R>"))
        elif asked.method == "POST":
            writer.write(answer(b"<Error><Code>InternalError</Code></Error>"))
        else:
            writer.write(answer(b"", ETag='"t"'))

    async with away(behave) as (blobs, _):
        with pytest.raises(Unavailable, match="InternalError"):
            await blobs.keep("fil_ab", given([b"x" * (9 << 20)]), most=MANY)
    assert heard[-2:] == ["DELETE /b/fil_ab?uploadId=u1", "DELETE /b/fil_ab"]


async def test_a_lost_answer_does_not_undo_a_completed_upload() -> None:
    """The store completes, the connection breaks, and asked again it knows of no such upload any more."""
    completed = []

    async def behave(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.target.endswith("?uploads="):
            writer.write(answer(b"<R><UploadId>u1</UploadId></R>"))
        elif asked.method == "POST":
            completed.append(asked)
            if len(completed) == 1:
                writer.close()
                return
            writer.write(answer(b"<Error><Code>NoSuchUpload</Code></Error>", "404 Not Found"))
        else:
            writer.write(answer(b"", ETag='"t"'))

    async with away(behave) as (blobs, _):
        kept = await blobs.keep("fil_ab", given([b"x" * (9 << 20)]), most=MANY)
    assert (kept.size, len(completed)) == (9 << 20, 2)


async def test_only_file_storage_may_reach_a_store_on_this_machine(storage: Storage, tmp_path: Path) -> None:
    settings = storage.settings()
    async with Egress(Allowance({s3.USE: [s3.url_of(settings)]})) as egress:
        await S3Blobs(settings, lambda: egress, tmp_path).check()
        with pytest.raises(EgressDenied):
            await egress.request("web", "GET", settings.endpoint)
    async with Egress() as egress:
        with pytest.raises(Unavailable, match=r"not on the public internet|no usual port"):
            await S3Blobs(settings, lambda: egress, tmp_path).check()


async def test_the_secret_key_is_masked_wherever_it_is_written(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with away(says(answer(b"<Error><Code>AccessDenied</Code></Error>", "403 Forbidden"))) as (blobs, _):
        with pytest.raises(Unavailable) as refused:
            await blobs.check()
    assert SECRET not in caplog.text + str(refused.value)
    assert SECRET not in REDACTOR.clean(f"the key is {SECRET}, is it not")


# ── the operator ────────────────────────────────────────────────────────────────────────────────────────────────────


def environment(storage: Storage, **more: str) -> dict[str, str]:
    settings = storage.settings()
    return {
        "BULLPEN_S3__ENDPOINT": settings.endpoint,
        "BULLPEN_S3__BUCKET": settings.bucket,
        "BULLPEN_S3__ACCESS_KEY": settings.access_key,
        "BULLPEN_S3__SECRET_KEY": settings.secret_key,
        **more,
    }


@pytest.mark.parametrize(
    "given_settings",
    [
        {"BULLPEN_S3__BUCKET": "b"},
        {"BULLPEN_S3__ENDPOINT": "store.example.com"},
        {"BULLPEN_S3__ENDPOINT": "https://store.example.com/bucket"},
        {"BULLPEN_S3__BUCKET": "../b"},
        {"BULLPEN_S3__PREFIX": "/etc"},
        {"BULLPEN_S3__PREFIX": "a/../b"},
        {"BULLPEN_S3__ADDRESSING": "somehow"},
        {"BULLPEN_FOLDERS__BYTES": "-1"},
    ],
    ids=str,
)
def test_an_impossible_s3_setting_prevents_starting(given_settings: dict[str, str]) -> None:
    whole = {
        "BULLPEN_S3__ENDPOINT": "https://store.example.com",
        "BULLPEN_S3__BUCKET": "b",
        "BULLPEN_S3__ACCESS_KEY": "a",
        "BULLPEN_S3__SECRET_KEY": SECRET,
    }
    assert load_settings(whole).s3.bucket == "b"
    broken = given_settings if given_settings == {"BULLPEN_S3__BUCKET": "b"} else {**whole, **given_settings}
    with pytest.raises(CannotStart) as refused:
        load_settings(broken)
    assert SECRET not in str(refused.value)


def test_doctor_says_whether_the_bucket_answers(storage: Storage, tmp_path: Path) -> None:
    def told(**more: str) -> str:
        done = bullpen(tmp_path / "data", "doctor", **environment(storage, **more))
        assert SECRET not in done.stdout + done.stderr
        return next(line for line in done.stdout.splitlines() if " storage " in line)

    assert told().startswith("ok")
    assert "which answers" in told()
    wrong = told(BULLPEN_S3__BUCKET="nowhere")
    assert wrong.startswith("problem")
    assert "NoSuchBucket" in wrong
    with closed_port() as port:
        assert told(BULLPEN_S3__ENDPOINT=f"http://127.0.0.1:{port}").startswith("problem")
