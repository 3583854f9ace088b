"""One stream task over a broker, crashed at every step of a micro-batch: state counts once, outputs at least once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from millstream.errors import ConfigError
from millstream.spark import task as task_module
from millstream.spark.coverage import Range
from millstream.spark.kafka_settings import for_both
from millstream.spark.origin import Origin
from millstream.spark.position import StoreOutOfDate
from millstream.spark.reading import as_rows
from millstream.spark.task import StoreLocked, TaskReport, TaskSpec, open_run
from millstream.streams import ProcessorContext, Record, StoreKind, StoreSpec, StreamsBuilder
from millstream.streams.config import StreamsConfig
from millstream.streams.serdes import long, string
from millstream.streams.topology import Topology

pytestmark = pytest.mark.spark

QUERIES = {0: bytes(15) + b"\x01", 1: bytes(15) + b"\x02"}


class Crash(Exception):
    pass


class World:
    """An application whose queries run here: input `in`, counted by value, over a repartition topic."""

    def __init__(self, topics: Any, directory: Path, application: str) -> None:
        self.topics, self.directory, self.application = topics, directory, application
        self.input, self.output = topics.new("in"), topics.new("out")
        self.topology = self._topology()
        self.repartition = f"{application}-by-value-repartition"
        for group in self.topology.sub_topologies:
            mine = self.topology.topics_of(group, application)
            for name in [*mine.repartition, *mine.changelogs]:
                topics.create(name)
        self.read_to = {0: 0, 1: 0}
        self.batches = {0: 0, 1: 0}
        self.config = StreamsConfig(application_id=application)

    def _topology(self) -> Topology:
        builder = StreamsBuilder()
        (
            builder.stream(self.input, key=string(), value=string())
            .group_by(lambda _, value: value, key=string(), value=string(), name="by-value")
            .count()
            .to_stream()
            .to(self.output, value=long())
        )
        return builder.build()

    def batch(self, query: int, *, again: bool = False) -> TaskReport | None:
        """A micro-batch of everything that is new; `again` repeats the last one, as Spark does after a crash."""
        topic = self.input if query == 0 else self.repartition
        records = self.topics.get(topic, headers=True)
        start = self.read_to[query]
        if not again:
            self._end = len(records)
            self.batches[query] += 1
        rows = [
            as_rows(pa.RecordBatch.from_pylist([without_partition(r)], SCHEMA), topic, 0)
            for r in records[start : self._end]
        ]
        spec = self.spec(query)
        coverage = {topic: Range(start, self._end)}
        with open_run(spec, Origin(QUERIES[query], 0, self.batches[query] - 1), coverage) as run:
            report = run.run(rows)
        self.read_to[query] = self._end
        return report

    def spec(self, query: int) -> TaskSpec:
        return TaskSpec(
            topology=self.topology,
            sub_topology=query,
            config=self.config,
            kafka=for_both({"bootstrap.servers": self.topics.bootstrap_servers}),
            state_directory=str(self.directory),
            repartition_topics=frozenset([self.repartition]),
        )

    def counts(self) -> dict[bytes, int]:
        return {r["key"]: int.from_bytes(r["value"], "big") for r in self.topics.get(self.output)}


def without_partition(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "partition"}


SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        (
            "headers",
            pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])),
        ),
    ]
)


@pytest.fixture
def world(topics: Any, tmp_path: Path, request: pytest.FixtureRequest) -> World:
    return World(topics, tmp_path / "state", topics.new(request.node.name[:30]))


@contextmanager
def crash_at(monkeypatch: pytest.MonkeyPatch, step: str) -> Iterator[None]:
    """The process is gone when it comes to `step`: before what it is to do, or right after."""
    with monkeypatch.context() as patched:
        when, name = step.split()
        whole = getattr(task_module, name)

        def crash(*given: Any) -> Any:
            if name == "commit" and not given[1].times:
                return whole(*given)  # the one that follows a restore: no record was processed yet
            if when == "after":
                whole(*given)
            raise Crash

        async def crash_writing(*given: Any) -> dict[str, int]:
            if when == "after":
                await whole(*given)
            raise Crash

        patched.setattr(task_module, name, crash_writing if name == "write" else crash)
        with pytest.raises(Crash):
            yield


STEPS = ["before write", "after write", "before commit", "after commit"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("query", [0, 1])
@pytest.mark.parametrize("first", [True, False], ids=["first-batch", "later-batch"])
def test_state_counts_each_input_once_wherever_a_micro_batch_crashes(
    world: World, monkeypatch: pytest.MonkeyPatch, step: str, query: int, first: bool
) -> None:
    words = [b"a", b"b", b"a"]
    if not first:
        world.topics.put(world.input, [{"value": word} for word in words])
        world.batch(0)
        world.batch(1)
    world.topics.put(world.input, [{"value": word} for word in words])
    if query == 1:
        world.batch(0)
    with crash_at(monkeypatch, step):
        world.batch(query)
    world.batch(query, again=True)
    if query == 0:
        world.batch(1)
    times = 1 if first else 2
    assert world.counts() == {b"a": 2 * times, b"b": times}
    updates = {(r["key"], r["value"][-1]) for r in world.topics.get(world.output)}
    assert updates >= {(b"a", n + 1) for n in range(2 * times)} | {(b"b", times)}


def test_what_a_crash_wrote_twice_is_told_apart_from_equal_records(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.topics.put(world.input, [{"value": b"a"}] * 3)
    with crash_at(monkeypatch, "before commit"):
        world.batch(0)
    world.batch(0, again=True)
    assert Counter(r["value"] for r in world.topics.get(world.repartition)) == {b"a": 6}
    report = world.batch(1)
    assert (report.processed, report.skipped) == (3, 3)
    assert world.counts() == {b"a": 3}


def test_a_repeated_micro_batch_that_was_committed_is_skipped(world: World) -> None:
    world.topics.put(world.input, [{"value": b"a"}] * 3)
    world.batch(0)
    world.read_to[0] = 0
    report = world.batch(0, again=True)
    assert (report.processed, report.skipped, report.written) == (0, 3, 0)


def test_a_lost_store_is_restored_from_its_changelog(world: World) -> None:
    import shutil

    world.topics.put(world.input, [{"value": b"a"}, {"value": b"b"}])
    world.batch(0)
    world.batch(1)
    shutil.rmtree(world.directory)
    world.topics.put(world.input, [{"value": b"a"}])
    world.batch(0)
    report = world.batch(1)
    assert report.restored == 2
    assert world.counts() == {b"a": 2, b"b": 1}


def test_stores_that_lack_what_another_directory_has_counted_are_refused(
    world: World, tmp_path: Path
) -> None:
    """As two executors with disks of their own: the task is first here, then there, then here again."""
    import shutil

    here, there = world.directory, tmp_path / "there"
    for directory in (here, there):
        world.directory = directory
        world.topics.put(world.input, [{"value": b"a"}] * 10)
        world.batch(0)
        world.batch(1)
    world.directory = here
    world.topics.put(world.input, [{"value": b"a"}] * 10)
    world.batch(0)
    with pytest.raises(
        StoreOutOfDate,
        match=r"counted topic .*-by-value-repartition up to offset 10, and this micro-batch begins at 20"
        r".*one directory.*delete .*/1_0",
    ):
        world.batch(1)
    shutil.rmtree(here / "1_0")
    world.batch(1, again=True)
    assert world.counts() == {b"a": 30}


def test_stores_restored_in_a_batch_that_fails_do_not_count_for_later_ones(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here, there = world.directory, tmp_path / "there"
    world.topics.put(world.input, [{"value": b"a"}])
    world.batch(0)
    world.batch(1)
    world.topics.put(world.input, [{"value": b"a"}])
    world.batch(0)
    world.directory = there
    with crash_at(monkeypatch, "before write"):
        world.batch(1)
    world.directory = here
    world.batch(1, again=True)
    world.topics.put(world.input, [{"value": b"a"}])
    world.batch(0)
    world.directory = there
    with pytest.raises(StoreOutOfDate, match="up to offset 1, and this micro-batch begins at 2"):
        world.batch(1)


def test_offsets_that_hold_no_record_are_counted(world: World) -> None:
    """Those of aborted transactions, markers, and records that compaction took."""
    world.topics.put(world.input, [{"value": b"a"}])
    world.batch(0)
    spec = world.spec(1)
    for start, end in ((0, 5), (5, 9)):
        coverage = {world.repartition: Range(start, end)}
        with open_run(spec, Origin(QUERIES[1], 0, start), coverage) as run:
            assert run.run([]).read == 0


def test_a_changelog_that_was_deleted_below_its_stores_is_noticed(world: World) -> None:
    from millstream.spark.connections import close_connections

    world.topics.put(world.input, [{"value": b"a"}] * 3)
    world.batch(0)
    world.batch(1)
    (changelog,) = world.topology.topics_of(
        world.topology.sub_topologies[1], world.application
    ).changelogs
    world.topics.admin(lambda admin: admin.delete_topics([changelog]))
    world.topics.create(changelog)
    close_connections()  # a new process
    world.topics.put(world.input, [{"value": b"a"}])
    world.batch(0)
    with pytest.raises(ConfigError, match=rf"cover topic {changelog} up to offset .* made anew"):
        world.batch(1)


@pytest.mark.parametrize("cache_max_bytes", [1, 10_000_000])
def test_a_record_cache_changes_how_many_updates_go_out_and_not_the_last(
    world: World, cache_max_bytes: int
) -> None:
    world.config = replace(world.config, cache_max_bytes=cache_max_bytes)
    for _ in range(2):
        world.topics.put(world.input, [{"value": value} for value in (b"a", b"b", b"a")])
        world.batch(0)
        world.batch(1)
    assert world.counts() == {b"a": 4, b"b": 2}
    updates = 6 if cache_max_bytes == 1 else 4
    assert len(world.topics.get(world.output)) == updates


class CountsOfCounts(World):
    """A cached table in front of the repartition topic: how many values were seen so often."""

    def _topology(self) -> Topology:
        builder = StreamsBuilder()
        counts = builder.stream(self.input, key=string(), value=string()).group_by_key().count()
        again = counts.to_stream().group_by(
            lambda _, count: str(count), key=string(), value=long(), name="by-value"
        )
        again.count().to_stream().to(self.output, key=string(), value=long())
        return builder.build()


def test_what_a_cache_lets_out_at_the_end_reaches_the_next_task_once(
    topics: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = CountsOfCounts(topics, tmp_path / "state", topics.new("cached"))
    world.config = replace(world.config, cache_max_bytes=500)  # some leave early, some at the end
    keys = [b"%d" % (number % 20) for number in range(100)]
    world.topics.put(world.input, [{"key": key, "value": b"x"} for key in keys])
    with crash_at(monkeypatch, "after write"):
        world.batch(0)
    world.batch(0, again=True)
    written = len(world.topics.get(world.repartition))
    report = world.batch(1)
    assert report is not None
    assert (report.processed, report.skipped) == (written / 2, written / 2)
    assert sum(world.counts().values()) == written / 2


class Seen:
    """A store of the user's own that lives in memory: it must come back in every micro-batch."""

    def init(self, context: Any) -> None:
        self._context = context
        self._values: set[bytes] = set()
        context.register(lambda records: self._values.update(each.key for each in records))

    def add(self, value: bytes) -> bool:
        """Whether it is new."""
        if value in self._values:
            return False
        self._values.add(value)
        self._context.log(value, b"")
        return True

    def rollback(self) -> None:
        raise AssertionError("nothing fails here")

    def close(self) -> None:
        pass


