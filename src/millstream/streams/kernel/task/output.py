"""The data that a task gives to its runner: records that it has produced, and the contents of a commit. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from millstream.streams.kernel.columns.batch import SinkBatch
from millstream.streams.kernel.task.upstreams import DoneBehind


@dataclass(slots=True)
class TaskOutput:
    """Records that a task has produced since its last output: those of sinks and those of changelogs, by topic.

    The records of a topic are in the order of record at a time. Topics are in the order of their first
    records where rows go one by one (`batch_records_max=1`); otherwise the order of topics says nothing, as
    between topics of a broker.
    """

    sinks: dict[str, SinkBatch] = field(default_factory=dict)
    changelogs: dict[str, SinkBatch] = field(default_factory=dict)
    processed: int = 0
    punctuated: int = 0
    """The number of punctuations."""
    punctuation_ms: int = 0
    """How long they took, by the clock of `measure_with`."""


@dataclass(frozen=True, slots=True)
class PreparedCommit:
    """The contents of one commit: the next offset to read of each input topic, and output not taken yet.

    `partition_times`: by input topic, the largest timestamp taken so far. `store_times`: by store, what its operators
    remember. `held`: by input topic of which records behind the offset are done, which ones. `origin_time`: how far the
    task has come by the times of the sources. `StreamTask.resume` takes all of them.
    """

    offsets: Mapping[str, int]
    output: TaskOutput
    partition_times: Mapping[str, int]
    store_times: Mapping[str, Mapping[str, int]]
    origin_time: int = -1
    held: Mapping[str, DoneBehind] = field(default_factory=dict)
