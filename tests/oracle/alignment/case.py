"""One case: a topology with repartitions, the partitions of its topics, and its input; a seed and a number always give the same one."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from live_cases.conversion import Input
from streams.case_runner import settings
from streams.spec_topology import SpecTopology

from alignment.inputs import random_inputs, random_pace, random_partitions
from alignment.topologies import random_topology
from millstream.streams import StreamsBuilder, StreamsConfig, Topology
from millstream.streams.errors import TopologyError
from millstream.streams.topology import SubTopology
from millstream.streams.topology.partition_counts import partition_counts

APPLICATION: Final = "aligned"
"""Begins the names of internal topics, which come before all others then."""
ATTEMPTS_MAX: Final = 50
LATE_MS: Final = 40
SLICE_MS: Final = 100
"""Records that come live come in slices of so much time."""


@dataclass(frozen=True)
class Case:
    """`partitions`: of the topics that are not the application's own. `portions`: what is put at a time, one for a backlog.

    `internal`: partitions of those that are, where a coordinator has decided otherwise than an instance would: Kafka's does.
    """

    id: str
    spec: dict
    partitions: dict[str, int]
    portions: tuple[tuple[Input, ...], ...]
    topology: Topology
    config: StreamsConfig
    internal: Mapping[str, int] = field(default_factory=dict)

    @property
    def inputs(self) -> tuple[Input, ...]:
        return tuple(record for portion in self.portions for record in portion)

    @property
    def counts(self) -> dict[str, int]:
        """The partitions of every topic, by the names of the judge."""
        existing = {**self.partitions, **self.internal}
        return existing | partition_counts(self.topology, APPLICATION, existing)

    def config_of(self, application_id: str) -> StreamsConfig:
        return replace(self.config, application_id=application_id)


def random_case(seed: int, number: int, *, live: bool = False, beside: bool = False) -> Case:
    """`live`: its input comes in slices of time, and its results do not depend on the order of records that are in time.

    `beside`: a task of it reads a repartition topic and one that is none.
    """
    for attempt in range(ATTEMPTS_MAX):
        rng = random.Random(f"{seed}/{number}/{attempt}/{live}")
        grace_ms = SLICE_MS + LATE_MS if live else None
        spec = random_topology(f"{seed}-{number}", rng, grace_ms=grace_ms, beside=beside)
        partitions = random_partitions(spec["topics"], rng)
        pace = random_pace(rng, late_ms=LATE_MS if live else None)
        inputs = random_inputs(spec["topics"], partitions, pace, rng)
        try:
            case = made_case(
                f"{seed}/{number}", spec, partitions, _portions(inputs, rng, live=live)
            )
        except TopologyError:  # partition counts that do not fit
            continue
        if not goes_round(case):
            return case
    raise AssertionError(f"seed {seed} has no case {number}")


def made_case(
    name: str, spec: dict, partitions: dict[str, int], portions: Sequence[Sequence[Input]]
) -> Case:
    """Raises TopologyError for partition counts that do not fit."""
    config, options = settings(spec)
    builder = StreamsBuilder(**options)
    SpecTopology(builder, lambda *_: None).run(spec["ops"])
    given = tuple(tuple(portion) for portion in portions)
    case = Case(name, spec, partitions, given, builder.build(), config)
    assert case.counts, "every topic has partitions"
    return case


def levels(case: Case) -> list[SubTopology]:
    """The sub-topologies, writers before readers, without those that read what they write themselves, directly or not."""
    waiting = [group for group in case.topology.sub_topologies if not group.is_global]
    found: list[SubTopology] = []
    while waiting:
        written = {topic for group in waiting for topic in sinks(case, group)}
        ready = [group for group in waiting if not written & set(sources(case, group))]
        if not ready:
            break
        found += ready
        waiting = [group for group in waiting if group not in ready]
    return found


def goes_round(case: Case) -> bool:
    """Whether there are such sub-topologies, which read as records come."""
    return len(levels(case)) < len(case.topology.sub_topologies)


def depth(case: Case) -> int:
    """Through how many repartition topics a record goes at most."""
    reached: dict[str, int] = {}
    for group in levels(case):
        here = max(reached.get(topic, 0) for topic in sources(case, group))
        for topic in sinks(case, group):
            reached[topic] = max(reached.get(topic, 0), here + is_internal(topic))
    return max(reached.values(), default=0)


def is_internal(topic: str) -> bool:
    return topic.startswith(f"{APPLICATION}-")


def sources(case: Case, group: SubTopology) -> tuple[str, ...]:
    return case.topology.source_topics(group, APPLICATION)


def sinks(case: Case, group: SubTopology) -> tuple[str, ...]:
    return case.topology.topics_of(group, APPLICATION).sinks


def _portions(inputs: list[Input], rng: random.Random, *, live: bool) -> list[list[Input]]:
    """Within each the partitions come one after another, in any order; each keeps its own."""
    if not live:
        return [inputs]
    slices: dict[int, dict[tuple[str, int], list[Input]]] = {}
    newest: dict[tuple[str, int], int] = {}
    for record in inputs:
        log = (record.topic, record.partition)
        newest[log] = max(newest.get(log, 0), record.timestamp)
        parts = slices.setdefault(newest[log] // SLICE_MS, {})
        parts.setdefault(log, []).append(record)
    portions = []
    for _, parts in sorted(slices.items()):
        logs = list(parts.values())
        rng.shuffle(logs)
        portions.append([record for log in logs for record in log])
    return portions