class OnlyNew:
    def init(self, context: Any) -> None:
        self._context, self._seen = context, context.store("seen")

    def process(self, record: Record) -> None:
        if self._seen.add(record.value.encode()):
            self._context.forward(record)


class WorldOfNewValues(World):
    """Counts the values that were never seen before; the counts are on disk, what was seen is in memory."""

    def _topology(self) -> Topology:
        builder = StreamsBuilder()
        builder.add_state_store(StoreSpec("seen", StoreKind.CUSTOM, supplier=Seen))
        new = builder.stream(self.input, key=string(), value=string()).process(
            OnlyNew, stores=["seen"]
        )
        counts = new.group_by(lambda _, value: value, key=string(), value=string(), name="by-value")
        counts.count().to_stream().to(self.output, value=long())
        return builder.build()


def test_a_store_in_memory_is_restored_in_every_batch(topics: Any, tmp_path: Path) -> None:
    world = WorldOfNewValues(topics, tmp_path / "state", topics.new("seen"))
    for values in (b"ab", b"bc", b"ca"):
        world.topics.put(world.input, [{"value": bytes([value])} for value in values])
        world.batch(0)
    world.batch(1)
    assert world.counts() == {b"a": 1, b"b": 1, b"c": 1}


def test_a_new_directory_for_an_application_with_state_is_refused(world: World) -> None:
    import shutil

    world.topics.put(world.input, [{"value": b"a"}])
    world.batch(0)
    world.batch(1)
    shutil.rmtree(world.directory)
    world.read_to, world.batches = {0: 0, 1: 0}, {0: 0, 1: 0}
    with pytest.raises(ConfigError, match=r"has state in topic .*its directory is new.*reset it"):
        world.batch(1)


