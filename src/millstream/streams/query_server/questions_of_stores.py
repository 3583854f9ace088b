"""Answers one question: from the stores of this instance, or from the instance that the metadata names."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import orjson

from millstream.streams.config import StreamsConfig
from millstream.streams.errors import (
    InvalidStoreError,
    StoreMigrated,
    StoreNotAvailable,
    UnknownStore,
)
from millstream.streams.host_info import HostInfo
from millstream.streams.queries import (
    FailureReason,
    QueryResult,
    StateQueryRequest,
    StateQueryResult,
    ViewCall,
)
from millstream.streams.queries.metadata import KeyQueryMetadata, Partitioner, StreamsMetadata
from millstream.streams.queries.remote_stores import type_of
from millstream.streams.query_server.forwarding import Answer
from millstream.streams.query_server.problems import BadRequest, HostUnavailable
from millstream.streams.query_server.texts import as_json, key_of, row_of
from millstream.streams.serdes.serde import Serde
from millstream.streams.serdes.windowed import MAX_TIMESTAMP
from millstream.streams.topology.stores import StoreKind
from millstream.streams.topology.topology import Topology

_WINDOWS: Final = (StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW)
_OK: Final = 200


class QueriedApplication(Protocol):
    """The part of `KafkaStreams` that answers queries."""

    @property
    def topology(self) -> Topology: ...

    @property
    def config(self) -> StreamsConfig: ...

    async def query(self, request: StateQueryRequest) -> StateQueryResult: ...

    def streams_metadata_for_store(self, store: str) -> list[StreamsMetadata[HostInfo]]: ...

    async def query_metadata_for_key(
        self,
        store: str,
        key: object,
        key_serde: Serde[Any] | None = None,  # Any: a key of any type
        *,
        partitioner: Partitioner | None = None,
    ) -> KeyQueryMetadata[HostInfo]: ...


class Forwarder(Protocol):
    def ask(self, host: HostInfo, path: str) -> Awaitable[Answer]:
        """Returns the answer of another instance. Raises HostUnavailable."""


@dataclass(frozen=True, slots=True)
class KeyQuestion:
    """The rows of a key, given as text; windows and sessions between two times. `path` is the question as an address."""

    store: str
    key: str
    path: str
    is_forwarded: bool = False
    time_from: int | None = None
    time_to: int | None = None


@dataclass(frozen=True, slots=True)
class RowsQuestion:
    """The rows of all keys, or of those between two; windows that start between two times. At most `limit` of them."""

    store: str
    path: str
    limit: int
    is_forwarded: bool = False
    key_from: str | None = None
    key_to: str | None = None
    time_from: int | None = None
    time_to: int | None = None


class QuestionsOfStores:
    """`partitioners`: by store, for keys that another one than Kafka's partitioner has spread."""

    def __init__(
        self,
        application: QueriedApplication,
        forwarder: Forwarder,
        partitioners: Mapping[str, Partitioner],
    ) -> None:
        self._application = application
        self._forwarder = forwarder
        self._partitioners = partitioners
        self._own = HostInfo.parsed(application.config.application_server)

    async def of_key(self, question: KeyQuestion) -> Answer:
        """Answers from the partition of the key, wherever it is."""
        store = question.store
        key = key_of(question.key, self._key_serde(store))
        found = await self._application.query_metadata_for_key(
            store, key, partitioner=self._partitioners.get(store)
        )
        if found.active_host is None:
            raise StoreNotAvailable(
                f"no instance is known to have the key in store {store} now: ask again"
            )
        if found.active_host != self._own and not question.is_forwarded:
            return await self._forwarder.ask(found.active_host, question.path)
        only = None if found.partition < 0 else found.partition
        answers = await self._asked(store, self._call_of_key(question, key), only)
        (value,) = answers.values()
        content: dict[str, object] = {"store": store, "partition": only, "key": key}
        if self._kind(store) in (*_WINDOWS, StoreKind.SESSION):
            content["windows"] = [_of_one_key(each) for each in value]
        else:
            content["value"] = value
        return Answer(_OK, as_json(content))

    async def of_rows(self, question: RowsQuestion) -> Answer:
        """Answers from all partitions, wherever they are, one after another. Raises HostUnavailable where one of them is missing."""
        mine = await self._rows_here(question)
        if question.is_forwarded:
            return Answer(_OK, as_json(mine))
        partitions, rows = list(mine["partitions"]), list(mine["rows"])
        is_cut = bool(mine["is_cut"])
        if not self._is_global(question.store):
            for host in self._application.streams_metadata_for_store(question.store):
                if host.host == self._own or question.store not in host.state_store_names:
                    continue
                theirs = await self._rows_of(host.host, question.path)
                partitions += theirs["partitions"]
                rows += theirs["rows"]
                is_cut = is_cut or theirs["is_cut"]
            await self._require_all(question.store, partitions)
        content = {
            "store": question.store,
            "partitions": sorted(partitions),
            "rows": rows[: question.limit],
            "is_cut": is_cut or len(rows) > question.limit,
        }
        return Answer(_OK, as_json(content))

    async def _rows_here(self, question: RowsQuestion) -> dict[str, Any]:  # Any: an answer's JSON
        answers = await self._asked(question.store, self._call_of_rows(question), None)
        rows = [row_of(row) for found in answers.values() for row in found]
        return {
            "store": question.store,
            "partitions": [each for each in answers if each is not None],
            "rows": rows[: question.limit],
            "is_cut": len(rows) > question.limit,
        }

    async def _rows_of(self, host: HostInfo, path: str) -> dict[str, Any]:  # Any: an answer's JSON
        answer = await self._forwarder.ask(host, path)
        if answer.status != _OK:
            raise HostUnavailable(f"the instance at {host} answered with status {answer.status}")
        theirs: dict[str, Any] = orjson.loads(answer.body)  # Any: as above
        return theirs

    async def _require_all(self, store: str, partitions: list[int]) -> None:
        """Raises StoreNotAvailable unless each partition has answered once: one that moves may be nowhere, or told twice."""
        last = await self._application.query_metadata_for_key(
            store, None, partitioner=lambda _, count: count - 1
        )
        if sorted(partitions) != list(range(last.partition + 1)) or last.partition < 0:
            raise StoreNotAvailable(
                f"store {store} has partitions 0 to {last.partition}, and {sorted(partitions)} have answered: "
                "tasks move, ask again"
            )

    async def _asked(
        self, store: str, call: ViewCall, partition: int | None
    ) -> dict[int | None, Any]:  # Any: rows of any type
        """Returns answers by partition; that of a global store by None. Raises StoreMigrated, and QueryFailed."""
        only = None if partition is None else (partition,)
        request = StateQueryRequest(store, call, only, require_active=True)
        result = await self._application.query(request)
        if result.global_result is not None:
            return {None: result.global_result.value}
        answers = result.active if only is None else result.partitions
        return {number: _value(store, each) for number, each in answers.items()}

    def _call_of_key(self, question: KeyQuestion, key: object) -> ViewCall:
        kind, (first, last) = self._kind(question.store), _times(question)
        match kind:
            case StoreKind.WINDOW | StoreKind.TIMESTAMPED_WINDOW:
                return self._call(question.store, "fetch", key, first, last)
            case StoreKind.SESSION:
                return self._call(question.store, "find_sessions", key, first, last)
            case _:
                return self._call(question.store, "get", key)

    def _call_of_rows(self, question: RowsQuestion) -> ViewCall:
        serde = self._key_serde(question.store)
        bounds = (question.key_from, question.key_to)
        lower, upper = (None if text is None else key_of(text, serde) for text in bounds)
        kind, (first, last) = self._kind(question.store), _times(question)
        if kind in _WINDOWS:
            return self._call(
                question.store, "fetch_all", first, last, key_from=lower, key_to=upper
            )
        if kind is StoreKind.SESSION:
            return self._call(
                question.store,
                "find_all_sessions",
                key_from=lower,
                key_to=upper,
                earliest_end=first,
                latest_start=last,
            )
        if kind is StoreKind.VERSIONED:
            raise BadRequest(f"store {question.store} is versioned: ask for one key")
        return self._call(question.store, "range", lower, upper)

    def _call(self, store: str, method: str, *arguments: object, **named: object) -> ViewCall:
        seen_as = type_of(self._kind(store))
        if seen_as is None:
            raise InvalidStoreError(f"store {store} has no read-only view, and cannot be asked")
        return ViewCall(seen_as.name, method, arguments, named)

    def _kind(self, store: str) -> StoreKind:
        stores = self._application.topology.stores
        if store not in stores:
            raise UnknownStore(f"there is no store {store}; there are {sorted(stores)}")
        return stores[store].kind

    def _is_global(self, store: str) -> bool:
        return store in self._application.topology.global_stores

    def _key_serde(self, store: str) -> Serde[Any]:  # Any: keys of any type
        self._kind(store)
        application = self._application
        serde = application.topology.stores[store].key or application.config.default_key
        if serde is None:
            raise InvalidStoreError(f"store {store} has no serde of keys, so no text can name one")
        return serde


def _times(question: KeyQuestion | RowsQuestion) -> tuple[int, int]:
    first = 0 if question.time_from is None else question.time_from
    return first, MAX_TIMESTAMP if question.time_to is None else question.time_to


def _of_one_key(row: object) -> object:
    match row:
        case (int(start), value):
            return {"start_ms": start, "value": value}
        case _:
            return row_of(row)


def _value(store: str, result: QueryResult) -> Any:  # Any: rows of any type
    if result.failure in {FailureReason.NOT_PRESENT, FailureReason.NOT_ACTIVE}:
        raise StoreMigrated(f"store {store}: {result.message}: ask again")
    return result.value
