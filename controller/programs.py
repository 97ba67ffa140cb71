"""Which programs there are on this box: version, Python, libraries, and the SHA-256 of each of their files (R-114)."""

import os
import platform
import sys
from hashlib import sha256
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from controller.begun import Software

ROOMS = ("controller", "firmware_bridge")


def programs(program: str) -> dict[str, Any]:
    """The program that runs here: its version, Python, libraries, and the SHA-256 of each of its own files (R-78)."""
    packages = sorted({f"{found.metadata['Name']} {found.version}" for found in distributions()})
    return {"program": program, "python": platform.python_version(), "system": platform.platform(),
            "libraries": packages, "files": _files()}


def software(version: str) -> Software:
    """What runs here, each part with one hash. Blocks for a moment: it reads every file of the program."""
    records = {f"{one.metadata['Name']} {one.version}": one.read_text("RECORD") or "" for one in distributions()}
    libraries = {name: sha256(record.encode()).hexdigest() for name, record in sorted(records.items())}
    return Software(version, program_hash(_files()), platform.python_version(), _interpreter(), platform.platform(),
                    libraries)


def program_hash(files: dict[str, str]) -> str:
    """One hash of many files: that of the lines which ``sha256sum`` prints of them, in the order of their names."""
    return sha256("".join(f"{digest}  {name}\n" for name, digest in sorted(files.items())).encode()).hexdigest()


def _files() -> dict[str, str]:
    files = {}
    above = Path(__file__).parents[1]
    for room in ROOMS:
        for path in sorted((above / room).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                files[path.relative_to(above).as_posix()] = sha256(path.read_bytes()).hexdigest()
    return files


def _interpreter() -> str:
    try:
        return sha256(Path(os.path.realpath(sys.executable)).read_bytes()).hexdigest()
    except OSError:
        return ""
