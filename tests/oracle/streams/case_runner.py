"""Runs one case of the oracle on the test driver and says where it differs from Kafka Streams."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from datetime import timedelta
from difflib import unified_diff

from streams.spec_functions import Unsupported, text, timestamps
from streams.spec_processors import java_headers
from streams.spec_topology import SpecProcessorTopology, SpecTopology, serde

from millstream.errors import ConfigError
from millstream.streams import (
    StoreFormat,
    StoreType,
    StreamsBuilder,
    StreamsConfig,
    TopologyBuilder,
)
from millstream.streams.config import OnError
from millstream.streams.errors import (
    ProcessorStateError,
    SerializationError,
    StreamsError,
    TopologyError,
)
from millstream.streams.serdes import Windowed
from millstream.streams.state import (
    KeyValueStore,
    PlainWindowStore,
    SessionStore,
    SessionStoreWithHeaders,
    TimestampedKeyValueStore,
    TimestampedWindowStore,
    VersionedKeyValueStore,
)
from millstream.streams.state.buffers.join import JoinBuffer
from millstream.streams.state.buffers.suppression import SuppressionBuffer
from millstream.streams.state.buffers.unmatched import UnmatchedStore
from millstream.streams.topology import StoreKind
from millstream.testing.streams.topology_test_driver import TopologyTestDriver

APPLICATION_ID = "app"
UNREAD_SETTINGS: set[str] = set()


def shown(value):
    """A key or value in the form of the expected results."""
    if isinstance(value, bytes | Windowed):
        return text(value)
    return value


def encode(serde_name: str, value) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, dict):
        return bytes.fromhex(value["hex"])
    if serde_name == "bytes":
        return bytes.fromhex(value.removeprefix("hex:"))
    return serde(serde_name).encode(value)


EMIT_INTERVALS = {
    "__emit.interval.ms.kstreams.windowed.aggregation__": "window_emit_interval_ms",
    "__emit.interval.ms.kstreams.outer.join.spurious.results.fix__": "join_emit_interval_ms",
}


def settings(spec: dict) -> tuple[StreamsConfig, dict]:
    """The application's configuration and the builder's keyword arguments."""
    config = {
        "default.key.serde": "string",
        "default.value.serde": "string",
        **spec.get("config", {}),
    }
    config = {name: value for name, value in config.items() if name not in UNREAD_SETTINGS}
    builder = {}
    if "dsl.store.suppliers.class" in config:
        builder["store_type"] = StoreType(config.pop("dsl.store.suppliers.class"))
    if "ensure.explicit.internal.resource.naming" in config:
        explicit = config.pop("ensure.explicit.internal.resource.naming")
        builder["explicit_names"] = explicit == "true"
    if "dsl.store.format" in config:
        builder["store_format"] = StoreFormat(config.pop("dsl.store.format"))
    if "topology.optimization" in config:
        builder["optimization"] = config.pop("topology.optimization")
    fields = {
        "default_key": serde(config.pop("default.key.serde")),
        "default_value": serde(config.pop("default.value.serde")),
    }
    if "processing.guarantee" in config:
        fields["processing_guarantee"] = config.pop("processing.guarantee")
    for name, field in (
        ("deserialization.exception.handler", "on_deserialization_error"),
        ("processing.exception.handler", "on_processing_error"),
    ):
        if name in config:
            fields[field] = OnError(config.pop(name))
    if "default.timestamp.extractor" in config:
        fields["default_timestamps"] = timestamps(config.pop("default.timestamp.extractor"))
    if "errors.dead.letter.queue.topic.name" in config:
        fields["dead_letter_topic"] = config.pop("errors.dead.letter.queue.topic.name")
    if "statestore.cache.max.bytes" in config:
        fields["cache_max_bytes"] = int(config.pop("statestore.cache.max.bytes"))
    for name, field in EMIT_INTERVALS.items():
        if (interval := config.pop(name, None)) is not None:
            fields[field] = int(interval)
    if config:
        raise Unsupported(f"setting {min(config)}")
    return StreamsConfig(APPLICATION_ID, **fields), builder


def error_name(error: BaseException) -> str:
    """Java's simple name for an error of ours."""
    names = (
        (TopologyError, "TopologyException"),
        (ProcessorStateError, "ProcessorStateException"),
        (StreamsError, "StreamsException"),
        (ConfigError, "ConfigException"),
        (ValueError, "IllegalArgumentException"),
    )
    return next((name for kind, name in names if isinstance(error, kind)), type(error).__name__)


