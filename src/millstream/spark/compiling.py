"""Bytecode beside the sources of PySpark in the archives that a Spark installation has for its Python workers.

Spark gives its workers PySpark as `pyspark.zip`, in which there are sources alone, and Python keeps no bytecode of what
it imports out of a zip: each process compiles tens of thousands of lines again, 0.4 s of processor time. It starts
several for a session, and one more for each streaming query whose source is in Python.
"""

from __future__ import annotations

import importlib.util
import marshal
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from millstream.errors import ConfigError

_UNCHECKED_HASH: Final = 0b01
"""PEP 552: the bytecode is taken as it is. Nobody edits sources in an archive."""
_TESTS: Final = "/tests/"


def archives() -> list[Path]:
    """Returns the archives of the installation that sessions of this environment use, as PySpark finds it.

    Raises ConfigError where there is none.
    """
    home = os.environ.get("SPARK_HOME") or _installed()
    found = sorted(Path(home, "python", "lib").glob("*.zip"))
    if not found:
        raise ConfigError(
            f"{home} has no python/lib/pyspark.zip: set SPARK_HOME to an installation of Spark 4"
        )
    return found


def compile_archive(
    archive: Path, tell: Callable[[int, int], object] = lambda _done, _total: None
) -> int:
    """Adds bytecode of this Python's to an archive and returns of how many modules: 0 where it is there already.
    `tell` is told of how many files how many are done.

    The archive is replaced at once, when all is written. Workers of another Python compile the sources as
    before. Processes that run meanwhile may fail to import what they have not imported yet. Raises
    ConfigError where it cannot be read or written.
    """
    unfinished = archive.with_name(f"{archive.name}.{os.getpid()}.part")
    try:
        with zipfile.ZipFile(archive) as source:
            if _is_compiled(source):
                return 0
            try:
                modules = _write_compiled(source, unfinished, tell)
                unfinished.chmod(archive.stat().st_mode)
                unfinished.replace(archive)
            finally:
                unfinished.unlink(missing_ok=True)
    except (OSError, zipfile.BadZipFile) as error:
        raise ConfigError(
            f"{archive} cannot be compiled ({error}): run this as the user who owns it"
        ) from error
    return modules


def _installed() -> str:
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise ConfigError(
            "there is no Spark here: pip install 'millstream[spark]', or set SPARK_HOME to an installation of Spark 4"
        )
    return str(Path(found.origin).parent)


def _is_compiled(source: zipfile.ZipFile) -> bool:
    for name in source.namelist():
        if name.endswith(".pyc"):
            return source.read(name).startswith(importlib.util.MAGIC_NUMBER)
    return False


def _write_compiled(
    source: zipfile.ZipFile, target: Path, tell: Callable[[int, int], object]
) -> int:
    modules = 0
    entries = source.infolist()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as compiled:
        for number, entry in enumerate(entries):
            tell(number, len(entries))
            if entry.filename.endswith(".pyc"):  # another Python's
                continue
            data = source.read(entry)
            if entry.filename.endswith(".py") and _TESTS not in entry.filename:
                compiled.writestr(f"{entry.filename}c", _bytecode(data, entry.filename))
                modules += 1
            compiled.writestr(entry, data)
    return modules


def _bytecode(source: bytes, name: str) -> bytes:
    """The content of a `.pyc` file (PEP 552)."""
    code = compile(source, name, "exec", dont_inherit=True)
    flags = _UNCHECKED_HASH.to_bytes(4, "little")
    return b"".join(
        (
            importlib.util.MAGIC_NUMBER,
            flags,
            importlib.util.source_hash(source),
            marshal.dumps(code),
        )
    )
