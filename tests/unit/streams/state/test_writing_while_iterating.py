"""A processor may change rows while it iterates over them: it sees them as they were when it asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest

from millstream.streams import ProcessorContext, Record, StreamsBuilder, Windowed
from millstream.streams.serdes import long, string
from millstream.streams.state import StoreFactory, in_memory_stores, rocksdb_stores
from millstream.streams.topology import StoreKind, StoreSpec
from millstream.testing import TopologyTestDriver

KEYS = "abcdef"


class Replaces:
    """With every record each row is replaced by one behind all others, which must not be met in the same round."""

    stores = (
        StoreSpec("rows", StoreKind.KEY_VALUE, key=string(), value=long()),
        StoreSpec(
            "windows",
            StoreKind.WINDOW,
            key=string(),
            value=long(),
            retention_ms=1_000,
            window_size_ms=5,
        ),
        StoreSpec("sessions", StoreKind.SESSION, key=string(), value=long(), retention_ms=1_000),
    )

    met: ClassVar[dict[str, list[str]]]

    def init(self, context: ProcessorContext) -> None:
        self.rows = context.store("rows")
        self.windows = context.store("windows")
        self.sessions = context.store("sessions")

    def process(self, record: Record) -> None:
        if record.value == "fill":
            for number, key in enumerate(KEYS):
                self.rows.put(key, number)
                self.windows.put(key, number, number)
                self.sessions.put(Windowed(key, number, number), number)
            return
        for key, _ in self.rows.all():
            self.met["rows"].append(key)
            self.rows.delete(key)
            self.rows.put(f"z{key}", 0)
        for window, _ in self.windows.all():
            self.met["windows"].append(window.key)
            self.windows.put(window.key, None, window.start_ms)
            self.windows.put(window.key, 0, window.start_ms + 100)
        for session, _ in self.sessions.find_all_sessions():
            self.met["sessions"].append(session.key)
            self.sessions.remove(session)
            self.sessions.put(Windowed(session.key, 100, 100), 0)


def on_disk(directory: Path) -> StoreFactory:
    return rocksdb_stores(directory)


def in_memory(_directory: Path) -> StoreFactory:
    return in_memory_stores()


@pytest.mark.parametrize("stores", [in_memory, on_disk])
def test_every_row_is_met_once_and_none_that_came_later(
    tmp_path: Path, stores: Callable[[Path], StoreFactory]
) -> None:
    class Telling(Replaces):
        met: ClassVar[dict[str, list[str]]] = {"rows": [], "windows": [], "sessions": []}

    builder = StreamsBuilder()
    builder.stream("in", key=string(), value=string()).process(Telling)
    with TopologyTestDriver(builder.build(), stores=stores(tmp_path)) as driver:
        topic = driver.input_topic("in", key=string(), value=string())
        topic.pipe("k", "fill", at=1)  # and a commit
        topic.pipe("k", "replace", at=2)
        assert Telling.met == {store: list(KEYS) for store in ("rows", "windows", "sessions")}
        assert [key for key, _ in driver.key_value_store("rows").all()] == [f"z{k}" for k in KEYS]
