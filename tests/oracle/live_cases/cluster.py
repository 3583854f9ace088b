"""The brokers of all cases, their topics, and what is written to them and read of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from live_cases.conversion import Input
from millstream.clients import Admin, NewTopic, Producer, RangeReader
from millstream.streams.kernel import Headers

EARLIEST, LATEST = -2, -1
TOPICS_S = 30


class Written(NamedTuple):
    """A record as readers see it."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers


class Cluster:
    """The brokers of all cases. `delete_all` ends a case: its clients know topics that the next one makes anew."""

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self._runner = asyncio.Runner()
        self._admin: Admin | None = None
        self._reader: RangeReader | None = None
        self._uncommitted: RangeReader | None = None

    def __enter__(self) -> Self:
        self.run(self._open())
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self._close())
        self._runner.close()

    def run(self, work: Any) -> Any:
        return self._runner.run(work)

    async def _open(self) -> None:
        self._admin = Admin(bootstrap_servers=self.servers)
        self._reader = RangeReader(bootstrap_servers=self.servers, isolation_level="read_committed")
        self._uncommitted = RangeReader(bootstrap_servers=self.servers)

    async def _close(self) -> None:
        await self.admin.close()
        await self.reader.close()
        await self.uncommitted.close()

    @property
    def admin(self) -> Admin:
        assert self._admin is not None, "it is used as a context manager"
        return self._admin

    @property
    def reader(self) -> RangeReader:
        assert self._reader is not None, "it is used as a context manager"
        return self._reader

    @property
    def uncommitted(self) -> RangeReader:
        """Knows the ends of open transactions."""
        assert self._uncommitted is not None, "it is used as a context manager"
        return self._uncommitted

    def create(self, topics: Mapping[str, int]) -> None:
        wanted = [
            NewTopic(name, partitions, 1, configs={"retention.ms": "-1"})
            for name, partitions in topics.items()
        ]
        self.run(self.admin.create_topics(wanted)).raise_errors()
        self._await_topics(lambda names: names >= topics.keys())

    def delete_all(self) -> None:
        def are_gone(names: set[str]) -> bool:
            if names:  # some may be gone, and the broker does not know it yet
                self.run(self.admin.delete_topics(list(names)))
            return not names

        self._await_topics(are_gone)
        self.run(self._close())
        self.run(self._open())

    def _await_topics(self, are_as_wanted: Callable[[set[str]], bool]) -> None:
        """A broker of Kafka hears of topics after its controller has answered."""
        ends_s = time.monotonic() + TOPICS_S
        while not are_as_wanted(set(self.run(self.admin.list_topics(include_internal=False)))):
            assert time.monotonic() < ends_s, "the topics of a case do not come or go"
            time.sleep(0.02)

    def put(self, portion: Sequence[Input], aborted: Sequence[Input], *, plain: bool) -> None:
        """Returns when all of it can be read: Kafka answers a commit before it has written the markers, topic by topic."""
        self.run(self.send(portion, aborted, plain=plain))
        self.run(self._await_ends({each.topic for each in (*portion, *aborted)}))

    async def _await_ends(self, topics: Iterable[str]) -> None:
        ends_s = time.monotonic() + TOPICS_S
        for topic in topics:
            while await self.reader.offsets(topic, LATEST) != await self.uncommitted.offsets(
                topic, LATEST
            ):
                assert time.monotonic() < ends_s, "a transaction has ended and lacks a marker"
                await asyncio.sleep(0.005)

    async def send(
        self, portion: Sequence[Input], aborted: Sequence[Input], *, plain: bool
    ) -> None:
        """Puts without waiting for the markers of transactions."""
        if plain:
            async with Producer(bootstrap_servers=self.servers, linger_ms=0) as producer:
                await _send(producer, portion)
            return
        async with Producer(
            bootstrap_servers=self.servers, linger_ms=0, transactional_id="input"
        ) as producer:
            await producer.init_transactions()
            if aborted:
                await producer.begin_transaction()
                await _send(producer, aborted)
                await producer.flush()
                await producer.abort_transaction()
            await producer.begin_transaction()
            await _send(producer, portion)
            await producer.commit_transaction()

    def written(self, topics: Iterable[str]) -> list[tuple[int, Written]]:
        """Every readable record of these topics, each with its offset."""
        return list(self.run(self._written(list(topics))))

    async def _written(self, topics: Sequence[str]) -> list[tuple[int, Written]]:
        found: list[tuple[int, Written]] = []
        for topic in topics:
            starts = await self.reader.offsets(topic, EARLIEST)
            ends = await self.reader.offsets(topic, LATEST)
            for partition, end in sorted(ends.items()):
                rows = self.reader.read(
                    topic, partition, starts[partition], end, columns=("headers",)
                )
                async for batch in rows:
                    found += (_row(topic, partition, each) for each in batch.to_pylist())
        return found


async def _send(producer: Producer, records: Sequence[Input]) -> None:
    for each in records:
        await producer.send(
            each.topic,
            each.value,
            key=each.key,
            partition=each.partition,
            timestamp_ms=each.timestamp,
            headers=list(each.headers),
        )


def _row(topic: str, partition: int, row: dict[str, Any]) -> tuple[int, Written]:
    headers = tuple((each["key"], each["value"]) for each in row["headers"] or ())
    written = Written(topic, partition, row["key"], row["value"], row["timestamp"], headers)
    return row["offset"], written