class ShowsStreamTime:
    def init(self, context: ProcessorContext) -> None:
        self.context = context

    def process(self, record: Record) -> None:
        self.context.forward(record.with_value(str(self.context.current_stream_time_ms())))


class TimedWorld(World):
    def _topology(self) -> Topology:
        builder = StreamsBuilder()
        stream = builder.stream(self.input, key=string(), value=string())
        stream.process(ShowsStreamTime).to(self.output, key=string(), value=string())
        return builder.build()


def test_stream_time_goes_on_from_one_micro_batch_to_the_next(topics: Any, tmp_path: Path) -> None:
    world = TimedWorld(topics, tmp_path / "state", topics.new("timed"))
    for at in (100, 50, 120):
        world.topics.put(world.input, [{"value": b"a", "timestamp_ms": at}])
        world.batch(0)
    assert [r["value"] for r in world.topics.get(world.output)] == [b"100", b"100", b"120"]


class ShowsLastHeaders:
    stores = (
        StoreSpec(
            "last",
            StoreKind.TIMESTAMPED_KEY_VALUE,
            key=string(),
            value=string(),
            with_headers=True,
        ),
    )

    def init(self, context: ProcessorContext) -> None:
        self.context, self.last = context, context.store("last")

    def process(self, record: Record) -> None:
        known = self.last.get(record.key)
        self.last.put(record.key, record.value, record.timestamp, record.headers)
        if known is not None:
            self.context.forward(record.with_value(str(known.headers)))


class HeadersWorld(World):
    def _topology(self) -> Topology:
        builder = StreamsBuilder()
        stream = builder.stream(self.input, key=string(), value=string())
        stream.process(ShowsLastHeaders).to(self.output, key=string(), value=string())
        return builder.build()


def test_a_store_is_restored_with_the_headers_of_its_rows(topics: Any, tmp_path: Path) -> None:
    import shutil

    world = HeadersWorld(topics, tmp_path / "state", topics.new("headers"))
    given = {"key": b"k", "value": b"a", "headers": [("h", b"v")]}
    world.topics.put(world.input, [given])
    world.batch(0)
    shutil.rmtree(world.directory)
    world.topics.put(world.input, [given])
    assert world.batch(0).restored == 1
    assert [r["value"] for r in world.topics.get(world.output)] == [b"(('h', b'v'),)"]


def test_two_attempts_at_once_are_kept_apart(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_module, "OPEN_TIMEOUT_MS", 200)
    world.topics.put(world.input, [{"value": b"a"}])
    world.batch(0)
    with (
        open_run(world.spec(1), Origin(QUERIES[1], 0, 0), {}),
        pytest.raises(StoreLocked, match="stop the other query"),
    ):
        world.batch(1)