def cause_name(error: BaseException, phase: str) -> str | None:
    cause = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    if cause is error:  # what a processor raises when it starts is wrapped by Kafka Streams
        return "StreamsException" if phase == "start" and isinstance(error, StreamsError) else None
    if isinstance(error, SerializationError):
        return "SerializationException" if "read" in str(error) else "ClassCastException"
    if isinstance(cause, struct.error | AttributeError | TypeError):  # a value of another type
        return "ClassCastException"
    return {"IllegalState": "IllegalStateException"}.get(type(cause).__name__, error_name(cause))


class CaseRunner:
    """One case: what Kafka Streams did is `case["expect"]`, what we do is gathered in `actual`."""

    driver = TopologyTestDriver
    """What runs the topology."""

    def __init__(self, case: dict, spec: dict) -> None:
        self._case = case
        self._spec = spec
        self._trace: list[list] = []
        self.actual: dict = {}

    def differences(self) -> list[str]:
        """One line for each difference; empty if there is none."""
        expect = self._case["expect"]
        try:
            self._run()
        except Unsupported as unsupported:
            return [f"not supported: {unsupported}"]
        found = []
        for field, wanted in expect.items():
            got = self.actual.get(field)
            if field == "describe":
                wanted, got = _sorted_topics(wanted), _sorted_topics(got or "")
            if field in {"outputs", "internal", "trace"}:
                found.extend(self._row_differences(field, wanted, got or []))
            elif wanted != got:
                found.append(f"{field}: {_difference(wanted, got)}")
        if "error" in self.actual and "error" not in expect:
            found.append(f"error: {self.actual['error']} {self.actual['message']}")
        return found

    def _row_differences(self, field: str, wanted: list, got: list) -> Iterator[str]:
        for number, rows in enumerate(wanted):
            ours = got[number] if number < len(got) else None
            if rows != ours:
                at = self._case["inputs"][number]
                yield (
                    f"{field} of input {number} {json.dumps(at)}: expected {_short(rows)}, got {_short(ours)}"
                )
                return

    def _run(self) -> None:
        spec = self._spec
        try:
            config, builder_options = settings(spec)
            topology = self._build(builder_options)
            self.actual["describe"] = topology.describe()
            if "topics" in self._case["expect"]:
                self.actual["topics"] = _topics(topology)
        except Unsupported:
            raise
        except Exception as error:  # noqa: BLE001  # its name is compared
            self._failed("build", error)
            return
        try:
            driver = self.driver(topology, config)
        except Exception as error:  # noqa: BLE001  # its name is compared
            self._failed("start", error)
            return
        with driver:
            if self._feed(driver):
                inputs = self._case["inputs"]
                asked = {each.get("key") for each in inputs} | self._logged_keys()
                self.actual["stores"] = _stores(driver, spec, inputs, asked)
                self.actual["dropped"] = driver.dropped_records

    def _build(self, builder_options: dict):
        if self._spec.get("api") == "topology":
            nodes = TopologyBuilder()
            SpecProcessorTopology(nodes).run(self._spec["ops"])
            return nodes.build()
        builder = StreamsBuilder(**builder_options)
        dsl = SpecTopology(builder, self._note)
        dsl.run(self._spec["ops"])
        if dsl.branches:
            self.actual["branches"] = dsl.branches
        return builder.build()

    def _feed(self, driver: TopologyTestDriver) -> bool:
        outputs = self.actual["outputs"] = []
        internal = self.actual["internal"] = []
        traces = self.actual["trace"] = []
        for number, given in enumerate(self._case["inputs"]):
            self._trace = []
            try:
                self._pipe(driver, given)
                self._drain(driver, outputs, internal)
            except Exception as error:  # noqa: BLE001  # its name is compared
                self._failed("input", error)
                self.actual["error_at"] = number
                traces.append(self._trace)
                return False
            traces.append(self._trace)
        return True

    def _pipe(self, driver: TopologyTestDriver, given: dict) -> None:
        if "advanceWallClock" in given:
            driver.advance_wall_clock(timedelta(milliseconds=given["advanceWallClock"]))
            return
        types = self._spec["topics"][given["topic"]]
        headers = tuple(
            (name, None if value is None else value.encode())
            for name, value in given.get("headers", ())
        )
        driver.pipe_bytes(
            given["topic"],
            encode(types["key"], given.get("key")),
            encode(types["value"], given.get("value")),
            timestamp=given["ts"],
            headers=headers,
        )

    def _drain(self, driver: TopologyTestDriver, outputs: list, internal: list) -> None:
        rows, internal_rows = [], []
        for topic in driver.produced_topics():
            types = self._spec["topics"].get(topic)
            for record in driver.read_bytes(topic):
                if types is None:
                    hexed = [None if b is None else b.hex() for b in (record.key, record.value)]
                    headers = _headers(record.headers, values=True)
                    timestamp = None if record.timestamp < 0 else record.timestamp
                    internal_rows.append([topic, *hexed, timestamp, headers])
                    continue
                key = None if record.key is None else serde(types["key"]).decode(record.key)
                value = None if record.value is None else serde(types["value"]).decode(record.value)
                headers = _headers(record.headers, values=types.get("header_values", True))
                rows.append([topic, shown(key), shown(value), record.timestamp, headers])
        outputs.append(rows)
        internal.append(internal_rows)

    def _logged_keys(self) -> set[str]:
        """As text, whatever the store: so the oracle finds keys to ask versioned stores for."""
        return {
            bytes.fromhex(key).decode(errors="replace")
            for rows in self.actual["internal"]
            for topic, key, *_ in rows
            if key is not None and topic.endswith("-changelog")
        }

    def _note(self, op_id: str, key, value) -> None:
        self._trace.append([op_id, shown(key), shown(value)])

    def _failed(self, phase: str, error: Exception) -> None:
        self.actual.update(error=error_name(error), error_phase=phase, message=str(error))
        cause = cause_name(error, phase)
        if cause is not None:
            self.actual["error_cause"] = cause


