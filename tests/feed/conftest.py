"""`world` is an office with people, agents and spaces in it, on each database: tests/feed/worlds.py."""

from tests.feed.fixtures import copied, originals, world

__all__ = ["copied", "originals", "world"]
