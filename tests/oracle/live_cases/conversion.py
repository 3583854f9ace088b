"""Makes live applications of recorded cases: which of them can be one, in which ways it is run, and in which portions its input comes.

The runner takes records by their time, the test driver as they are piped in. Three ways of running make both orders the same:

RECORDED  one partition. The input comes in portions in which a record of one topic is later than every record before it of the other
          topics of its sub-topology: the runner then takes them as they were piped in, however small its micro-batches are. Where more
          than that decides the order, a portion is one record: where a sub-topology reads several topics of which the application
          writes one, where times are not those of the records, and with a record cache, which the driver empties after each record.
          Outputs in their order, stores and dropped records must be those that Kafka Streams' own driver gave.
DRIVER    one to four partitions, one sub-topology. The same portions; in half of the cases the input is sorted by time, so that there
          are few. Expected is what our driver gives for the input of each partition alone.
TASKS     one to four partitions, several sub-topologies (or one, where input is read as it comes), portions by chance. Expected is for each task what the kernel of our driver
          gives, one record at a time, for what each of its micro-batches has read.

An operator that asks the wall clock how long its last emission is ago is run without that pause, and what Kafka Streams gave is then
replaced by what our driver gives.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from streams.case_runner import APPLICATION_ID, EMIT_INTERVALS, CaseRunner, encode, settings
from streams.spec_topology import SpecProcessorTopology, SpecTopology

from millstream.clients.producer.core.murmur2 import partition_for_key
from millstream.streams import StreamsBuilder, StreamsConfig, Topology, TopologyBuilder
from millstream.streams.config import TimeAcrossRepartitions
from millstream.streams.kernel import Headers
from millstream.streams.topology import StoreKind
from millstream.streams.topology.partition_counts import partition_counts

PARTITIONS_MAX = 4
SMALL_CACHE_BYTES = 100_000
"""Of a smaller one it counts who shares it."""
WINDOWED = (StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW, StoreKind.SESSION)
VALID_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
READ_AS_IT_COMES = "input is read as it comes"
CUT = 0.15
"""Portions end after so many of the records, by chance."""


class LeftOut(Exception):
    """The case cannot be run live; the argument is the reason."""


class Mode(StrEnum):
    RECORDED = "recorded"
    DRIVER = "driver"
    TASKS = "tasks"


class Input(NamedTuple):
    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers


@dataclass(frozen=True)
class Reference:
    """What our test driver does with the case in one partition; `is_recorded`: which is what Kafka Streams does, to the last byte."""

    outputs: dict[str, list[list]]
    stores: dict[str, list]
    dropped: int | None
    asked: frozenset[str | None]
    foreign_topics: frozenset[str]
    is_recorded: bool
    fails: bool


@dataclass(frozen=True)
class LiveCase:
    """`inputs` are those before the record that fails, and that one."""

    id: str
    spec: dict
    topology: Topology
    config: StreamsConfig
    inputs: tuple[Input, ...]
    piped: tuple[dict, ...]
    """The same as the case has them."""
    reference: Reference

    @property
    def text(self) -> str:
        return json.dumps(self.spec)

    @property
    def groups(self) -> dict[int, tuple[str, ...]]:
        """By sub-topology, the topics that it reads."""
        return {
            group.id: self.topology.topics_of(group, APPLICATION_ID).sources
            for group in self.topology.sub_topologies
            if not group.is_global
        }

    @property
    def global_topics(self) -> frozenset[str]:
        return frozenset(
            topic
            for group in self.topology.sub_topologies
            if group.is_global
            for topic in self.topology.topics_of(group, APPLICATION_ID).sources
        )

    @property
    def topics(self) -> list[str]:
        """Those that must exist before it starts."""
        return sorted({*self.spec["topics"], *self.reference.foreign_topics} | self._dead_letters)

    @property
    def _dead_letters(self) -> set[str]:
        return set() if self.config.dead_letter_topic is None else {self.config.dead_letter_topic}

    @property
    def can_restart(self) -> bool:
        """Whether everything that its processors know is in stores that outlive them.

        A record cache keeps rows that have left their window store, and which are looked at until it ends. What a small one holds decides when it
        gives out something, and after a restart it holds nothing. A suppression buffer knows the raw record of a row, which its dead letter
        has, only until then.
        """
        stores = self.topology.stores.values()
        has_late_letters = self.config.dead_letter_topic is not None and '"suppress"' in self.text
        has_cached_windows = self.config.cache_max_bytes and any(s.kind in WINDOWED for s in stores)
        return (
            "count_emit" not in self.text
            and not has_cached_windows
            and not has_late_letters
            and not self.has_small_cache
            and all(store.entries_max is None and store.logging for store in stores)
        )

    @property
    def has_small_cache(self) -> bool:
        return 0 < self.config.cache_max_bytes < SMALL_CACHE_BYTES

    @property
    def feedback_groups(self) -> set[int]:
        """The sub-topologies that read what the application writes beside other topics: which comes first is not decided."""
        written = {
            topic
            for group in self.topology.sub_topologies
            for topic in self.topology.topics_of(group, APPLICATION_ID).sinks
        }
        return {
            group
            for group, topics in self.groups.items()
            if len(topics) > 1 and any(topic in written for topic in topics)
        }

    @property
    def knows_offsets(self) -> bool:
        return "show_metadata" in self.text

    @property
    def begins_at_the_end(self) -> bool:
        """It reads what comes after its first start."""
        return '"reset": "latest"' in self.text

    def counts(self, partitions: int) -> dict[str, int]:
        """The partitions of all topics that are read. Raises TopologyError where so many cannot be."""
        topics = dict.fromkeys(self.topics, partitions)
        topics |= dict.fromkeys(self.global_topics, 1)
        matched = self.topology.with_pattern_topics(topics.keys())
        return partition_counts(matched, APPLICATION_ID, topics)


def ignored(_op: str, _key: object, _value: object) -> None:
    """What `peek` and `foreach` see stays in the workers."""


def live_case(case: dict, spec: dict) -> LiveCase:
    """Raises LeftOut."""
    expect = case["expect"]
    text = json.dumps(spec)
    if expect.get("error_phase") == "build":
        raise LeftOut("the topology is refused when it is built")
    if expect.get("error_phase") == "start":
        raise LeftOut("the application is refused when it starts")
    if not any("topic" in each for each in case["inputs"]):
        raise LeftOut("no record is piped in")
    if "wall_clock" in text:
        raise LeftOut("processors punctuate by the wall clock, which the driver moves")
    if "show_times" in text:
        raise LeftOut("outputs show the wall clock")
    if "show_metadata" in text and '"pattern"' in text:
        raise LeftOut(
            "outputs show offsets, which the driver counts for all topics of a pattern together"
        )
    if '"reset": "none"' in text:
        raise LeftOut("a topic has reset=none: the application must not start without offsets")
    spec, piped, is_changed = _without_wall_clock(case, spec, text)
    case = {**case, "inputs": piped, "expect": {} if is_changed else expect}
    reference = _reference(case, spec, is_recorded=not is_changed)
    if not all(
        VALID_NAME.fullmatch(topic) for topic in (*spec["topics"], *reference.foreign_topics)
    ):
        raise LeftOut("outputs go to topics whose names no broker takes")
    config, options = settings(spec)
    inputs = tuple(_input(spec, each) for each in piped)
    live = LiveCase(
        case["id"], spec, _topology(spec, options), config, inputs, tuple(piped), reference
    )
    _refuse_differences_of_the_driver(live)
    return live


def _refuse_differences_of_the_driver(case: LiveCase) -> None:
    read = {topic for topics in case.groups.values() for topic in topics} | case.global_topics
    if case.reference.fails and case.inputs[-1].topic not in read and "pattern" not in case.text:
        raise LeftOut("the driver refuses a record of a topic that nothing reads")
    has_cached_globals = any(
        case.topology.stores[name].caching for name in case.topology.global_stores
    )
    if case.has_small_cache and (len(case.groups) > 1 or has_cached_globals):
        raise LeftOut("sub-topologies share a small record cache, as tasks of the driver alone do")
    if '"max_bytes"' in case.text and len(case.groups) > 1:
        raise LeftOut("a buffer counts the bytes of topic names, and in those the application's id")


def _without_wall_clock(case: dict, spec: dict, text: str) -> tuple[dict, list[dict], bool]:
    """The specification and inputs without what depends on the wall clock, and whether that changes anything."""
    pauses = '"on_window_close"' in text or any(
        op["op"] in {"left_join", "outer_join"} and "windows" in op for op in spec["ops"]
    )
    config = spec.get("config", {})
    is_changed = pauses and any(config.get(name) != "0" for name in EMIT_INTERVALS)
    if is_changed:
        spec = {**spec, "config": {**config, **dict.fromkeys(EMIT_INTERVALS, "0")}}
    inputs = case["inputs"]
    if "error_at" in case["expect"]:
        inputs = inputs[: case["expect"]["error_at"] + 1]
    records = [each for each in inputs if each.get("ts", -1) >= 0]
    return spec, records, is_changed or len(records) < len(case["inputs"])


def _reference(case: dict, spec: dict, *, is_recorded: bool) -> Reference:
    runner = CaseRunner(case, spec)
    differences = runner.differences()
    actual = runner.actual
    if is_recorded and differences:
        raise LeftOut("our test driver differs from Kafka Streams")
    if "outputs" not in actual:
        raise LeftOut(f"not supported by our test driver: {differences}")
    outputs: dict[str, list[list]] = {}
    for rows in actual["outputs"]:
        for row in rows:
            outputs.setdefault(row[0], []).append(row)
    internal = {row[0] for rows in actual["internal"] for row in rows}
    asked = {each.get("key") for each in case["inputs"]} | runner._logged_keys()
    return Reference(
        outputs,
        actual.get("stores", {}),
        actual.get("dropped"),
        frozenset(each for each in asked if isinstance(each, str | None)),
        frozenset(topic for topic in internal if not topic.startswith(f"{APPLICATION_ID}-")),
        is_recorded,
        "error" in actual,
    )


def _topology(spec: dict, options: dict) -> Topology:
    if spec.get("api") == "topology":
        nodes = TopologyBuilder()
        SpecProcessorTopology(nodes).run(spec["ops"])
        return nodes.build()
    builder = StreamsBuilder(**options)
    SpecTopology(builder, ignored).run(spec["ops"])
    return builder.build()


def _input(spec: dict, given: dict) -> Input:
    types = spec["topics"][given["topic"]]
    headers = tuple(
        (name, None if value is None else value.encode())
        for name, value in given.get("headers", ())
    )
    key, value = encode(types["key"], given.get("key")), encode(types["value"], given.get("value"))
    return Input(given["topic"], 0, key, value, given["ts"], headers)


# How a case is run.


@dataclass(frozen=True)
class Way:
    """One way of running a case, by its seed."""

    mode: Mode
    seed: str
    partitions: int
    portions: tuple[tuple[Input, ...], ...]
    why_single: str
    """Why each portion is one record; empty where it is not."""


def ways(
    case: LiveCase, seed: int, modes: Sequence[Mode], *, reads_at_once: bool
) -> Iterator[Way | LeftOut]:
    """The ways in which it is run, and the reasons why others are left out.

    `reads_at_once`: what a portion has for a task is read before any of it is processed.
    """
    for mode in modes:
        name = f"{seed}/{case.id}/{mode}"
        try:
            yield _way(case, mode, name, random.Random(name), reads_at_once=reads_at_once)
        except LeftOut as reason:
            yield reason


def _way(
    case: LiveCase, mode: Mode, name: str, chance: random.Random, *, reads_at_once: bool
) -> Way:
    several = len(case.groups) > 1
    if not reads_at_once:
        _refuse_in_groups(case, mode)
    if mode is Mode.RECORDED:
        if max(case.counts(1).values()) > 1:
            raise LeftOut("recorded: internal topics have several partitions by themselves")
        why = _why_single(case) if reads_at_once else READ_AS_IT_COMES
        portions = _portions(case, case.inputs, chance, is_single=bool(why))
        return Way(mode, name, 1, tuple(portions), why)
    if mode is Mode.DRIVER and not reads_at_once:
        raise LeftOut(f"{mode}: {READ_AS_IT_COMES}")
    if reads_at_once and (mode is Mode.DRIVER) == several:
        raise LeftOut(f"{mode}: {'several sub-topologies' if several else 'one sub-topology'}")
    _refuse_partitions(case, mode)
    partitions = chance.randint(1, PARTITIONS_MAX)
    try:
        case.counts(partitions)
    except Exception as error:
        raise LeftOut(f"{mode}: the topology asks for other numbers of partitions") from error
    inputs = [
        each._replace(partition=_partition(case, each, partitions, chance)) for each in case.inputs
    ]
    if mode is Mode.TASKS:
        return Way(mode, name, partitions, tuple(_by_chance(inputs, chance)), "")
    if chance.random() < 0.5:
        inputs.sort(key=lambda each: each.timestamp)
    return Way(mode, name, partitions, tuple(_portions(case, inputs, chance, is_single=False)), "")


def _refuse_in_groups(case: LiveCase, mode: Mode) -> None:
    if "pattern" in case.text:
        raise LeftOut(f"{mode}: a pattern, which groups of the streams protocol do not have")
    if case.config.cache_max_bytes and len(case.groups) > 1:
        raise LeftOut(f"{mode}: a record cache, which gives out by commits, before another task")
    if mode is Mode.RECORDED and case.feedback_groups:
        raise LeftOut(f"{mode}: a task joins what others write while they go on")


def _refuse_partitions(case: LiveCase, mode: Mode) -> None:
    if case.config.cache_max_bytes:
        raise LeftOut(f"{mode}: a record cache, which gives another number of outputs by batch")
    if case.reference.fails:
        raise LeftOut(f"{mode}: a record fails, and other tasks go on")
    if case.knows_offsets:
        raise LeftOut(f"{mode}: outputs show offsets")
    if mode is Mode.TASKS and case.global_topics:
        raise LeftOut(f"{mode}: global stores, which are not part of a task")
    if _why_single(case) and mode is Mode.DRIVER:
        raise LeftOut(f"{mode}: {_why_single(case)}")


def _partition(case: LiveCase, given: Input, partitions: int, chance: random.Random) -> int:
    if given.topic in case.global_topics:
        return 0
    if given.key is None:
        return chance.randrange(partitions)
    return partition_for_key(given.key, partitions)


def _why_single(case: LiveCase) -> str:
    if case.config.cache_max_bytes:
        return "a record cache"
    if case.feedback_groups:
        return "a sub-topology reads what the application writes beside other topics"
    sources = {topic for topics in case.groups.values() for topic in topics}
    written = {
        topic
        for group in case.topology.sub_topologies
        for topic in case.topology.topics_of(group, APPLICATION_ID).sinks
    }
    if sources & written & case.spec["topics"].keys():
        return "the application reads a topic that it writes"
    has_own_times = '"timestamps"' in case.text or "timestamp.extractor" in case.text
    if has_own_times and any(len(topics) > 1 for topics in case.groups.values()):
        return "times are not those of the records"
    return ""


def _by_chance(inputs: Sequence[Input], chance: random.Random) -> Iterator[tuple[Input, ...]]:
    cuts = sorted(chance.sample(range(len(inputs)), min(len(inputs), chance.randint(0, 3))))
    for first, last in pairwise([0, *(cut for cut in cuts if cut), len(inputs)]):
        yield tuple(inputs[first:last])


def _portions(
    case: LiveCase, inputs: Sequence[Input], chance: random.Random, *, is_single: bool
) -> Iterator[tuple[Input, ...]]:
    """Cuts the input wherever the runner could take records in another order than they have."""
    portion: list[Input] = []
    for number, given in enumerate(inputs):
        fails = case.reference.fails and number == len(inputs) - 1
        must = is_single or fails or any(_is_unordered(case, each, given) for each in portion)
        if portion and (must or chance.random() < CUT):
            yield tuple(portion)
            portion = []
        portion.append(given)
    yield tuple(portion)


def _is_unordered(case: LiveCase, before: Input, given: Input) -> bool:
    if given.topic in case.global_topics:
        return before.topic not in case.global_topics  # it is read before every other
    if before.topic == given.topic or before.topic in case.global_topics:
        return False
    if before.partition != given.partition or before.timestamp < given.timestamp:
        return False
    groups = case.groups.values()
    is_pattern = not all(any(each.topic in topics for topics in groups) for each in (before, given))
    return is_pattern or any({before.topic, given.topic} <= set(topics) for topics in groups)


def with_application(case: LiveCase, application: str) -> StreamsConfig:
    return replace(
        case.config,
        application_id=application,
        time_across_repartitions=TimeAcrossRepartitions.KAFKA,
    )
