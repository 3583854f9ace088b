"""Stores hold what a naive model of them holds, whatever is written, committed, forgotten and opened again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import deepcopy
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.streams.serdes import Windowed, string
from millstream.streams.state.changelog import Changelog
from millstream.streams.state.key_value.versioned import NOT_PUT
from millstream.streams.state.opening import open_store
from millstream.streams.state.storage.byte_store import MemoryByteStore
from millstream.streams.state.storage.rocksdb import RocksByteStore, RocksDatabase
from millstream.streams.state.storage.transaction import TransactionalRows
from millstream.streams.state.store import StoreParts
from millstream.streams.topology import StoreKind, StoreSpec

KEYS = st.sampled_from(["", "a", "ab", "a\x00", "b", "\uffff"])
VALUES = st.none() | st.sampled_from(["", "x", "y"])
TIMES = st.integers(0, 30) | st.integers(0, 400_000)
RETENTION_MS = 20
LONG_RETENTION_MS = 130_000
NAMES = count()


class Model(ABC):
    """A store and what it should hold. `spec` is the store's, `writes` the arguments of its put."""

    spec: StoreSpec

    @abstractmethod
    def put(self, store: Any, *arguments: Any) -> None:
        """Write to the store and to the model."""

    @abstractmethod
    def check(self, store: Any) -> None:
        """Everything the store tells is what the model knows."""


class KeyValues(Model):
    writes = st.tuples(KEYS, VALUES, TIMES)

    def __init__(self, spec: StoreSpec) -> None:
        self.spec = spec
        self.rows: dict[str, Any] = {}

    def put(self, store: Any, key: str, value: str | None, at: int) -> None:
        timestamped = self.spec.is_timestamped
        store.put(key, value, *((at,) if timestamped else ()))
        self.rows.pop(key, None)
        if value is not None:
            self.rows[key] = (value, at) if timestamped else value

    def check(self, store: Any) -> None:
        rows = sorted(self.rows.items(), key=lambda row: row[0].encode())
        assert list(store.all()) == rows
        assert list(store.reverse_all()) == rows[::-1]
        assert store.approximate_num_entries() == len(rows)
        assert [store.get(key) for key, _ in rows] == [row for _, row in rows]
        assert list(store.range("a", "b")) == [row for row in rows if "a" <= row[0] <= "b"]
        assert list(store.prefix_scan("a")) == [row for row in rows if row[0].startswith("a")]
        assert list(store.prefix_scan("\uffff")) == [row for row in rows if row[0] == "\uffff"]


class Windows(Model):
    """A row is seen as long as its start is less than the retention before the newest start that was put."""

    writes = st.tuples(KEYS, VALUES, TIMES)

    def __init__(self, spec: StoreSpec) -> None:
        self.spec = spec
        self.rows: dict[tuple[int, str], str] = {}
        self.newest = -1

    def put(self, store: Any, key: str, value: str | None, start: int) -> None:
        store.put(key, value, start)
        self.newest = max(self.newest, start)
        self.rows.pop((start, key), None)
        if value is not None:
            self.rows[start, key] = value

    def check(self, store: Any) -> None:
        assert self.spec.retention_ms is not None
        oldest = self.newest - self.spec.retention_ms + 1
        rows = {at: value for at, value in sorted(self.rows.items()) if at[0] >= oldest}
        assert {(w.start_ms, w.key): value for w, value in store.all()} == rows
        assert list(store.backward_all()) == list(store.all())[::-1]
        for key in ("a", "ab"):
            mine = [(start, value) for (start, each), value in rows.items() if each == key]
            assert store.fetch(key, 0, 500_000) == mine
            assert store.backward_fetch(key, 0, 500_000) == mine[::-1]
            assert [store.fetch(key, start) for start, _ in mine] == [value for _, value in mine]


