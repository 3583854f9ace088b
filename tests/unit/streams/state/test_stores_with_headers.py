"""Stores that keep headers (KIP-1271). What the changelogs must hold was printed by Kafka Streams 4.3.1 for the same calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from millstream.streams import (
    EmitStrategy,
    ProcessorContext,
    Record,
    StoreFormat,
    StoreSupplier,
    StoreType,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
    Topology,
)
from millstream.streams.errors import InvalidStoreError
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.options import Materialized
from millstream.streams.serdes import Windowed, string
from millstream.streams.state import (
    AggregationWithHeaders,
    StoreFactory,
    ValueTimestampHeaders,
    in_memory_stores,
    rocksdb_stores,
)
from millstream.streams.topology import StoreKind, StoreSpec
from millstream.testing.streams.topology_test_driver import TestRecord, TopologyTestDriver

CONFIG = StreamsConfig("app", default_key=string(), default_value=string())
HOUR = timedelta(hours=1)
RECORD_HEADERS = (("h", b"v"), ("n", None))
PUT_HEADERS = (*RECORD_HEADERS, ("put", b"y"))
KEPT = (StoreKind.TIMESTAMPED_KEY_VALUE, StoreKind.TIMESTAMPED_WINDOW, StoreKind.SESSION)
Use = Callable[[object, Record], object]


def spec(kind: StoreKind, *, persistent: bool = True, caching: bool = False) -> StoreSpec:
    timed = kind is not StoreKind.TIMESTAMPED_KEY_VALUE
    return StoreSpec(
        "s",
        kind,
        persistent=persistent,
        caching=caching,
        key=string(),
        value=string(),
        retention_ms=1000 if timed else None,
        window_size_ms=10 if timed else None,
        with_headers=True,
    )


def topology(store: StoreSpec, use: Use) -> Topology:
    """Every record is given to `use`, with the store."""

    class Processor:
        def init(self, context: ProcessorContext) -> None:
            self._store = context.store("s")

        def process(self, record: Record) -> None:
            use(self._store, record)

    builder = StreamsBuilder()
    builder.add_state_store(store)
    builder.stream("in").process(Processor, stores=["s"])
    return builder.build()


def record(key: str, value: str | None, at: int, headers=RECORD_HEADERS) -> TestRecord:
    return TestRecord(key.encode(), None if value is None else value.encode(), at, headers)


@pytest.fixture(params=["memory", "rocksdb"])
def stores(request, tmp_path: Path) -> StoreFactory:
    return in_memory_stores() if request.param == "memory" else rocksdb_stores(tmp_path)


@pytest.mark.parametrize("caching", [False, True], ids=["uncached", "cached"])
def test_a_row_keeps_the_headers_it_was_put_with_and_so_does_its_changelog_record(
    stores: StoreFactory, *, caching: bool
) -> None:
    seen: list[object] = []

    def use(store, given: Record) -> None:
        operation, key = given.key[0], given.key[1:]
        row = (given.value, given.timestamp + 100, PUT_HEADERS)
        match operation:
            case "p":
                store.put(key, *row)
            case "i":
                seen.append(store.put_if_absent(key, *row))
            case "d":
                seen.append(store.delete(key))
            case "g":
                seen.append(store.get(key))
            case "a":
                store.put_all([(key, ValueTimestampHeaders(*row))])

    config = StreamsConfig(
        "app", default_key=string(), default_value=string(), cache_max_bytes=100_000 * caching
    )
    kind = StoreKind.TIMESTAMPED_KEY_VALUE
    built = topology(spec(kind, caching=caching), use)
    with TopologyTestDriver(built, config, stores=stores) as driver:
        pipe = driver.input_topic("in").pipe
        for key, value in [
            ("pa", "1"),
            ("pb", "2"),
            ("ga", "x"),
            ("ic", "3"),
            ("ic", "4"),
            ("da", "5"),
            ("aa", "6"),
        ]:
            pipe(key, value, at=10, headers=RECORD_HEADERS)
        assert driver.read_bytes("app-s-changelog") == [
            record("a", "1", 110, PUT_HEADERS),
            record("b", "2", 110, PUT_HEADERS),
            record("c", "3", 110, PUT_HEADERS),
            record("a", None, 10, RECORD_HEADERS),  # a deletion has the record's own
            record("a", "6", 110, PUT_HEADERS),
        ]
        assert [None if row is None else (*row, row.headers) for row in seen] == [
            ("1", 110, PUT_HEADERS),
            None,
            ("3", 110, PUT_HEADERS),
            ("1", 110, PUT_HEADERS),
        ]
        view = driver.timestamped_key_value_store_with_headers("s")
        rows = [(key, *row, row.headers) for key, row in view.all()]
        assert rows == [
            ("a", "6", 110, PUT_HEADERS),
            ("b", "2", 110, PUT_HEADERS),
            ("c", "3", 110, PUT_HEADERS),
        ]
        assert list(driver.key_value_store("s").all()) == [("a", "6"), ("b", "2"), ("c", "3")]


def test_a_window_keeps_the_headers_it_was_put_with(stores: StoreFactory) -> None:
    def use(store, given: Record) -> None:
        at = given.timestamp
        headers = (*given.headers, ("put", b"y"))
        store.put(given.key, given.value, at, at if given.value is None else at + 100, headers)

    with TopologyTestDriver(
        topology(spec(StoreKind.TIMESTAMPED_WINDOW), use), CONFIG, stores=stores
    ) as driver:
        pipe = driver.input_topic("in").pipe
        pipe("a", "1", at=10, headers=(("h", b"v"),))
        pipe("a", "2", at=12, headers=(("h", b"w"),))
        pipe("b", "3", at=12)
        pipe("a", None, at=12, headers=(("h", b"x"),))
        assert [
            (each.key.hex(), each.value, each.timestamp, each.headers)
            for each in driver.read_bytes("app-s-changelog")
        ] == [
            ("61000000000000000a00000000", b"1", 110, (("h", b"v"), ("put", b"y"))),
            ("61000000000000000c00000000", b"2", 112, (("h", b"w"), ("put", b"y"))),
            ("62000000000000000c00000000", b"3", 112, (("put", b"y"),)),
            ("61000000000000000c00000000", None, 12, (("h", b"x"),)),
        ]
        store = driver.timestamped_window_store_with_headers("s")
        assert [(window, *row, row.headers) for window, row in store.all()] == [
            (Windowed("a", 10, 20), "1", 110, (("h", b"v"), ("put", b"y"))),
            (Windowed("b", 12, 22), "3", 112, (("put", b"y"),)),
        ]
        assert list(driver.window_store("s").all()) == [
            (Windowed("a", 10, 20), "1"),
            (Windowed("b", 12, 22), "3"),
        ]


def test_a_session_keeps_the_headers_it_was_put_with(stores: StoreFactory) -> None:
    def use(store, given: Record) -> None:
        session = Windowed(given.key, given.timestamp, given.timestamp + 5)
        if given.value is None:
            store.remove(session)
        else:
            store.put(session, given.value, headers=(*given.headers, ("put", b"y")))

    with TopologyTestDriver(
        topology(spec(StoreKind.SESSION), use), CONFIG, stores=stores
    ) as driver:
        pipe = driver.input_topic("in").pipe
        pipe("a", "1", at=10, headers=(("h", b"v"),))
        pipe("b", "3", at=12)
        pipe("b", None, at=12, headers=(("h", b"r"),))
        assert [
            (each.key.hex(), each.value, each.timestamp, each.headers)
            for each in driver.read_bytes("app-s-changelog")
        ] == [
            ("61000000000000000f000000000000000a", b"1", 10, (("h", b"v"), ("put", b"y"))),
            ("620000000000000011000000000000000c", b"3", 12, (("put", b"y"),)),
            ("620000000000000011000000000000000c", None, 12, (("h", b"r"),)),
        ]
        kept = (("h", b"v"), ("put", b"y"))
        assert driver.session_store_with_headers("s").fetch("a") == [
            (Windowed("a", 10, 15), AggregationWithHeaders("1", kept))
        ]
        assert driver.session_store("s").fetch("a") == [(Windowed("a", 10, 15), "1")]


@pytest.mark.parametrize("kind", KEPT, ids=lambda kind: kind.value)
def test_headers_are_restored_from_the_changelog(kind: StoreKind, stores: StoreFactory) -> None:
    built = topology(spec(kind), lambda _store, _record: None)
    task = StreamTask(built, built.sub_topologies[0].id, 0, stores, CONFIG)
    key = {
        StoreKind.TIMESTAMPED_KEY_VALUE: "61",
        StoreKind.TIMESTAMPED_WINDOW: "61000000000000000a00000000",
        StoreKind.SESSION: "61000000000000000f000000000000000a",
    }[kind]
    keys = [bytes.fromhex(key)] * 2
    task.state.restore(
        "app-s-changelog", RawBatch(keys, [b"1", b"2"], [10, 20], range(2), [(), RECORD_HEADERS])
    )
    store = task.stores["s"]
    if kind is StoreKind.SESSION:
        assert store.fetch("a") == [(Windowed("a", 10, 15), ("2", RECORD_HEADERS))]
    else:
        ((_, row),) = store.all()
        assert (row.value, row.timestamp, row.headers) == ("2", 20, RECORD_HEADERS)
    task.state.restore("app-s-changelog", RawBatch(keys[:1], [None], [30], range(2, 3)))
    assert task.state.restore_positions() == {"app-s-changelog": 3}
    assert list(store.fetch("a") if kind is StoreKind.SESSION else store.all()) == []
    task.close()


def test_a_committed_row_is_read_back_with_its_headers(tmp_path: Path) -> None:
    built = topology(
        spec(StoreKind.TIMESTAMPED_KEY_VALUE),
        lambda store, given: store.put(given.key, given.value, given.timestamp, given.headers),
    )
    factory = rocksdb_stores(tmp_path)
    task = StreamTask(built, built.sub_topologies[0].id, 0, factory, CONFIG)
    task.add("in", RawBatch([b"a"], [b"1"], [10], range(1), [RECORD_HEADERS]))
    task.process(0)
    task.commit()
    task.close()
    again = StreamTask(built, built.sub_topologies[0].id, 0, factory, CONFIG)
    row = again.stores["s"].get("a")
    assert (row, row.headers) == (("1", 10), RECORD_HEADERS)
    again.close()


@pytest.mark.parametrize("kind", KEPT, ids=lambda kind: kind.value)
def test_rows_from_before_headers_are_read_as_rows_without(kind: StoreKind, tmp_path: Path) -> None:
    """As Kafka Streams' upgrade mode; there is no way back, as there."""

    def opened(*, with_headers: bool) -> StreamTask:
        store = replace(spec(kind), with_headers=with_headers)
        built = topology(store, lambda _store, _record: None)
        return StreamTask(built, built.sub_topologies[0].id, 0, rocksdb_stores(tmp_path), CONFIG)

    def all_rows(task: StreamTask) -> list[tuple[object, ...]]:
        store = task.stores["s"]
        rows = store.find_all_sessions() if kind is StoreKind.SESSION else store.all()
        return [(key, *row, row.headers) for key, row in rows]

    task = opened(with_headers=False)
    key = {
        StoreKind.TIMESTAMPED_KEY_VALUE: "a",
        StoreKind.TIMESTAMPED_WINDOW: Windowed("a", 10, 20),
        StoreKind.SESSION: Windowed("a", 10, 20),
    }[kind]
    store = task.stores["s"]
    match kind:
        case StoreKind.TIMESTAMPED_KEY_VALUE:
            store.put("a", "1", 10)
        case StoreKind.TIMESTAMPED_WINDOW:
            store.put("a", "1", 10, 10)
        case StoreKind.SESSION:
            store.put(key, "1")
    task.commit(changelog_offsets={"app-s-changelog": 7})
    task.close()
    row = ("1", ()) if kind is StoreKind.SESSION else ("1", 10)
    expected = (key, *row, ())
    for _ in range(2):  # once only
        task = opened(with_headers=True)
        assert all_rows(task) == [expected]
        assert task.state.restore_positions() == {"app-s-changelog": 7}
        task.close()
    with pytest.raises(InvalidStoreError, match="store s was written with headers: keep them"):
        opened(with_headers=False)


