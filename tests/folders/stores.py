"""Blobs in every place there is: on a disk, and in a server on this machine that speaks S3."""

from __future__ import annotations

import logging
import secrets
import socket
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bullpen.files import s3
from bullpen.files.s3 import S3Blobs
from bullpen.net.allowance import Allowance
from bullpen.net.client import Egress
from bullpen.settings import S3Settings

ACCESS = "AKIAEXAMPLE"
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


@dataclass
class Storage:
    """The server, and a client of another maker that looks at what we put there."""

    endpoint: str
    bucket: str
    client: Any = field(repr=False)

    def settings(self, **more: Any) -> S3Settings:
        fields = {"endpoint": self.endpoint, "bucket": self.bucket, "access_key": ACCESS, "secret_key": SECRET}
        return S3Settings(**{**fields, **more})

    def keys(self) -> list[str]:
        return [found["Key"] for found in self.client.list_objects_v2(Bucket=self.bucket).get("Contents", [])]

    def begun(self) -> list[str]:
        return [found["Key"] for found in self.client.list_multipart_uploads(Bucket=self.bucket).get("Uploads", [])]


@contextmanager
def running() -> Iterator[str]:
    """A server for the whole session; its endpoint."""
    from moto.server import ThreadedMotoServer  # slow to import, and only these tests need it

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()


def storage_at(endpoint: str) -> Storage:
    """A fresh bucket."""
    import boto3
    from botocore.config import Config

    client = boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id=ACCESS,
        aws_secret_access_key=SECRET,
        config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}),
    )
    bucket = f"office-{secrets.token_hex(6)}"
    client.create_bucket(Bucket=bucket)
    return Storage(endpoint, bucket, client)


@contextmanager
def closed_port() -> Iterator[int]:
    """A port on which nobody listens, and which nobody else can take meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@asynccontextmanager
async def s3_blobs(settings: S3Settings, spool: Path) -> AsyncIterator[S3Blobs]:
    """As the office has them: the endpoint in the settings is listed for this use, and for no other."""
    allowance = Allowance()
    allowance.add(s3.USE, s3.url_of(settings))
    async with Egress(allowance) as egress:
        yield S3Blobs(settings, lambda: egress, spool)


async def given(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def all_of(pieces: AsyncIterator[bytes]) -> bytes:
    return b"".join([piece async for piece in pieces])
