"""The fixed processors of the oracle, written against our Processor API."""

from __future__ import annotations

from datetime import timedelta

from streams.spec_functions import Unsupported, text

from millstream.streams import PunctuationType, Record
from millstream.streams.serdes import Windowed, string
from millstream.streams.state import KeyValueStore, ValueTimestampHeaders
from millstream.streams.state.key_value.versioned import NOT_PUT, VALID_TO_UNDEFINED
from streams import spec_functions as fn


def java_headers(headers) -> str:
    """Headers as Java prints them."""
    each = (
        f"RecordHeader(key = {name}, value = {'null' if value is None else list(value)})"
        for name, value in headers
    )
    return f"RecordHeaders(headers = [{', '.join(each)}], isReadOnly = false)"


def shown(stored) -> str:
    """A stored value as text: null, the value, value@timestamp where the store keeps timestamps, or as Java prints it."""
    if isinstance(stored, ValueTimestampHeaders):
        value, timestamp = stored
        return (
            f"ValueTimestampHeaders{{value={text(value)}, timestamp={timestamp},"
            f" headers={java_headers(stored.headers)}}}"
        )
    return f"{text(stored[0])}@{stored[1]}" if isinstance(stored, tuple) else text(stored)


class Transformer:
    """A value transformer of a table: a pure mapper, or one that counts its calls in a store."""

    def __init__(self, options: dict) -> None:
        self._options = options

    def init(self, context) -> None:
        counts = self._options["type"] == "count"
        self._calls = context.store(self._options["store"]) if counts else None

    def transform(self, key, value):
        if self._calls is None:
            return fn.keyed_value_mapper(self._options["type"])(key, value)
        if value is None:
            return None
        count = (self._calls.get(key) or 0) + 1
        self._calls.put(key, count)
        return f"{text(value)}#{count}"


class StepSupplier:
    """Makes one step per task and brings its stores."""

    def __init__(self, options: dict, stores: list) -> None:
        if not hasattr(Step, f"_{options['type']}"):
            raise Unsupported(f"processor {options['type']}")
        self.stores = stores
        self._options = options

    def __call__(self) -> Step:
        return Step(self._options)


