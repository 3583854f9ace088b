"""Who may use which store: connected processors their own, everybody global ones, but only to read."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.streams import Record, StreamsBuilder, StreamsConfig
from millstream.streams.errors import InvalidStoreError, ProcessingError, SerializationError
from millstream.streams.kernel import StreamTask
from millstream.streams.serdes import Windowed, string
from millstream.streams.state import VersionedRecord, in_memory_stores
from millstream.streams.topology import StoreKind, StoreSpec
from millstream.testing.streams.topology_test_driver import TopologyTestDriver

CONFIG = StreamsConfig("app", default_key=string(), default_value=string())
WINDOWS = {"retention_ms": 100, "window_size_ms": 10}


class Fill:
    """Writes the global store, as only the processor of its own may."""

    def init(self, context: Any) -> None:
        self._store = context.store("all")

    def process(self, record: Record) -> None:
        kind = self._store.spec.kind
        if kind is StoreKind.SESSION:
            self._store.put(Windowed(record.key, 0, 5), record.value)
            return
        times = {
            StoreKind.KEY_VALUE: (),
            StoreKind.TIMESTAMPED_KEY_VALUE: (record.timestamp,),
            StoreKind.VERSIONED: (record.timestamp,),
            StoreKind.WINDOW: (0,),
            StoreKind.TIMESTAMPED_WINDOW: (0, record.timestamp),
        }
        self._store.put(record.key, record.value, *times[kind])


class Keep:
    """Hands its stores to the test."""

    def __init__(self, given: dict[str, Any], *names: str) -> None:
        self._given, self._names = given, names

    def init(self, context: Any) -> None:
        self._given.update({name: context.store(name) for name in self._names})

    def process(self, record: Record) -> None:
        pass


def with_global_store(kind: StoreKind, given: dict[str, Any], **options: Any) -> TopologyTestDriver:
    builder = StreamsBuilder()
    store = StoreSpec("all", kind, key=string(), value=string(), **options)
    builder.add_global_store(store, "everybody", Fill)
    builder.stream("in").process(lambda: Keep(given, "all"))
    return TopologyTestDriver(builder.build(), CONFIG)


@pytest.mark.parametrize(
    ("kind", "options", "read", "expected"),
    [
        (StoreKind.KEY_VALUE, {}, lambda store: list(store.range("a", None)), [("a", "x")]),
        (StoreKind.TIMESTAMPED_KEY_VALUE, {}, lambda store: list(store.all()), [("a", ("x", 7))]),
        (StoreKind.WINDOW, WINDOWS, lambda store: store.fetch("a", 0, 9), [(0, "x")]),
        (StoreKind.TIMESTAMPED_WINDOW, WINDOWS, lambda store: store.fetch("a", 0), ("x", 7)),
        (
            StoreKind.SESSION,
            WINDOWS,
            lambda store: store.backward_fetch("a"),
            [(Windowed("a", 0, 5), "x")],
        ),
        (
            StoreKind.VERSIONED,
            {"retention_ms": 100},
            lambda store: store.get("a", 9),
            VersionedRecord("x", 7),
        ),
    ],
)
def test_a_global_store_is_read_with_whole_rows_and_not_written(
    kind: StoreKind, options: dict[str, int], read: Any, expected: object
) -> None:
    given: dict[str, Any] = {}
    with with_global_store(kind, given, **options) as driver:
        driver.input_topic("everybody").pipe("a", "x", at=7)
        assert read(given["all"]) == expected
        for write in ("put", "put_if_absent", "put_all", "delete", "remove"):
            with pytest.raises(InvalidStoreError, match="store all can only be read here"):
                getattr(given["all"], write)("a", "y", 1)


def test_a_store_must_be_connected() -> None:
    builder = StreamsBuilder()
    builder.add_state_store(StoreSpec("mine", StoreKind.KEY_VALUE))
    builder.stream("in").process(lambda: Keep({}, "mine"))
    with pytest.raises(InvalidStoreError, match="not connected with store mine"):
        StreamTask(builder.build(), 0, 0, in_memory_stores(), CONFIG)


def test_a_store_is_of_no_use_after_its_task_is_closed() -> None:
    given: dict[str, Any] = {}
    builder = StreamsBuilder()
    builder.add_state_store(StoreSpec("mine", StoreKind.KEY_VALUE))
    builder.stream("in").process(lambda: Keep(given, "mine"), stores=["mine"])
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), CONFIG)
    assert given["mine"].is_open
    task.close()
    assert not given["mine"].is_open
    for use in (lambda store: store.get("a"), lambda store: store.put("a", "b"), lambda store: list(store.all())):  # fmt: skip
        with pytest.raises(InvalidStoreError, match="store mine is closed"):
            use(given["mine"])


def test_a_processor_that_fails_to_close_leaves_no_store_open() -> None:
    class Stubborn(Keep):
        def close(self) -> None:
            raise OSError("busy")

    given: dict[str, Any] = {}
    builder = StreamsBuilder()
    builder.add_state_store(StoreSpec("mine", StoreKind.KEY_VALUE))
    builder.stream("in").process(lambda: Stubborn(given, "mine"), stores=["mine"])
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), CONFIG)
    with pytest.raises((OSError, ProcessingError), match="busy"):
        task.close()
    assert not given["mine"].is_open


def test_a_key_that_cannot_be_written_is_named_with_its_store() -> None:
    given: dict[str, Any] = {}
    builder = StreamsBuilder()
    builder.add_state_store(StoreSpec("mine", StoreKind.KEY_VALUE))
    builder.add_state_store(StoreSpec("times", StoreKind.WINDOW, **WINDOWS))
    builder.stream("in").process(lambda: Keep(given, "mine", "times"), stores=["mine", "times"])
    StreamTask(builder.build(), 0, 0, in_memory_stores(), CONFIG)
    for read in (lambda: given["mine"].get(None), lambda: given["mine"].delete(None)):
        with pytest.raises(SerializationError, match=r"store mine .* a key is never None"):
            read()
    with pytest.raises(SerializationError, match="store times cannot be asked for key int"):
        given["times"].fetch(5, 0, 9)
    with pytest.raises(SerializationError, match="store times cannot write key NoneType"):
        given["times"].put(None, "x", 0)
