"""What an application has left behind, however it was run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from streams.case_runner import _stores

from live_cases.cluster import Written
from live_cases.conversion import LiveCase
from millstream.streams import StreamsConfig
from millstream.streams.state.store import StateStore

GLOBAL = -1
TaskKey = tuple[int, int]
"""Sub-topology and partition."""
Rows = Mapping[bytes, bytes]


@dataclass
class Stores:
    """The stores of all tasks: their rows by task and name, and those that can be decoded, as an oracle shows them."""

    rows: dict[TaskKey, dict[str, Rows]] = field(default_factory=dict)
    shown: dict[str, list] = field(default_factory=dict)

    def add(self, key: TaskKey, stores: Mapping[str, StateStore], case: LiveCase) -> None:
        self.rows[key] = {name: dict(store.rows.scan(b"", None)) for name, store in stores.items()}
        opened = _Opened(stores)
        self.shown |= _stores(opened, case.spec, list(case.piped), set(case.reference.asked))


@dataclass(frozen=True)
class _Opened:
    """Stands for a test driver, whose stores are shown."""

    opened: Mapping[str, StateStore]

    def stores(self) -> Mapping[str, StateStore]:
        return self.opened


@dataclass
class Found:
    """What an application has left behind. `positions`: where each micro-batch of a task has ended.

    `outside`: the partitions of the topics that are not its own; `counts`: of those that it reads, too.
    """

    config: StreamsConfig
    outside: dict[str, int]
    counts: dict[str, int]
    records: list[tuple[int, Written]] = field(default_factory=list)
    kept: Stores = field(default_factory=Stores)
    restored: Stores = field(default_factory=Stores)
    positions: dict[TaskKey, list[dict[str, int]]] = field(default_factory=dict)
    dropped: int = 0
    failure: str = ""
    restarts: int = 0
    crashes: int = 0
    jobs: int = 0