class Sessions(Model):
    writes = st.tuples(KEYS, VALUES, TIMES, st.sampled_from([0, 1, 7, 70_000]))

    def __init__(self, spec: StoreSpec) -> None:
        self.spec = spec
        self.rows: dict[tuple[int, int, str], str] = {}
        self.newest = -1

    def put(self, store: Any, key: str, value: str | None, start: int, length: int) -> None:
        store.put(Windowed(key, start, start + length), value)
        self.newest = max(self.newest, start + length)
        self.rows.pop((start + length, start, key), None)
        if value is not None:
            self.rows[start + length, start, key] = value

    def check(self, store: Any) -> None:
        assert self.spec.retention_ms is not None
        oldest = self.newest - self.spec.retention_ms + 1
        rows = {at: value for at, value in sorted(self.rows.items()) if at[0] >= oldest}
        found = {(s.end_ms, s.start_ms, s.key): value for s, value in store.find_all_sessions()}
        assert found == rows
        for key in ("a", "ab"):
            mine = {at: value for at, value in rows.items() if at[2] == key and at[1] <= 10}
            found = store.find_sessions(key, 0, 10)
            assert {(s.end_ms, s.start_ms, s.key): value for s, value in found} == mine
            assert store.backward_find_sessions(key, 0, 10) == found[::-1]


class Versions(Model):
    """Of the versions older than the history only the newest of a key is found."""

    writes = st.tuples(KEYS, VALUES, st.integers(0, 60))

    def __init__(self, spec: StoreSpec) -> None:
        self.spec = spec
        self.rows: dict[str, dict[int, str | None]] = {}
        self.observed = -(2**63)

    def put(self, store: Any, key: str, value: str | None, at: int) -> None:
        put = store.put(key, value, at)
        assert self.spec.retention_ms is not None
        if at < self.observed - self.spec.retention_ms:
            assert put == NOT_PUT
            return
        assert put != NOT_PUT
        self.observed = max(self.observed, at)
        self.rows.setdefault(key, {})[at] = value

    def check(self, store: Any) -> None:
        assert self.spec.retention_ms is not None
        oldest = self.observed - self.spec.retention_ms
        for key, versions in self.rows.items():
            newest = max(versions)
            for as_of in range(0, 61, 3):
                valid = max((at for at in versions if at <= as_of), default=None)
                hidden = valid is None or (valid != newest and as_of < oldest)
                expected = None if hidden or versions[valid] is None else (versions[valid], valid)
                found = store.get(key, as_of)
                assert (None if found is None else found[:2]) == expected
            found = store.get(key)
            assert (None if found is None else found[0]) == versions[newest]


def spec(kind: StoreKind, **options: Any) -> StoreSpec:
    return StoreSpec("s", kind, key=string(), value=string(), **options)


WINDOW = {"window_size_ms": 10}
MODELS: dict[str, Model] = {
    "key_value": KeyValues(spec(StoreKind.KEY_VALUE)),
    "timestamped_key_value": KeyValues(spec(StoreKind.TIMESTAMPED_KEY_VALUE)),
    "versioned": Versions(spec(StoreKind.VERSIONED, retention_ms=RETENTION_MS)),
} | {
    f"{name}_{place}_{retention_ms}": model(
        spec(kind, persistent=place == "disk", retention_ms=retention_ms, **WINDOW)
    )
    for name, model, kind in (
        ("window", Windows, StoreKind.WINDOW),
        ("session", Sessions, StoreKind.SESSION),
    )
    for place in ("disk", "memory")
    for retention_ms in (RETENTION_MS, LONG_RETENTION_MS)
}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RocksDatabase]:
    opened = RocksDatabase(str(tmp_path_factory.mktemp("stores")))
    yield opened
    opened.close()


@pytest.mark.parametrize("place", ["memory", "rocksdb"])
@pytest.mark.parametrize("name", MODELS)
def test_a_store_holds_what_its_model_holds(name: str, place: str, database: RocksDatabase) -> None:
    start = MODELS[name]

    @settings(max_examples=25)
    @given(
        st.lists(
            st.sampled_from(["commit", "discard", "open again"]) | type(start).writes,  # type: ignore[attr-defined]  # every model has them
            max_size=20,
        )
    )
    def check(steps: list[str | tuple[Any, ...]]) -> None:
        in_memory = place == "memory"
        rows = MemoryByteStore() if in_memory else RocksByteStore(database, f"s{next(NAMES)}")
        model, committed = deepcopy(start), deepcopy(start)

        def opened() -> Any:
            parts = TransactionalRows(rows)
            return open_store(StoreParts(start.spec, parts, string(), string(), Changelog("log")))

        store = opened()
        for step in steps:
            match step:
                case "commit":
                    store.commit(changelog_offset=None, marker=None)
                    committed = deepcopy(model)
                case "discard":
                    store.discard()
                    model = deepcopy(committed)
                case "open again":
                    store = opened()
                    model = deepcopy(committed)
                case _:
                    model.put(store, *step)
            model.check(store)

    check()
