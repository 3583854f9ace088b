"""A snapshot of the stores of a task: what it says of itself, and the files that it is made of.

Pure. The description is a file beside the others: a line with its own checksum, then JSON. What cannot be read, is of
another layout or names what is no plain file is no snapshot.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any, Final

from millstream.streams.runtime.stored_state import StoredState, StoreMarker

LAYOUT: Final = 1
DESCRIPTION: Final = "SNAPSHOT"
"""The name of the file that describes a snapshot."""
INTERVAL_MS: Final = 600_000
"""A start elsewhere lacks ten minutes of changelog at most; six copies an hour of what has changed load no storage."""
RECORDS_MIN: Final = 200_000
"""Restored in 0.3 s at worst (docs/benchmarks.md): a copy of less spares nothing."""


@dataclass(frozen=True, slots=True)
class SnapshotPlan:
    """The place of the snapshots of an application's tasks, and how often one is taken.

    One is due `interval_ms` after the last one, if without it a task that starts elsewhere would restore
    `records_min` records more.
    """

    directory: str
    interval_ms: int = INTERVAL_MS
    records_min: int = RECORDS_MIN


class NoSnapshot(Exception):
    """A snapshot that cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class Description:
    """`state`: what the stores said of themselves. `files` by name."""

    state: StoredState
    files: Mapping[str, StoredFile]

    @property
    def written_ms(self) -> int:
        return 0 if self.state.marker is None else self.state.marker.written_ms

    def encode(self) -> bytes:
        body = json.dumps(
            {
                "layout": LAYOUT,
                "marker": None if self.state.marker is None else self.state.marker.encode(),
                "restored_to": dict(self.state.restored_to),
                "is_logged": self.state.is_logged,
                "files": {name: asdict(each) for name, each in self.files.items()},
            },
            indent=1,
        ).encode()
        return sha256(body).hexdigest().encode() + b"\n" + body

    @classmethod
    def decode(cls, data: bytes) -> Description:
        """Raises NoSnapshot."""
        digest, _, body = data.partition(b"\n")
        if sha256(body).hexdigest().encode() != digest:
            raise NoSnapshot("its description is damaged")
        try:
            return cls._of(json.loads(body))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise NoSnapshot(f"its description cannot be read: {error!r}") from error

    @classmethod
    def _of(cls, facts: dict[str, Any]) -> Description:  # Any: JSON
        if facts["layout"] != LAYOUT:
            raise NoSnapshot(f"it has layout {facts['layout']}, and this version reads {LAYOUT}")
        files = {name: StoredFile(**each) for name, each in facts["files"].items()}
        strange = [name for name in files if "/" in name or name in {"", ".", "..", DESCRIPTION}]
        if strange:
            raise NoSnapshot(f"it names {strange[0]!r}, which is no file of a database")
        marker = StoreMarker.decode(facts["marker"])
        return cls(StoredState(marker, facts["restored_to"], facts["is_logged"]), files)
