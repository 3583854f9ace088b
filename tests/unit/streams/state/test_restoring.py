"""Stores that were lost come back from their changelogs, and a listener is told how far they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from millstream.model import TopicPartition
from millstream.streams import (
    Materialized,
    SessionWindows,
    StoreSupplier,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
    Topology,
)
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.kernel.task.standby import StandbyStores
from millstream.streams.serdes import bytes_, long, string
from millstream.streams.state import in_memory_stores, rocksdb_stores
from millstream.streams.state.changelog import Headers
from millstream.streams.state.opening import open_store
from millstream.streams.state.storage.byte_store import MemoryByteStore
from millstream.streams.state.storage.transaction import TransactionalRows
from millstream.streams.state.store import StoreParts
from millstream.streams.topology import StoreKind, StoreSpec

CONFIG = StreamsConfig("app", default_key=string(), default_value=string())
CHANGELOG = "app-counts-changelog"


def raw(*rows: tuple[str | None, str | None, int], first_offset: int = 0) -> RawBatch:
    return RawBatch(
        [None if key is None else key.encode() for key, _, _ in rows],
        [None if value is None else value.encode() for _, value, _ in rows],
        [at for _, _, at in rows],
        range(first_offset, first_offset + len(rows)),
    )


def table_topology() -> Topology:
    """A table that has no changelog of its own, joined by a stream."""
    builder = StreamsBuilder(optimization="reuse.ktable.source.topics")
    table = builder.table("users", materialized=Materialized("users-store"))
    builder.stream("clicks").left_join(table, lambda click, user: f"{click} by {user}").to("out")
    return builder.build()


def table_task(directory: Path | None = None) -> StreamTask:
    stores = in_memory_stores() if directory is None else rocksdb_stores(directory)
    return StreamTask(table_topology(), 0, 0, stores, CONFIG)


def values(task: StreamTask) -> list[bytes | None]:
    return task.process(0).sinks["out"].values


def test_a_table_without_changelog_is_restored_from_its_source_topic() -> None:
    users = [("ann", "Ann", 1), (None, "nobody", 2), ("bob", "Bob", 3), ("bob", None, 4)]
    task = table_task()
    task.add("users", raw(*users))
    task.process(0)
    assert task.prepare_commit().offsets == {"users": 4}
    task.commit()
    task.close()  # and the stores are lost

    again = table_task()
    assert again.state.restore_positions() == {"users": None}
    again.state.restore("users", raw(*users))
    again.add("clicks", raw(("ann", "x", 9), ("bob", "y", 9)))
    assert values(again) == [b"x by Ann", b"y by None"]


def test_what_such_a_table_has_read_is_kept_with_its_rows(tmp_path: Path) -> None:
    task = table_task(tmp_path)
    task.add("users", raw(("ann", "Ann", 1), ("bob", "Bob", 2)))
    task.process(0)
    task.commit()
    task.add("users", raw(("ann", "Anna", 3), first_offset=2))
    task.process(0)
    task.close()  # before the commit

    again = table_task(tmp_path)
    assert again.state.restore_positions() == {"users": 2}
    assert again.stores["users-store"].get("ann") == ("Ann", 1)
    again.close()


def test_a_rolled_back_batch_does_not_count_as_read() -> None:
    task = table_task()
    task.add("users", raw(("ann", "Ann", 1)))
    task.process(0)
    task.commit()
    task.add("users", raw(("ann", "Anna", 2), first_offset=1))
    task.process(0)
    task.rollback()
    task.commit()
    assert task.prepare_commit().offsets == {}
    assert task.state.restore_positions() == {"users": 1}


def test_a_runner_may_give_such_tables_changelogs_of_their_own() -> None:
    topology = table_topology().with_own_changelogs()
    task = StreamTask(topology, 0, 0, in_memory_stores(), CONFIG)
    task.add("users", raw(("ann", "Ann", 1)))
    assert task.process(0).changelogs["app-users-store-changelog"].values == [b"Ann"]
    assert topology.describe() == table_topology().describe()


@dataclass
class Listener:
    told: list[tuple[str, str, *tuple[int, ...]]] = field(default_factory=list)

    def on_restore_start(
        self, changelog: TopicPartition, store: str, starting_offset: int, ending_offset: int
    ) -> None:
        assert str(changelog) == f"{CHANGELOG}-0"
        self.told.append(("start", store, starting_offset, ending_offset))

    def on_batch_restored(
        self, _changelog: TopicPartition, store: str, batch_end_offset: int, restored: int
    ) -> None:
        self.told.append(("batch", store, batch_end_offset, restored))

    def on_restore_end(self, _changelog: TopicPartition, store: str, total_restored: int) -> None:
        self.told.append(("end", store, total_restored))

    def on_restore_suspended(
        self, _changelog: TopicPartition, store: str, total_restored: int
    ) -> None:
        self.told.append(("suspended", store, total_restored))


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
def task(listener: Listener) -> StreamTask:
    builder = StreamsBuilder()
    grouped = builder.stream("in").group_by_key()
    grouped.count(materialized=Materialized("counts", value=long()))
    return StreamTask(builder.build(), 0, 0, in_memory_stores(), CONFIG, restore_listener=listener)


def changelog(*counts: int, first_offset: int) -> RawBatch:
    keys: list[bytes | None] = [b"k"] * len(counts)
    offsets = range(first_offset, first_offset + len(counts))
    return RawBatch(keys, [n.to_bytes(8, "big") for n in counts], [1] * len(counts), offsets)


def test_a_listener_is_told_of_the_start_each_batch_and_the_end(
    listener: Listener, task: StreamTask
) -> None:
    task.state.start_restore(CHANGELOG, 5, 8)
    task.state.restore(CHANGELOG, changelog(1, 2, first_offset=5))
    task.state.restore(CHANGELOG, changelog(3, first_offset=7))
    task.state.end_restore(CHANGELOG)
    task.close()
    assert listener.told == [
        ("start", "counts", 5, 8),
        ("batch", "counts", 6, 2),
        ("batch", "counts", 7, 1),
        ("end", "counts", 3),
    ]


def test_restored_records_are_counted(task: StreamTask) -> None:
    task.state.restore(CHANGELOG, changelog(1, 2, first_offset=5))
    task.state.restore(CHANGELOG, changelog(3, first_offset=7))
    totals = {name.name: value for name, value in task.metrics.values().items()}
    assert totals["restore-total"] == 3


def test_a_task_that_is_closed_half_way_suspends_its_restore(
    listener: Listener, task: StreamTask
) -> None:
    task.state.start_restore(CHANGELOG, 0, 9)
    task.state.restore(CHANGELOG, changelog(1, 2, first_offset=0))
    task.close()
    assert listener.told[-1] == ("suspended", "counts", 2)


COLUMNS_OF: list[StoreSpec] = [
    StoreSpec("s", StoreKind.KEY_VALUE),
    StoreSpec("s", StoreKind.TIMESTAMPED_KEY_VALUE),
    StoreSpec("s", StoreKind.TIMESTAMPED_KEY_VALUE, keeps_timestamps=False),
    StoreSpec("s", StoreKind.TIMESTAMPED_KEY_VALUE, with_headers=True),
    StoreSpec("s", StoreKind.KEY_VALUE, entries_max=2),
    StoreSpec("s", StoreKind.TIMESTAMPED_KEY_VALUE, entries_max=2),
]


@pytest.mark.parametrize("spec", COLUMNS_OF)
def test_columns_of_a_changelog_are_restored_like_its_records_one_by_one(spec: StoreSpec) -> None:
    keys = [b"a", None, b"b", b"a", b"c", b"b", b"d", b"a"]
    values = [b"1", b"2", b"3", b"4", b"5", None, b"7", b"8"]
    times = list(range(10, 18))
    headers: list[Headers] = [(("h", key),) for key in keys]
    at_once, one_by_one = (
        open_store(StoreParts(spec, TransactionalRows(MemoryByteStore()), bytes_(), bytes_(), None))
        for _ in range(2)
    )
    at_once.restore(keys, values, times, 8, headers)
    for row in range(8):
        given = slice(row, row + 1)
        one_by_one.restore(keys[given], values[given], times[given], row + 1, headers[given])
    rows = list(at_once.rows.scan(b"", None))
    assert rows == list(one_by_one.rows.scan(b"", None))
    assert [key for key, _ in rows] == ([b"a", b"d"] if spec.entries_max else [b"a", b"c", b"d"])
    assert at_once.rows.metadata.changelog_offset == 8


def windows_topology(kind: str) -> Topology:
    """Counts orders in windows of 10 s, or in sessions that far apart, with 2 s of grace."""
    builder = StreamsBuilder()
    orders = builder.stream("orders").group_by_key()
    length, grace = timedelta(seconds=10), timedelta(seconds=2)
    windowed = (
        orders.windowed_by(SessionWindows.of(length, grace=grace))
        if kind == "sessions"
        else orders.windowed_by(TimeWindows.tumbling(length, grace=grace))
    )
    counts = windowed.count(materialized=Materialized("counts", retention=timedelta(seconds=22)))
    counts.to_stream().map(lambda window, count: (window.key, f"{window.start_ms} {count}")).to(
        "out"
    )
    return builder.build()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("windows", [b"0 3", b"9000000 2"]), ("sessions", [b"1000 None", b"1000 3", b"9000000 2"])],
)
@pytest.mark.parametrize("is_persistent", [True, False])
def test_a_window_that_had_expired_by_what_comes_again_is_whole_when_it_comes_again(
    tmp_path: Path, kind: str, expected: list[bytes], is_persistent: bool
) -> None:
    """At least once a changelog is ahead of the committed offsets: with the window that its rows are in gone, a count would begin anew."""

    def made(directory: str) -> StreamTask:
        stores = rocksdb_stores(tmp_path / directory) if is_persistent else in_memory_stores()
        return StreamTask(windows_topology(kind), 0, 0, stores, CONFIG)

    first, second, far = ("a", "1", 1_000), ("a", "2", 2_000), ("b", "3", 9_000_000)
    task = made("first")
    task.add("orders", raw(first))
    logged = [task.process(0)]
    prepared = task.prepare_commit()
    task.commit()
    task.add("orders", raw(second, far, first_offset=1))
    logged.append(task.process(0))
    logged.append(task.prepare_commit().output)
    task.close()  # killed before it has committed that

    again = made("second")
    again.state.go_back(prepared.store_times)
    offset = 0
    for output in (logged[0], prepared.output, *logged[1:]):
        for changelog in output.changelogs.values():
            rows = RawBatch(
                changelog.keys,
                changelog.values,
                changelog.timestamps,
                range(offset, offset + len(changelog)),
            )
            again.state.restore(CHANGELOG, rows)
            offset += len(changelog)
    assert offset >= 3
    again.resume(prepared.partition_times, prepared.store_times)
    again.add("orders", raw(second, far, first_offset=1))
    assert again.process(0).sinks["out"].values == expected
    again.close()


def test_a_copy_keeps_the_windows_that_its_task_will_find_when_it_goes_on_at_the_commit(
    tmp_path: Path,
) -> None:
    """What is restored from behind the commit is so much later that the segment of the window would be deleted."""
    topology, stores = windows_topology("windows"), rocksdb_stores(tmp_path / "kept")
    task = StreamTask(topology, 0, 0, in_memory_stores(), CONFIG)
    task.add("orders", raw(("a", "1", 1_000)))
    before = task.process(0).changelogs[CHANGELOG]
    prepared = task.prepare_commit()
    task.commit()
    task.add("orders", raw(("b", "2", 9_000_000), first_offset=1))
    behind = task.process(0).changelogs[CHANGELOG]
    task.close()

    copy = StandbyStores(topology, 0, 0, stores, CONFIG)
    copy.state.go_back(prepared.store_times)
    for offset, rows in enumerate((before, behind)):
        one = RawBatch(rows.keys, rows.values, rows.timestamps, range(offset, offset + 1))
        copy.state.restore(CHANGELOG, one)
    copy.commit(changelog_offsets={CHANGELOG: 2})
    copy.close()

    again = StreamTask(topology, 0, 0, stores, CONFIG)
    again.state.go_back(prepared.store_times)
    again.resume(prepared.partition_times, prepared.store_times)
    again.add("orders", raw(("a", "3", 1_500), first_offset=1))
    assert again.process(0).sinks["out"].values == [b"0 2"]
    again.close()


def test_a_version_that_had_expired_by_what_comes_again_is_found_by_what_comes_again() -> None:
    """At least once a table may have gone on while the records that ask for its past come again."""
    builder = StreamsBuilder()
    history = StoreSupplier("users-store", history=timedelta(seconds=1))
    users = builder.table("users", materialized=Materialized(supplier=history))
    builder.stream("clicks").left_join(users, lambda click, user: f"{click} by {user}").to("out")
    topology = builder.build()
    first, second = ("ann", "Ann", 1_000), ("ann", "Ann A.", 2_000)
    far = ("ann", "Ann B.", 900_000)

    task = StreamTask(topology, 0, 0, in_memory_stores(), CONFIG)
    task.add("users", raw(first, second))
    task.process(0)
    prepared = task.prepare_commit()
    task.commit()
    task.add("users", raw(far, first_offset=2))
    task.process(0)
    task.close()  # killed before it has committed that

    again = StreamTask(topology, 0, 0, in_memory_stores(), CONFIG)
    again.state.go_back(prepared.store_times)
    again.state.restore("app-users-store-changelog", raw(first, second, far))
    again.resume(prepared.partition_times, prepared.store_times)
    again.add("clicks", raw(("ann", "x", 1_500)))
    assert values(again) == [b"x by Ann"]
    again.add("users", raw(far, first_offset=2))
    again.add("clicks", raw(("ann", "y", 1_600), first_offset=1))
    again.process(0)
    again.add("clicks", raw(("ann", "z", 1_700), first_offset=2))
    assert values(again) == [b"z by None"], "that history is over now"