class Step:
    """One of the fixed processors, by its type."""

    def __init__(self, options: dict) -> None:
        self._options = options
        self._apply = getattr(self, f"_{options['type']}")
        self._fired = 0
        self._schedule = None
        if options["type"] == "map":
            self._key_of = fn.key_selector(options["key_fn"])
            self._value_of = fn.value_mapper(options["value_fn"])

    def init(self, context) -> None:
        self._context = context
        if self._options["type"] == "count_emit":
            self._schedule = context.schedule(
                timedelta(milliseconds=self._options["every"]),
                PunctuationType(self._options["time"]),
                self._punctuate,
                start_ms=self._options.get("start"),
            )

    def process(self, record: Record) -> None:
        self._apply(record)

    def _forward(self, record: Record, child: str | None = None) -> None:
        self._context.forward(record, child)

    def _store(self):
        return self._context.store(self._options["store"])

    def _pass(self, record: Record) -> None:
        self._forward(record)

    def _drop(self, record: Record) -> None:
        pass

    def _twice(self, record: Record) -> None:
        self._forward(record)
        self._forward(record)

    def _map(self, record: Record) -> None:
        key = self._key_of(record.key, record.value)
        self._forward(record.with_key(key).with_value(self._value_of(record.value)))

    def _to_children(self, record: Record) -> None:
        holds = fn.predicate(self._options["fn"])(record.key, record.value)
        self._forward(record, self._options["children"][0 if holds else 1])

    def _add_header(self, record: Record) -> None:
        added = (self._options["header"], text(record.value).encode())
        self._forward(record.with_headers((*record.headers, added)))

    def _show_headers(self, record: Record) -> None:
        parts = [f"{n}={'null' if v is None else v.decode()}" for n, v in record.headers]
        self._forward(record.with_value(";".join(parts)))

    def _show_metadata(self, record: Record) -> None:
        at = self._context.record_metadata()
        value = "none" if at is None else f"{at.topic or 'null'}/{at.partition}/{at.offset}"
        self._forward(record.with_value(value))

    def _show_times(self, record: Record) -> None:
        context = self._context
        times = (
            record.timestamp,
            context.current_stream_time_ms(),
            context.current_system_time_ms(),
        )
        self._forward(record.with_value("/".join(map(str, times))))

    def _shift_ts(self, record: Record) -> None:
        self._forward(record.with_timestamp(max(0, record.timestamp + self._options["by"])))

    def _put(self, record: Record) -> None:
        if record.key is not None:
            self._store().put(record.key, record.value)

    def _put_upper(self, record: Record) -> None:
        if record.key is not None:
            self._store().put(record.key, fn.value_mapper("upper")(record.value))

    def _dedupe(self, record: Record) -> None:
        if record.key is not None and self._store().get(record.key) != record.value:
            self._store().put(record.key, record.value)
            self._forward(record)

    def _versioned_put(self, record: Record) -> None:
        if record.key is None:
            return
        store, at = self._store(), record.timestamp
        put = store.put(record.key, record.value, at)
        told = {VALID_TO_UNDEFINED: "latest", NOT_PUT: "not_put"}.get(put, f"until {put}")
        as_of = store.get(record.key, max(0, at - self._options["back"]))
        found = [
            text(None) if row is None else f"{text(row[0])}@{row[1]}"
            for row in (store.get(record.key), as_of)
        ]
        self._forward(record.with_value("/".join([told, *found])))

    def _count(self, record: Record) -> None:
        if record.key is not None:
            self._forward(record.with_value(self._counted(record)))

    def _counted(self, record: Record) -> int:
        count = (self._store().get(record.key) or 0) + 1
        self._store().put(record.key, count)
        return count

    def _count_emit(self, record: Record) -> None:
        if record.key is not None:
            self._counted(record)

    def _punctuate(self, time: int) -> None:
        for key, count in list(self._store().all()):
            self._forward(Record(key, count, time))
            if self._options.get("clear"):
                self._store().delete(key)
        self._fired += 1
        if self._fired == self._options.get("times"):
            self._schedule.cancel()

    def _kv_scan(self, record: Record) -> None:
        if record.key is None:
            return
        store, options = self._store(), self._options
        store.put(record.key, record.value)
        match options["query"]:
            case "prefix":
                rows = store.prefix_scan(options["prefix"], string())
            case "all" | "reverse_all" as query:
                rows = getattr(store, query)()
            case query:
                rows = getattr(store, query)(options.get("low"), options.get("high"))
        value = ",".join(f"{text(key)}={shown(row)}" for key, row in rows)
        self._forward(record.with_value(value))

    def _put_if_absent(self, record: Record) -> None:
        if record.key is not None:
            known = self._store().put_if_absent(record.key, record.value)
            self._forward(record.with_value(text(known)))

    def _last_seen(self, record: Record) -> None:
        if record.key is None:
            return
        old = self._store().get(record.key)
        if old is None or old[1] <= record.timestamp:
            self._store().put(record.key, record.value, record.timestamp)
        self._forward(record.with_value(shown(old)))

    def _lookup(self, record: Record) -> None:
        store = self._store()
        row = None if record.key is None else store.get(record.key)
        if isinstance(store, KeyValueStore):
            row = text(row)
        self._forward(record.with_value(f"{text(record.value)}|{shown(row)}"))

    def _window_put(self, record: Record) -> None:
        if record.key is None:
            return
        store, options = self._store(), self._options
        key, at = record.key, record.timestamp
        store.put(key, record.value, at)
        low, high = max(0, at - options["back"]), at + options["back"]
        query = options["query"]
        if query == "point":
            rows = [text(store.fetch(key, low))]
        elif query in {"fetch", "backward_fetch"}:
            found = getattr(store, query)(key, low, high)
            rows = [f"{start}={text(value)}" for start, value in found]
        else:
            keys = {"key_from": options.get("low"), "key_to": options.get("high")}
            match query:
                case "all":
                    found = store.all()
                case "fetch_all":
                    found = store.fetch_all(low, high)
                case "fetch_keys":
                    found = store.fetch_all(low, high, **keys)
            rows = sorted(
                f"{text(window.key)}@{window.start_ms}={text(value)}" for window, value in found
            )
        self._forward(record.with_value(",".join(rows)))

    def _session_put(self, record: Record) -> None:
        if record.key is None:
            return
        store, options = self._store(), self._options
        key, at = record.key, record.timestamp
        session = Windowed(key, at, at + options["length"])
        if record.value is None:
            store.remove(session)
        else:
            store.put(session, record.value)
        query = options["query"]
        if query.endswith("find"):
            found = getattr(store, f"{query}_sessions")(key, max(0, at - options["back"]), at)
        else:
            found = getattr(store, query)(key)
        rows = [f"{session.start_ms}/{session.end_ms}={text(value)}" for session, value in found]
        self._forward(record.with_value(",".join(rows)))