def _headers(headers, *, values: bool) -> list:
    if not values:
        return [[name] for name, _ in headers]
    return [[name, None if value is None else value.decode()] for name, value in headers]


def _difference(wanted, got) -> str:
    """Of descriptions the lines, and of objects the members, that differ; otherwise both values."""
    if isinstance(wanted, str) and isinstance(got, str) and "\n" in wanted:
        lines = unified_diff(
            wanted.split("\n"), got.split("\n"), "expected", "got", n=1, lineterm=""
        )
        return "\n" + "\n".join(lines)
    if isinstance(wanted, dict) and isinstance(got, dict):
        names = sorted(wanted.keys() | got.keys())
        return "; ".join(
            f"{name} {_difference(wanted.get(name), got.get(name))}"
            for name in names
            if wanted.get(name) != got.get(name)
        )
    return f"expected {_short(wanted)}, got {_short(got)}"


def _short(value) -> str:
    line = json.dumps(value)
    return line if len(line) < 2000 else line[:2000] + "…"


def _sorted_topics(description: str) -> str:
    """Descriptions are equal byte for byte but for the order of topics in one source."""
    lines = []
    for line in description.split("\n"):
        head, found, tail = line.partition("(topics: [")
        if found:
            names, _, rest = tail.partition("]")
            line = f"{head}{found}{', '.join(sorted(names.split(', ')))}]{rest}"
        lines.append(line)
    return "\n".join(lines)