def reduced(**options: object) -> Topology:
    builder = StreamsBuilder(**options)
    table = (
        builder.stream("in")
        .group_by_key()
        .reduce(
            lambda one, other: None if other == "x" else one + other,
            materialized=Materialized("red", caching=False),
        )
    )
    table.to_stream().to("out")
    return builder.build()


def test_the_dsl_keeps_no_headers_but_logs_deletions_with_those_of_the_record() -> None:
    """KIP-1285, and what 4.3.1 does with a reducer that gives null."""
    with TopologyTestDriver(reduced(store_format=StoreFormat.HEADERS), CONFIG) as driver:
        pipe = driver.input_topic("in").pipe
        pipe("a", "1", at=10, headers=RECORD_HEADERS)
        pipe("a", "x", at=11, headers=RECORD_HEADERS)
        pipe("a", "2", at=12, headers=RECORD_HEADERS)
        assert driver.read_bytes("app-red-changelog") == [
            record("a", "1", 10, ()),
            record("a", None, 11, RECORD_HEADERS),
            record("a", "2", 12, ()),
        ]
        assert [each.headers for each in driver.read_bytes("out")] == [RECORD_HEADERS] * 3
        row = driver.stores()["red"].get("a")
        assert (row, row.headers) == (("2", 12), ())


