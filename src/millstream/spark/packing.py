"""An archive of this installation for the executors of a cluster: `lib` with packages, `bin/python`
that starts Python with them.

Spark unpacks it beside each executor (`--archives`). It holds millstream and what it needs for pipelines, as
installed here, without PySpark, which a cluster has, and without Python itself: the launcher looks for the
same minor version on the executor's machine.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import sys
import tarfile
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath
from typing import Final

import millstream
from millstream.errors import ConfigError

OURS: Final = "millstream"
OUR_PACKAGES: Final = ("millstream", "pyspark_millstream")
EXTRA: Final = "spark"
ON_THE_CLUSTER: Final = frozenset({"pyspark", "py4j"})
_FAST: Final = 1
"""The compression: most of the archive are libraries, which a higher level makes little smaller, and slowly."""
_BUILD_ONLY: Final = frozenset({".c", ".h", ".hpp", ".pxd", ".pyc", ".pyx"})
_REQUIREMENT: Final = re.compile(
    r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[([^\]]*)\])?\s*(?:\(?\s*[<>=!~@][^;]*)?(?:;(.*))?$"
)
_EXTRA: Final = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")
_LAUNCHER: Final = """\
#!/bin/sh
# Starts Python {version} with the packages of this archive.
here=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd) || exit 1
for python in python{version} python3 {packed_with}; do
    if "$python" -c 'import sys; sys.exit(sys.version_info[:2] != ({major}, {minor}))' 2>/dev/null; then
        PYTHONPATH="$here/lib${{PYTHONPATH:+:$PYTHONPATH}}" exec "$python" "$@"
    fi
done
echo "this archive was packed with Python {version}, which is not on the PATH of this machine: install it" >&2
exit 1
"""


@dataclass(frozen=True, slots=True)
class Requirement:
    """`is_conditional`: it has a marker, and may rightly be missing. `extra`: wanted with that extra only."""

    name: str
    extras: tuple[str, ...]
    extra: str | None
    is_conditional: bool


def pack(
    target: Path,
    also: Iterable[str] = (),
    tell: Callable[[int, int], object] = lambda _done, _total: None,
) -> list[Distribution]:
    """Writes the archive and returns what is in it. `also`: other installed distributions, with what they need.
    `tell` is told of how many bytes how many have been packed.

    Raises ConfigError where something is not installed, or not so that it can be packed. An earlier file is
    replaced when all is done.
    """
    if target.exists() and not target.is_file():
        raise ConfigError(f"{target} is no file, and would be replaced by one: name another")
    found = closure([Requirement(OURS, (EXTRA,), None, False), *map(parse_requirement, also)])
    files = [
        (path, source, source.stat().st_size) for each in found for path, source in files_of(each)
    ]
    done, total = 0, sum(size for _, _, size in files)
    unfinished = target.with_name(f"{target.name}.part")
    try:
        with tarfile.open(unfinished, "w:gz", compresslevel=_FAST) as archive:
            _add_launcher(archive)
            for path, source, size in files:
                tell(done, total)
                archive.add(source, str(PurePosixPath("lib", path)), recursive=False)
                done += size
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return found


def closure(wanted: Iterable[Requirement]) -> list[Distribution]:
    """Returns the distributions that these need, by name, and those that they need.

    Raises ConfigError for one that is missing.
    """
    found: dict[str, Distribution] = {}
    done: set[tuple[str, str]] = set()
    left = list(wanted)
    while left:
        requirement = left.pop()
        name = _normalised(requirement.name)
        if name in ON_THE_CLUSTER:
            continue
        if name not in found:
            try:
                found[name] = distribution(requirement.name)
            except PackageNotFoundError as error:
                if requirement.is_conditional:
                    continue
                raise ConfigError(
                    f"{requirement.name} is needed on executors and is not installed here: install it, as "
                    f"`pip install 'millstream[{EXTRA}]'` does"
                ) from error
        for extra in {"", *requirement.extras} - {known for owner, known in done if owner == name}:
            done.add((name, extra))
            left += _required_by(found[name], extra)
    return [found[name] for name in sorted(found)]


def parse_requirement(text: str) -> Requirement:
    """Reads `name[extra]>=1; marker`. Versions are those that are installed. Raises ConfigError."""
    match = _REQUIREMENT.match(text)
    if match is None:
        raise ConfigError(f"{text!r} is no name of a distribution")
    name, extras, marker = match.groups()
    extra = _EXTRA.search(marker or "")
    return Requirement(
        name,
        tuple(part.strip() for part in (extras or "").split(",") if part.strip()),
        extra[1] if extra else None,
        is_conditional=bool(_EXTRA.sub("", marker or "").strip()),
    )


def files_of(distribution_: Distribution) -> Iterator[tuple[PurePosixPath, Path]]:
    """The files below `lib`, each with where it is now. Scripts, caches and headers stay behind. Raises ConfigError."""
    name = distribution_.metadata["Name"]
    files = distribution_.files
    if files is None:
        raise ConfigError(f"{name} was installed without a list of its files: install it with pip")
    is_ours = _normalised(name) == OURS
    if is_ours:
        root = Path(millstream.__file__).parents[1]
        found = (path for package in OUR_PACKAGES for path in sorted((root / package).rglob("*")))
        yield from _packed((PurePosixPath(path.relative_to(root)), path) for path in found)
    elif _is_editable(distribution_):
        raise ConfigError(f"{name} is installed as editable, in its sources: install it as it is")
    listed = ((PurePosixPath(file), Path(str(file.locate()))) for file in files)
    for path, source in _packed(listed):
        if not is_ours or path.parts[0].endswith(".dist-info"):
            yield path, source


def _packed(
    files: Iterable[tuple[PurePosixPath, Path]],
) -> Iterator[tuple[PurePosixPath, Path]]:
    for path, source in files:
        is_below_lib = not path.is_absolute() and ".." not in path.parts
        if is_below_lib and path.suffix not in _BUILD_ONLY and source.is_file():
            yield path, source


def _required_by(distribution_: Distribution, extra: str) -> Iterator[Requirement]:
    for text in distribution_.requires or ():
        requirement = parse_requirement(text)
        if (requirement.extra or "") == extra:
            yield requirement


def _is_editable(distribution_: Distribution) -> bool:
    origin = json.loads(distribution_.read_text("direct_url.json") or "{}")
    return bool(origin.get("dir_info", {}).get("editable"))


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def launcher(base_executable: str, version: Collection[int]) -> str:
    """The text of `bin/python`. `base_executable` is tried last: an executor may run on a copy of this machine."""
    major, minor = version
    return _LAUNCHER.format(
        version=f"{major}.{minor}",
        major=major,
        minor=minor,
        packed_with=shlex.quote(base_executable),
    )


def _add_launcher(archive: tarfile.TarFile) -> None:
    base = getattr(sys, "_base_executable", sys.executable)
    data = launcher(os.path.realpath(base), sys.version_info[:2]).encode()
    entry = tarfile.TarInfo("bin/python")
    entry.size, entry.mode = len(data), 0o755
    archive.addfile(entry, io.BytesIO(data))
