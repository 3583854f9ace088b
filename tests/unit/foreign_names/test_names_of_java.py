"""Who writes Java's name of something in Kafka Streams is told what it is here, whatever class and name it is."""

from __future__ import annotations

import inspect
import re
from enum import Enum
from pathlib import Path

import pytest

from millstream import streams
from millstream.clients import NewTopic
from millstream.foreign_names.arguments import in_snake_case
from millstream.spark import RunnerOptions, SparkStreams
from millstream.streams import (
    EmitStrategy,
    JoinWindows,
    KafkaStreams,
    Materialized,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
    blocking,
    queries,
    serdes,
)
from millstream.streams.state import read_only
from millstream.testing.streams import topology_test_driver

ROOT = Path(__file__).resolve().parents[3]
METHODS = [
    line.split(".")
    for line in (ROOT / "tests/golden/streams_java_methods.txt").read_text().splitlines()
    if not line.startswith("#")
]
SETTINGS = [
    line.split()[0]
    for line in (ROOT / "tests/golden/streams_java_settings.txt").read_text().splitlines()
    if not line.startswith("#")
]
TO_INHERIT_FROM = {"Processor", "ProcessorContext", "RocksDBConfigSetter", "StateRestoreListener", "StateStoreContext"}  # fmt: skip
"""Protocols: a class of the user's own has the names, not we."""


def ours(kind: str) -> type | None:
    for home in (streams, queries, topology_test_driver, read_only):
        if kind in home.__all__ if hasattr(home, "__all__") else hasattr(home, kind):
            found = getattr(home, kind)
            return found if inspect.isclass(found) else None
    return None


def error_of(kind: type, name: str) -> str | None:
    """What is said to whoever asks an object of the class for the name; None if it is there."""
    if name in getattr(kind, "__dataclass_fields__", {}) or hasattr(kind, name):
        return None
    with pytest.raises(AttributeError) as error:
        getattr(an_object(kind), name)
    return str(error.value)


def an_object(kind: type) -> object:
    """One that nobody has initialized: what it does not have does not depend on that."""
    if issubclass(kind, Enum):
        return next(iter(kind))
    concrete = type(kind.__name__, (kind,), {})
    concrete.__abstractmethods__ = frozenset()  # type: ignore[attr-defined] - of abstract stores
    return concrete.__new__(concrete, *[None] * len(getattr(kind, "_fields", ())))


@pytest.mark.parametrize("kind", sorted({kind for kind, _ in METHODS} - TO_INHERIT_FROM))
def test_every_public_name_of_java_is_there_or_explained(kind: str) -> None:
    found = ours(kind)
    names = [name for each, name in METHODS if each == kind]
    for name in names:
        for spelled in {name, in_snake_case(name), f"{in_snake_case(name)}_"}:
            if found is None:
                continue
            told = error_of(found, spelled)
            assert told is None or ": here it is " in told, f"{kind}.{spelled}: {told}"


@pytest.mark.parametrize(
    "kind", sorted(kind for kind in {kind for kind, _ in METHODS} if not hasattr(read_only, kind))
)
def test_every_public_class_of_java_is_there_or_explained_by_the_import(kind: str) -> None:
    if ours(kind) is None:
        with pytest.raises(ImportError, match=f"millstream.streams has no {kind}: here it is "):
            getattr(streams, kind)


