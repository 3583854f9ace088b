"""Questions of a query server, and what it asks: the application and its other instances. Pure data."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from millstream.streams.application.interactive.store_lags import StoreLags
from millstream.streams.config import StreamsConfig
from millstream.streams.host_info import HostInfo
from millstream.streams.metrics import MetricName
from millstream.streams.queries import StateQueryRequest, StateQueryResult
from millstream.streams.queries.metadata import KeyQueryMetadata, Partitioner, StreamsMetadata
from millstream.streams.serdes.serde import Serde
from millstream.streams.topology.topology import Topology

COPIES_OF: Final = "copies_of"
"""A parameter of questions that instances forward."""
ANY_LAG: Final = sys.maxsize
"""A copy may be as far behind as it is: nobody asks how far."""


class QueriedApplication(Protocol):
    """The part of `KafkaStreams` that answers queries."""

    @property
    def topology(self) -> Topology: ...

    @property
    def config(self) -> StreamsConfig: ...

    def metrics(self) -> Mapping[MetricName, float | str]: ...

    async def query(self, request: StateQueryRequest) -> StateQueryResult: ...

    async def all_local_store_partition_lags(self) -> StoreLags: ...

    def streams_metadata_for_store(self, store: str) -> list[StreamsMetadata[HostInfo]]: ...

    async def query_metadata_for_key(
        self,
        store: str,
        key: object,
        key_serde: Serde[Any] | None = None,  # Any: a key of any type
        *,
        partitioner: Partitioner | None = None,
    ) -> KeyQueryMetadata[HostInfo]: ...


@dataclass(frozen=True, slots=True)
class KeyQuestion:
    """The rows of a key, given as text; windows and sessions between two times. `path` is the question as an address.

    `max_lag`: a copy that lacks at most so many records may answer where the active task cannot. None: none may.
    """

    store: str
    key: str
    path: str
    is_forwarded: bool = False
    time_from: int | None = None
    time_to: int | None = None
    max_lag: int | None = None


@dataclass(frozen=True, slots=True)
class RowsQuestion:
    """The rows of all keys, or of those between two; windows that start between two times. At most `limit` of them.

    `copies_of`: another instance asks for what is here of these partitions, within `max_lag`; None
    for those of active tasks.
    """

    store: str
    path: str
    limit: int
    is_forwarded: bool = False
    key_from: str | None = None
    key_to: str | None = None
    time_from: int | None = None
    time_to: int | None = None
    max_lag: int | None = None
    copies_of: frozenset[int] | None = None

    def of_copies(self, partitions: Iterable[int]) -> RowsQuestion:
        """Returns the question for what an instance has of these partitions."""
        wanted = frozenset(partitions)
        numbers = ",".join(map(str, sorted(wanted)))
        mark = "&" if "?" in self.path else "?"
        return replace(self, copies_of=wanted, path=f"{self.path}{mark}{COPIES_OF}={numbers}")


def dropped_by_task(metrics: Mapping[MetricName, float | str]) -> dict[str, int]:
    """Returns, by task, how many records each task of this instance has dropped since it was started."""
    return {
        dict(name.tags)["task-id"]: int(value)
        for name, value in sorted(metrics.items(), key=lambda item: item[0].tags)
        if name.name == "dropped-records-total"
    }
