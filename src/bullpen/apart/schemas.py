"""Checks arguments against a JSON Schema. Imports nothing of ours.

The server uses this itself for checks that are known to be small (tools/json_schema.py), and a child of the pool for
all others (tools/check_apart.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

MAX_COMPILED: Final = 1_000_000  # bytes that one pattern may take when it is compiled
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


def check_arguments(fields: Mapping[str, Any], data: bytes) -> tuple[Mapping[str, Any], bytes]:
    """For the pool: `schema` and `arguments` in, `wrong` out."""
    validator = build_validator(fields["schema"])
    # Most arguments fit, and to see that takes no memory at all.
    fits = validator.is_valid(fields["arguments"])
    return {"wrong": [] if fits else find_errors(validator, fields["arguments"])}, b""
