"""Two instances of an application as their query servers see them: no sockets, each with one task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import unquote

import orjson
from starlette.applications import Starlette
from starlette.types import Message

from millstream.streams import (
    Materialized,
    SessionWindows,
    StoreSupplier,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
)
from millstream.streams.application.interactive.store_lags import LagInfo, StoreLags
from millstream.streams.errors import StreamsNotStarted
from millstream.streams.host_info import HostInfo
from millstream.streams.metrics import MetricName
from millstream.streams.queries import (
    FailureReason,
    QueryResult,
    StateQueryRequest,
    StateQueryResult,
)
from millstream.streams.queries.metadata import KeyQueryMetadata, Partitioner, StreamsMetadata
from millstream.streams.query_server.application import create_query_application
from millstream.streams.query_server.forwarding import FORWARDED, Answer
from millstream.streams.query_server.problems import HostUnavailable
from millstream.streams.serdes import long, string
from millstream.streams.serdes.serde import Serde
from millstream.streams.topology.topology import Topology
from millstream.testing.streams.topology_test_driver import TopologyTestDriver

HOSTS = [HostInfo("zero", 7000), HostInfo("one", 7001)]
TEN_MS, KEPT = timedelta(milliseconds=10), timedelta(seconds=1)


def partition_of(key: object, _count: int) -> int:
    """Keys that begin with a letter before n are those of the first instance."""
    return int(str(key) >= "n")


def topology() -> Topology:
    builder = StreamsBuilder()
    grouped = builder.stream("in", key=string(), value=string()).group_by_key()
    grouped.count(materialized=Materialized("rows"))
    windows = TimeWindows.tumbling(TEN_MS)
    grouped.windowed_by(windows).count(materialized=Materialized("windows", retention=KEPT))
    sessions = SessionWindows.of(TEN_MS)
    grouped.windowed_by(sessions).count(materialized=Materialized("sessions", retention=KEPT))
    history = StoreSupplier("history", history=KEPT)
    builder.table("h", key=string(), value=string(), materialized=Materialized(supplier=history))
    numbers = Materialized("numbers")
    builder.table("n", key=long(), value=string(), materialized=numbers)
    return builder.build()


class FakeInstance:
    """Answers from a driver, under its own number as partition."""

    def __init__(self, number: int, instances: Instances) -> None:
        self.number, self._instances = number, instances
        self.topology = topology()
        self.config = StreamsConfig("app", application_server=str(HOSTS[number]))
        self.driver = TopologyTestDriver(self.topology)
        self.is_running = True

    def metrics(self) -> dict[MetricName, float]:
        return self.driver.metrics()

    async def query(self, request: StateQueryRequest) -> StateQueryResult:
        if not self.is_running:
            raise StreamsNotStarted("the application is NOT_RUNNING")
        here = [*self._instances.owned[self.number], *self._instances.copied[self.number]]
        asked = here if request.partitions is None else request.partitions
        return StateQueryResult({each: self._answer(request, each) for each in asked})

    def _answer(self, request: StateQueryRequest, partition: int) -> QueryResult:
        is_copy = partition in self._instances.copied[self.number]
        if is_copy and request.require_active:
            return QueryResult(failure=FailureReason.NOT_ACTIVE, message="it is a copy")
        if not is_copy and partition not in self._instances.owned[self.number]:
            return QueryResult(failure=FailureReason.NOT_PRESENT, message="it is not here")
        driver = self._instances.each[partition].driver if is_copy else self.driver
        return driver.query(replace(request, partitions=None)).partitions[0]

    async def all_local_store_partition_lags(self) -> StoreLags:
        here = [*self._instances.owned[self.number], *self._instances.copied[self.number]]
        lags = {each: LagInfo(10 - self._instances.lag, 10) for each in here}
        return dict.fromkeys(self.topology.stores, lags)

    def streams_metadata_for_store(self, store: str) -> list[StreamsMetadata[HostInfo]]:
        stores = frozenset({store})
        return [StreamsMetadata(host, stores, frozenset(), stores) for host in HOSTS]

    async def query_metadata_for_key(
        self,
        store: str,
        key: object,
        key_serde: Serde[Any] | None = None,  # Any: a key of any type
        *,
        partitioner: Partitioner | None = None,
    ) -> KeyQueryMetadata[HostInfo]:
        partition = (partitioner or partition_of)(key, 2)
        copied = self._instances.copied
        hosts = frozenset(HOSTS[each] for each in range(2) if partition in copied[each])
        hosts = self._instances.standby.get(partition, hosts)
        return KeyQueryMetadata(partition, self._instances.known[partition], hosts)


class Instances:
    """`owned`: the partitions that each has; `copied`: those that it has a copy of, which lacks `lag` records; `known`: the host
    that the metadata names for each.
    """

    def __init__(self) -> None:
        self.owned = [[0], [1]]
        self.copied: list[list[int]] = [[], []]
        self.lag = 0
        self.standby: dict[int, frozenset[HostInfo]] = {}
        """By partition, the hosts that the metadata names for copies, where these are not the ones that have them."""
        self.known: list[HostInfo | None] = [*HOSTS]
        self.away: set[HostInfo] = set()
        self.asked: list[tuple[HostInfo, str]] = []
        self.each = [FakeInstance(number, self) for number in range(2)]
        self._webs = [create_query_application(each, forwarder=self) for each in self.each]

    def pipe(self, topic: str, key: Any, value: str, *, at: int) -> None:  # Any: keys of any type
        driver = self.each[partition_of(key, 2)].driver
        serde: Serde[Any] = long() if isinstance(key, int) else string()  # Any: as above
        driver.input_topic(topic, key=serde, value=string()).pipe(key, value, at=at)

    async def ask(self, host: HostInfo, path: str) -> Answer:
        """Forwards a question, as one instance does to another."""
        self.asked.append((host, path))
        if host in self.away:
            raise HostUnavailable(f"the instance at {host} does not answer: ask again")
        status, _, body = await called(self._webs[HOSTS.index(host)], path, is_forwarded=True)
        if status == 503:
            raise HostUnavailable(f"the instance at {host} cannot answer now: ask again")
        return Answer(status, body)

    async def get(self, number: int, path: str) -> tuple[int, Any]:  # Any: an answer's JSON
        status, _, body = await called(self._webs[number], path)
        return status, orjson.loads(body)

    async def headers(self, number: int, path: str) -> dict[str, str]:
        return (await called(self._webs[number], path))[1]

    def close(self) -> None:
        for each in self.each:
            each.driver.close()


async def called(
    web: Starlette,
    address: str,
    *,
    is_forwarded: bool = False,
    headers: Mapping[str, str] | None = None,
) -> tuple[int, dict[str, str], bytes]:
    """Calls an ASGI application, and returns status, headers and body."""
    raw, _, query = address.partition("?")
    sent_headers = dict(headers or {}) | ({FORWARDED.lower(): "1"} if is_forwarded else {})
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": unquote(raw),
        "raw_path": raw.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in sent_headers.items()],
        "scheme": "http",
        "server": ("zero", 7000),
    }
    await web(scope, receive, send)
    body = b"".join(message.get("body", b"") for message in sent)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, body