def test_the_page_for_those_who_come_from_java_has_every_setting() -> None:
    page = (ROOT / "docs/guide/streams/porting.md").read_text()
    table = page.split("\n## Settings\n")[1].split("\n## ")[0]
    named = set(re.findall(r"`([a-z_.]+)`", table))
    assert sorted(set(SETTINGS) - named) == []
    fields = set(inspect.signature(StreamsConfig).parameters) | {"application_id"}
    ours = {each for each in named if "_" in each and "." not in each}
    values = {"at_least_once"}
    assert {each for each in ours - fields if not hasattr(serdes, each)} == values


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_setting_of_java_is_there_or_explained(setting: str) -> None:
    fields = inspect.signature(StreamsConfig).parameters
    for spelled in {setting, setting.replace(".", "_")} - set(fields):
        with pytest.raises(TypeError) as error:
            StreamsConfig("app", **{spelled: "x"})  # type: ignore[arg-type] - that is the test
        told = str(error.value)
        assert told.startswith(f"StreamsConfig takes no {spelled}: ")
        for written in re.findall(r"write (\w+)=", told):
            assert written in fields


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (
            lambda: Materialized.as_("counts"),
            'Materialized has no as_: here it is Materialized("name"), or Materialized(supplier=StoreSupplier(...))',
        ),
        (
            lambda: Materialized("counts").withCachingDisabled(),
            "Materialized has no withCachingDisabled: here it is Materialized(caching=True), Materialized(caching=False)",
        ),
        (
            lambda: TimeWindows.of_size_and_grace(1, 2),
            "TimeWindows has no of_size_and_grace: here it is TimeWindows.tumbling(size, grace=)",
        ),
        (
            lambda: JoinWindows.ofTimeDifferenceWithNoGrace(1),
            "JoinWindows has no ofTimeDifferenceWithNoGrace: here it is JoinWindows.of(difference, grace=)",
        ),
        (
            lambda: EmitStrategy.onWindowClose(),
            "EmitStrategy has no onWindowClose: here it is EmitStrategy.ON_WINDOW_UPDATE, EmitStrategy.ON_WINDOW_CLOSE, an enum",
        ),
        (
            lambda: StreamsBuilder().stream("in").mapValues(str),
            "KStream has no mapValues: here it is map_values",
        ),
        (
            lambda: StreamsBuilder().stream("in").group_by_keys(),
            "KStream has no group_by_keys; did you mean group_by_key?",
        ),
        (
            lambda: queries.KeyQuery.withKey("a"),
            "KeyQuery has no withKey: here it is KeyQuery(key, skip_cache=)",
        ),
    ],
)
def test_a_name_of_java_is_answered_with_ours(wrong: object, told: str) -> None:
    with pytest.raises(AttributeError) as error:
        wrong()  # type: ignore[operator] - a function of no arguments
    assert str(error.value) == told


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (
            lambda: StreamsConfig({"application.id": "app"}),
            (
                "StreamsConfig takes no mapping; its settings are keyword arguments: StreamsConfig(**settings), "
                "with underscores: application.id is application_id"
            ),
        ),
        (
            lambda: StreamsConfig(**{"application.id": "app"}),
            "StreamsConfig takes no application.id: write application_id=",
        ),
        (
            lambda: StreamsConfig("app", bootstrap_servers="localhost:9092"),
            (
                "StreamsConfig takes no bootstrap_servers: it is a setting of the clients: "
                "the third argument of KafkaStreams, RunnerOptions on Spark"
            ),
        ),
        (
            lambda: StreamsConfig("app", num_threads=2),
            "StreamsConfig takes no num_threads; did you mean num_stream_threads?",
        ),
        (
            lambda: RunnerOptions(**{"bootstrap.servers": "localhost:9092"}),
            "RunnerOptions takes no bootstrap.servers: write bootstrap_servers=",
        ),
        (
            lambda: RunnerOptions(bootstrap_servers="localhost:9092", state_dir="/tmp"),
            "RunnerOptions takes no state_dir: write directory=",
        ),
        (
            lambda: NewTopic("orders", 3, topic_configs={}),
            "NewTopic takes no topic_configs: write configs=",
        ),
        (
            lambda: Materialized("counts", cache=True),
            "Materialized takes no cache; did you mean caching?",
        ),
    ],
)
def test_arguments_that_java_has_are_answered_with_ours(wrong: object, told: str) -> None:
    with pytest.raises(TypeError) as error:
        wrong()  # type: ignore[operator] - a function of no arguments
    assert str(error.value) == told


@pytest.mark.parametrize("application", [KafkaStreams, blocking.KafkaStreams])
def test_properties_in_place_of_a_configuration_are_refused_with_what_to_write(
    application: type,
) -> None:
    topology = StreamsBuilder()
    topology.stream("in").to("out")
    properties = {"application.id": "app", "bootstrap.servers": "localhost:9092"}
    with pytest.raises(TypeError, match="KafkaStreams: config must be a StreamsConfig, not dict"):
        application(topology.build(), properties, properties)


def test_properties_in_place_of_a_configuration_are_refused_on_spark_too() -> None:
    topology = StreamsBuilder()
    topology.stream("in").to("out")
    options = RunnerOptions(bootstrap_servers="localhost:9092")
    with pytest.raises(TypeError, match="SparkStreams: config must be a StreamsConfig, not dict"):
        SparkStreams(topology.build(), {"application.id": "app"}, None, options)  # type: ignore[arg-type] - that is the test


def test_what_is_wrong_inside_a_call_is_still_said() -> None:
    with pytest.raises(TypeError, match="Materialized: store must be a str, not int"):
        Materialized(1)  # type: ignore[arg-type] - that is the test


def test_what_is_there_is_found_as_before() -> None:
    windows = TimeWindows(60_000, 60_000)
    assert (windows.size_ms, windows.retention_ms) == (60_000, 60_000)
    assert EmitStrategy["ON_WINDOW_CLOSE"] is EmitStrategy.ON_WINDOW_CLOSE
    assert not hasattr(windows, "no_such_name")
    assert list(inspect.signature(TimeWindows).parameters) == ["size_ms", "advance_ms", "grace_ms"]