def test_a_whole_batch_logs_the_headers_of_each_deletion() -> None:
    built = reduced(store_format=StoreFormat.HEADERS)
    task = StreamTask(built, built.sub_topologies[0].id, 0, in_memory_stores(), CONFIG)
    rows = [("a", "1", "h1"), ("a", "x", "h2"), ("b", "2", "h3"), ("b", "x", "h4")]
    task.add(
        "in",
        RawBatch(
            [key.encode() for key, _, _ in rows],
            [value.encode() for _, value, _ in rows],
            [1, 2, 3, 4],
            range(4),
            [((name, b"v"),) for _, _, name in rows],
        ),
    )
    log = task.process(0).changelogs["app-red-changelog"]
    assert list(zip(log.values, log.headers, strict=True)) == [
        (b"1", ()),
        (None, (("h2", b"v"),)),
        (b"2", ()),
        (None, (("h4", b"v"),)),
    ]
    task.close()


def test_a_whole_batch_logs_the_headers_of_each_deletion_that_a_cache_has_held_back() -> None:
    """Also of windows that go out when they close: they are cached, but wait for no flush."""
    builder = StreamsBuilder(store_format=StoreFormat.HEADERS)
    windowed = builder.stream("in").group_by_key().windowed_by(TimeWindows.tumbling(HOUR))
    final = windowed.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
    final.reduce(lambda _one, _other: None, materialized=Materialized("red"))
    config = replace(CONFIG, cache_max_bytes=1_000_000)
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), config)
    keys = [b"a", b"b", b"a", b"b"]
    headers = [((name, b"v"),) for name in ("h1", "h2", "h3", "h4")]
    task.add("in", RawBatch(keys, [b"1"] * 4, [1, 2, 3, 4], range(4), headers))
    task.process(0)
    log = task.prepare_commit().output.changelogs["app-red-changelog"]
    assert list(zip(log.values, log.timestamps, log.headers, strict=True)) == [
        (None, 3, (("h3", b"v"),)),
        (None, 4, (("h4", b"v"),)),
    ]
    task.close()


