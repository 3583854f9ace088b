"""Every method of every kind of store gives what Kafka Streams 4.3.1 gave for the same calls (tests/oracle/stores)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from millstream.streams import Record, StreamsBuilder, StreamsConfig
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.serdes import Windowed, string
from millstream.streams.state import ValueTimestampHeaders, in_memory_stores, rocksdb_stores
from millstream.streams.state.read_only import VersionedRecord
from millstream.streams.topology import StoreKind, StoreSpec

RECORDED = Path(__file__).parents[3] / "oracle" / "stores" / "calls.jsonl.gz"
CASES = [json.loads(line) for line in gzip.decompress(RECORDED.read_bytes()).splitlines()]
KINDS = {
    kind: list(cases)
    for kind, cases in groupby(
        CASES, key=lambda case: " ".join(f"{k}={v}" for k, v in case["store"].items())
    )
}
CACHE_BYTES = 1_000_000


def spec(store: dict[str, Any]) -> StoreSpec:
    return StoreSpec(
        "s",
        StoreKind(store["kind"]),
        persistent=store["persistent"],
        key=string(),
        value=string(),
        caching=store.get("caching", False),
        retention_ms=store.get("retention"),
        window_size_ms=store.get("window_size"),
        retain_duplicates=store.get("duplicates", False),
        entries_max=store.get("max"),
        with_headers=store.get("headers", False),
    )


def headers_for(value: str | None) -> tuple[tuple[str, bytes | None], ...]:
    """As StoreCalls.java has them."""
    if value is None:
        return ()
    number = int(value[1:])
    if number % 3 == 0:
        return ()
    none = (("none", None),) if number % 5 == 0 else ()
    return (*none, ("value", value.encode()))


class Calls:
    """Makes the calls of a record's value and keeps what they give."""

    def __init__(self, store: dict[str, Any], results: list[list[object]]) -> None:
        headers = "_with_headers" if store.get("headers") else ""
        self._make = globals()[f"call_{store['kind']}{headers}"]
        self._results = results

    def init(self, context: Any) -> None:
        self._store = context.store("s")

    def process(self, record: Record) -> None:
        calls = json.loads(record.value)
        self._results.append([shown(self._make(self._store, *call)) for call in calls])


def call_key_value(store: Any, name: str, *args: Any) -> object:
    return getattr(store, name)(*args)


def call_timestamped_key_value(store: Any, name: str, *args: Any) -> object:
    if name == "put_all":
        return store.put_all((key, (value, at)) for key, value, at in args[0])
    return getattr(store, name)(*args)


def call_window(store: Any, name: str, *args: Any) -> object:
    match name:
        case "put":
            key, start, value, *timestamp = args
            return store.put(key, value, start, *timestamp)
        case "fetch_at":
            return store.fetch(*args)
        case "fetch_keys" | "backward_fetch_keys":
            key_from, key_to, *times = args
            method = getattr(store, name.replace("_keys", "_all"))
            return method(*times, key_from=key_from, key_to=key_to)
        case _:
            return getattr(store, name)(*args)


call_timestamped_window = call_window


def call_session(store: Any, name: str, *args: Any) -> object:
    match name:
        case "put":
            return store.put(Windowed(*args[:3]), args[3])
        case "remove":
            return store.remove(Windowed(*args))
        case "find" | "backward_find":
            return getattr(store, f"{name}_sessions")(*args)
        case "find_ending":
            return store.find_all_sessions(earliest_end=args[0], latest_end=args[1])
        case "fetch_keys" | "backward_fetch_keys" | "find_keys" | "backward_find_keys":
            names = ("key_from", "key_to", "earliest_end", "latest_start")
            find = "backward_find_all_sessions" if name.startswith("back") else "find_all_sessions"
            return getattr(store, find)(**dict(zip(names, args, strict=False)))
        case _:
            return getattr(store, name)(*args)


def call_timestamped_key_value_with_headers(store: Any, name: str, *args: Any) -> object:
    match name:
        case "put" | "put_if_absent":
            return getattr(store, name)(*args, headers_for(args[1]))
        case "put_all":
            rows = ((key, ValueTimestampHeaders(v, at, headers_for(v))) for key, v, at in args[0])
            return store.put_all(rows)
        case _:
            return getattr(store, name)(*args)


def call_timestamped_window_with_headers(store: Any, name: str, *args: Any) -> object:
    if name == "put":
        key, start, value, timestamp = args
        return store.put(key, value, start, timestamp, headers_for(value))
    return call_window(store, name, *args)


def call_session_with_headers(store: Any, name: str, *args: Any) -> object:
    if name == "put":
        return store.put(Windowed(*args[:3]), args[3], headers=headers_for(args[3]))
    return call_session(store, name, *args)


def call_versioned(store: Any, name: str, *args: Any) -> object:
    return getattr(store, name.removesuffix("_as_of"))(*args)


def shown(value: object) -> object:
    """As it stands in the recording."""
    match value:
        case None | str() | int():
            return value
        case Windowed(key, start, end):
            return [key, start, end]
        case VersionedRecord():
            return [*value[:2], None]  # there no processor is told when a version ends
        case ValueTimestampHeaders():
            return [*value, shown(value.headers)]
        case bytes():
            return value.decode()
        case tuple():
            return [shown(each) for each in value]
        case _:
            assert isinstance(value, Iterable)
            return [shown(each) for each in value]


def run(case: dict[str, Any], directory: Path) -> list[list[object]]:
    results: list[list[object]] = []
    store = case["store"]
    builder = StreamsBuilder()
    builder.add_state_store(spec(store))
    builder.stream("in").process(lambda: Calls(store, results), stores=["s"])
    config = StreamsConfig(
        "app", default_key=string(), default_value=string(), cache_max_bytes=CACHE_BYTES
    )
    stores = rocksdb_stores(directory) if store["persistent"] else in_memory_stores()
    task = StreamTask(builder.build(), 0, 0, stores, config)
    for offset, (at, calls) in enumerate(case["batches"]):
        task.add(
            "in", RawBatch([b"k"], [json.dumps(calls).encode()], [at], range(offset, offset + 1))
        )
        task.process(0)
        task.prepare_commit()
        task.commit()
    task.close()
    return results


@pytest.mark.parametrize("kind", KINDS)
def test_calls_give_what_kafka_streams_gives(kind: str, tmp_path: Path) -> None:
    for number, case in enumerate(KINDS[kind]):
        results = run(case, tmp_path / str(number))
        for (at, calls), ours, theirs in zip(case["batches"], results, case["expect"], strict=True):
            for call, our, their in zip(calls, ours, theirs, strict=True):
                assert our == their, f"case {number}, record at {at}: {call}"
