"""Signature V4: how a request to S3-compatible storage proves who sends it. Pure.

The secret itself is never sent: a key for the day, the region and the service is made of it, and that signs a summary
of the request. The body is part of it, by its hash, so it cannot be changed on the way, not even over plain HTTP.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import quote

ALGORITHM = "AWS4-HMAC-SHA256"
EMPTY = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True)
class Signer:
    access_key: str
    secret_key: str = field(repr=False)
    region: str
    service: str = "s3"

    def headers(
        self,
        method: str,
        host: str,
        path: str,
        query: str,
        *,
        at: datetime,
        body_hash: str = EMPTY,
        more: Mapping[str, str] | None = None,
    ) -> dict[str, str]:
        """The headers to send, `more` of them included. `path` is percent-encoded, `query` as `query_of` writes it."""
        moment = at.strftime("%Y%m%dT%H%M%SZ")
        scope = f"{moment[:8]}/{self.region}/{self.service}/aws4_request"
        sent = {"x-amz-content-sha256": body_hash, "x-amz-date": moment, **(more or {})}
        signed = {name.lower(): " ".join(value.split()) for name, value in {"host": host, **sent}.items()}
        names = ";".join(sorted(signed))
        lines = "".join(f"{name}:{signed[name]}\n" for name in sorted(signed))
        request = f"{method}\n{path}\n{query}\n{lines}\n{names}\n{body_hash}"
        summary = "\n".join((ALGORITHM, moment, scope, hashlib.sha256(request.encode()).hexdigest()))
        signature = hmac.new(self._key(scope), summary.encode(), hashlib.sha256).hexdigest()
        sent["Authorization"] = (
            f"{ALGORITHM} Credential={self.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
        )
        return sent

    def _key(self, scope: str) -> bytes:
        key = f"AWS4{self.secret_key}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        return key


def query_of(values: Mapping[str, str]) -> str:
    """A query in the one order and spelling that can be signed."""
    pairs = sorted((quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in values.items())
    return "&".join(f"{name}={value}" for name, value in pairs)