def _topics(topology) -> dict:
    groups = {}
    for group in topology.sub_topologies:
        if group.is_global:
            continue
        topics = topology.topics_of(group, APPLICATION_ID)
        if not topics.sources:  # a pattern, whose topics are not known yet
            continue
        repartition = {
            name: {"config": dict(config)} for name, config in topics.repartition.items()
        }
        for name, count in topics.partitions.items():
            repartition[name]["partitions"] = count
        groups[str(group.id)] = {
            "sources": sorted(topics.sources),
            "sinks": sorted(set(topics.sinks)),
            "repartition": repartition,
            "changelogs": {name: {"config": config} for name, config in topics.changelogs.items()},
        }
    copartition = [sorted(each) for each in topology.copartition_groups(APPLICATION_ID)]
    return {"subtopologies": groups, "copartition": sorted(copartition, key=str)}


def _versions(store: VersionedKeyValueStore, inputs: list[dict], asked: set) -> Iterator[tuple]:
    """Every version of the keys asked for that the store finds for the time of an input, and the newest."""
    times = {each["ts"] for each in inputs if "ts" in each}
    for key in store.known_keys():
        if not isinstance(key, str) or key not in asked:
            continue  # such stores are asked for text only
        found = {store.get(key), *(store.get(key, at) for at in times)} - {None}
        for value, valid_from, _ in found:
            yield (text(key), valid_from), [shown(key), shown(value), valid_from]


def _order_of(key) -> tuple:
    if isinstance(key, Windowed):
        return (text(key.key), key.start_ms, key.end_ms)
    return (text(key), 0, 0)


def _known(timestamp: int) -> list[int]:
    """What is shown of it: -1 is none."""
    return [timestamp] if timestamp >= 0 else []


def _stores(driver: TopologyTestDriver, spec: dict, inputs: list[dict], asked: set) -> dict:
    chosen = {op["store"]["name"] for op in spec["ops"] if op["op"] == "add_state_store"}
    for op in spec["ops"]:
        if "processor" in op and op["op"] != "connect":
            chosen |= {each["name"] for each in op["processor"].get("provides", ())}
        joined = op.get("stream_joined", {})
        suppliers = (joined.get(f"{side}_supplier") for side in ("this", "other"))
        chosen |= {each["name"] for each in suppliers if each and each.get("impl") == "persistent"}
    with_headers = spec.get("config", {}).get("dsl.store.format", "").lower() == "headers"
    dumped = {}
    for name, store in sorted(driver.stores().items()):
        rows = []
        is_readable = store.spec.kind is not StoreKind.SUBSCRIPTIONS
        if isinstance(store, SuppressionBuffer | UnmatchedStore | JoinBuffer) or not is_readable:
            continue
        if isinstance(store, PlainWindowStore):
            for window, value in store.fetch_all():
                # Join stores in memory, and all with headers, are shown with their start as timestamp.
                plain = (store.spec.persistent and not with_headers) or name in chosen
                start = [] if plain else [window.start_ms]
                at = (text(window.key), window.start_ms)
                rows.append((at, [shown(window), shown(value), *start]))
        if isinstance(store, TimestampedWindowStore):
            for window, (value, timestamp) in store.fetch_all():
                at = (text(window.key), window.start_ms)
                rows.append((at, [shown(window), shown(value), *_known(timestamp)]))
        elif isinstance(store, VersionedKeyValueStore):
            rows += _versions(store, inputs, asked)
        elif isinstance(store, SessionStore):
            for session, value in store.find_all_sessions():
                at = (text(session.key), session.start_ms, session.end_ms)
                if isinstance(store, SessionStoreWithHeaders):
                    headers = java_headers(value.headers)
                    value = f"AggregationWithHeaders{{aggregation={text(value.aggregation)}, headers={headers}}}"
                rows.append((at, [shown(session), shown(value)]))
        elif isinstance(store, TimestampedKeyValueStore):
            for key, (value, timestamp) in store.all():
                rows.append((_order_of(key), [shown(key), shown(value), *_known(timestamp)]))
        elif isinstance(store, KeyValueStore):
            for key, value in store.all():
                rows.append((_order_of(key), [shown(key), shown(value)]))
        dumped[name] = [row for _, row in sorted(rows, key=lambda each: each[0])]
    return dumped
