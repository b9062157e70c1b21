"""What we ship for tests: fakes, a database read whole, the invariants that hold after every crash, real kills.

May import everything; nothing of the server imports it. `python -m bullpen.testing.invariants DATABASE_URL` is for
operators too: it only reads.
"""

from bullpen.testing.clock import FakeClock
from bullpen.testing.limits import NO_LIMITS, UNLIMITED

__all__ = ["NO_LIMITS", "UNLIMITED", "FakeClock"]
