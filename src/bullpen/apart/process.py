"""The program of a child: it answers one question after another until its input ends.

It runs named functions only. Before each one it limits its own time and memory. An exception ends the process: nobody
knows in what state it left the libraries. The server then starts another child.
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
from collections.abc import Callable, Mapping
from math import ceil
from typing import IO, Any, Final, TypeAlias

import orjson

from bullpen.apart import documents, pictures, schemas, sentences, texts
from bullpen.apart.frames import END, NO_MEMORY, pack_fields, pack_piece, read_piece, read_pieces

# From the fields and the data of a question to those of the answer.
Function: TypeAlias = Callable[[Mapping[str, Any], bytes], tuple[Mapping[str, Any], bytes]]

FUNCTIONS: Final[Mapping[str, Function]] = {
    "check_arguments": schemas.check_arguments,
    "draw_thumbnail": pictures.draw_thumbnail,
    "draw_for_model": pictures.draw_for_model,
    "embed": sentences.embed,
    "read_pdf": documents.read_pdf,
    "read_table": texts.read_table,
    "read_text": texts.read_text,
    "read_word": documents.read_word,
    "read_workbook": documents.read_workbook,
}


def limit_resources(seconds: int, megabytes: int) -> None:
    """Let this process take so many seconds of CPU from now on, and so much memory in all."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    _limit(resource.RLIMIT_CPU, ceil(usage.ru_utime + usage.ru_stime) + seconds)
    _limit(resource.RLIMIT_AS, megabytes << 20)


def _limit(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def answer_questions(source: IO[bytes], sink: IO[bytes]) -> None:
    while asked := read_piece(source):
        question = orjson.loads(asked)
        limit_resources(question["seconds"], question["megabytes"])
        data = b"".join(read_pieces(source))
        fields, found = FUNCTIONS[question["function"]](question["fields"], data)
        sink.write(pack_fields(fields) + (pack_piece(found) if found else b"") + END)
        sink.flush()


def _offer_to_end() -> None:
    """When the machine has no memory left, the kernel should end this process rather than the server."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")


def main() -> None:
    _offer_to_end()
    for kind in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE):  # it has nothing to write but its answers
        resource.setrlimit(kind, (0, 0))
    try:
        answer_questions(sys.stdin.buffer, sys.stdout.buffer)
    except MemoryError:
        os._exit(NO_MEMORY)  # at once: to end in order takes memory as well
