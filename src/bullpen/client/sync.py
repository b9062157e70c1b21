"""The SDK without async: `from bullpen.client.sync import Bullpen`.

    with Bullpen(url, token) as bp:
        bp.spaces("general").send("hello everyone")
        for event in bp.events(space="general"): ...

`blocking.py` does the work. What editors know of this is in `sync.pyi`, which `make reference` writes from the async
client.
"""

from bullpen.client.blocking import Blocking, Events
from bullpen.client.client import Bullpen as AsyncBullpen

__all__ = ["Bullpen", "Events"]


class Bullpen(Blocking):
    """A connection to a server, as whoever holds the token."""

    def __init__(self, url: str = "http://127.0.0.1:8420", token: str | None = None, *, patience: float = 10.0) -> None:
        super().__init__(AsyncBullpen(url, token, patience=patience))
