"""Checks arguments against a schema, in a process of its own that may die of it.

Run by its path, as a program: it imports nothing of ours, so that it starts fast and holds nothing. Reads
`{"schema": …, "arguments": …}` and writes a list of what is wrong. Before it reads anything, it limits the memory and
the time that it may take.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import orjson

MAX_COMPILED: Final = 1_000_000  # bytes that one pattern may take when it is compiled
MEMORY_BYTES: Final = 256 << 20
CPU_SECONDS: Final = 2
TOLD: Final = 8  # how many things that are wrong are named


def build_validator(schema: Any) -> Any:
    import jsonschema_rs  # takes a while, and most servers check nothing for now

    return jsonschema_rs.Draft202012Validator(
        schema,
        offline=True,
        pattern_options=jsonschema_rs.RegexOptions(size_limit=MAX_COMPILED),
        validate_formats=False,
    )


def find_errors(validator: Any, arguments: Any) -> list[str]:
    """What is wrong with the arguments; nothing, if they fit."""
    wrong: list[str] = []
    for error in validator.iter_errors(arguments):
        where = ".".join(str(part) for part in error.instance_path) or "arguments"
        wrong.append(f"{where}: {error.message[:200]}")
        if len(wrong) == TOLD:
            break
    return wrong


def _limit_resources() -> None:
    try:
        import resource
    except ImportError:  # not on Windows: there the deadline of whoever asked is left
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def main() -> None:
    _limit_resources()
    asked = orjson.loads(sys.stdin.buffer.read())
    validator = build_validator(asked["schema"])
    # Most arguments fit, and to see that takes no memory at all.
    wrong = [] if validator.is_valid(asked["arguments"]) else find_errors(validator, asked["arguments"])
    sys.stdout.buffer.write(orjson.dumps(wrong))


if __name__ == "__main__":
    main()
