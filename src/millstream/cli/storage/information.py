"""Tells what the directories of a node hold, as `kafka-storage info` does, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from millstream.log.directory.formatting import read_meta_properties
from millstream.log.directory.text_checkpoints import (
    META_PROPERTIES_FILE,
    DamagedFile,
    MetaProperties,
)
from millstream.model import uuid_text
from millstream.runtime import FileSystem


class Information(NamedTuple):
    """The directories that are there, the identity of each formatted one, and problems as sentences."""

    found: list[str]
    metas: Mapping[str, MetaProperties]
    problems: list[str]

    def lines(self) -> Iterator[str]:
        """Yields it as Kafka prints it."""
        if self.found:
            yield "Found log directory:" if len(self.found) == 1 else "Found log directories:"
            yield from (f"  {path}" for path in self.found)
            yield ""
        for meta in list(self.metas.values())[:1]:
            yield (
                f"Found metadata: {{cluster.id={meta.cluster_id}, directory.id={uuid_text(meta.directory_id)}, "
                f"node.id={meta.node_id}, version=1}}"
            )
            yield ""
        if self.problems:
            yield "Found problem:" if len(self.problems) == 1 else "Found problems:"
            yield from (f"  {problem}" for problem in self.problems)
            yield ""


def information(directories: tuple[str, ...], file_system: FileSystem) -> Information:
    metas: dict[str, MetaProperties] = {}
    told = Information([], metas, [])
    for path in directories:
        problem = _look_at(path, file_system, told.found, metas)
        if problem is not None:
            told.problems.append(problem)
    return told


def _look_at(
    path: str, file_system: FileSystem, found: list[str], metas: dict[str, MetaProperties]
) -> str | None:
    """Notes what one directory is, and returns what is wrong with it."""
    if not file_system.exists(path):
        return f"{path} does not exist"
    try:
        file_system.list(path)
    except NotADirectoryError:
        return f"{path} is not a directory"
    except OSError as error:
        return f"{path} cannot be read: {error.strerror or error}"
    found.append(path)
    try:
        meta = read_meta_properties(file_system, path)
    except (DamagedFile, OSError) as error:
        reason = str(error).removeprefix(f"{path}/{META_PROPERTIES_FILE} is damaged: ")
        return f"Error loading {path}/{META_PROPERTIES_FILE}: {reason}"
    if meta is None:
        return f"{path} is not formatted."
    problem = _mismatch(meta, metas)
    metas[path] = meta
    return problem


def _mismatch(meta: MetaProperties, metas: Mapping[str, MetaProperties]) -> str | None:
    for first in list(metas.values())[:1]:
        if first.cluster_id != meta.cluster_id:
            return "Mismatched cluster IDs between storage directories."
        if first.node_id != meta.node_id:
            return "Mismatched node IDs between storage directories."
    return None
