"""The SDK against an office in this process."""

from __future__ import annotations

import httpx

from bullpen.client import Bullpen
from tests.driver import Driver


def sdk(office: Driver) -> Bullpen:
    """The owner's client."""
    return Bullpen("http://office", office.token, transport=httpx.ASGITransport(office.office.api))