def test_a_whole_batch_without_headers_is_kept_as_rows_without() -> None:
    built = reduced(store_format=StoreFormat.HEADERS)
    task = StreamTask(built, built.sub_topologies[0].id, 0, in_memory_stores(), CONFIG)
    task.add("in", RawBatch([b"a", b"a"], [b"1", b"2"], [1, 2], range(2)))
    task.process(0)
    store = task.stores["red"]
    assert store.rows.get(b"a") == b"\x00" + (2).to_bytes(8, "big") + b"12"
    row = store.get("a")
    assert (row, row.headers) == (("12", 2), ())
    task.close()


def test_the_format_is_that_of_stores_on_disk_alone() -> None:
    """Kafka Streams' suppliers of stores in memory know no format."""

    def is_headered(**options: object) -> bool:
        return reduced(**options).stores["red"].with_headers

    assert not is_headered()
    assert is_headered(store_format=StoreFormat.HEADERS)
    assert not is_headered(store_format=StoreFormat.HEADERS, store_type=StoreType.IN_MEMORY)


@pytest.mark.parametrize("written", ["headers", "HEADERS", StoreFormat.HEADERS])
def test_the_format_may_be_written_as_kafka_does(written: str) -> None:
    assert reduced(store_format=written).stores["red"].with_headers


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="store_format is one of default, headers, not 'plain'"):
        StreamsBuilder(store_format="plain")


def test_a_supplier_decides_for_itself() -> None:
    def with_headers(supplier: StoreSupplier, store_format: StoreFormat) -> bool:
        builder = StreamsBuilder(store_format=store_format)
        builder.table("in", materialized=Materialized(supplier=supplier))
        return builder.build().stores["s"].with_headers

    assert with_headers(StoreSupplier("s", with_headers=True), StoreFormat.DEFAULT)
    assert not with_headers(StoreSupplier("s"), StoreFormat.HEADERS)


@pytest.mark.parametrize(
    ("store_format", "ask", "problem"),
    [
        (
            StoreFormat.DEFAULT,
            "timestamped_key_value_store_with_headers",
            "key-value store with headers",
        ),
        (StoreFormat.HEADERS, "timestamped_window_store_with_headers", "window store with headers"),
        (StoreFormat.HEADERS, "session_store_with_headers", "session store with headers"),
    ],
)
def test_the_driver_shows_headers_of_stores_that_keep_them_alone(
    store_format: StoreFormat, ask: str, problem: str
) -> None:
    with (
        TopologyTestDriver(reduced(store_format=store_format), CONFIG) as driver,
        pytest.raises(InvalidStoreError, match=rf"store red is a \w+, no {problem}"),
    ):
        getattr(driver, ask)("red")


@pytest.mark.parametrize(
    "make",
    [
        lambda: StoreSpec("s", StoreKind.VERSIONED, with_headers=True),
        lambda: StoreSpec("s", StoreKind.TIMESTAMPED_KEY_VALUE, entries_max=1, with_headers=True),
        lambda: StoreSpec("s", StoreKind.WINDOW, retain_duplicates=True, with_headers=True),
        lambda: StoreSupplier("s", retain_duplicates=True, with_headers=True),
        lambda: StoreSupplier("s", StoreType.IN_MEMORY, entries_max=1, with_headers=True),
    ],
    ids=["versioned", "bounded", "plain window", "duplicates", "bounded supplier"],
)
def test_stores_that_cannot_keep_headers_say_so(make: Callable[[], object]) -> None:
    with pytest.raises(
        ValueError, match=r"store s.*(keeps no headers; these do|with_headers goes)"
    ):
        make()
