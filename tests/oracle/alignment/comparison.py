"""Where an application has left something else behind than the judge says.

Compared are the outputs, the repartition topics and the changelogs, partition by partition, all with keys, values, timestamps and headers:

- BY RECORD, a backlog without caches: each partition holds exactly the records that its tasks write, and those of each task stand in
  its order, as far as it can be told who wrote them: records that several tasks write alike are only counted. A partition
  that one task writes is equal record by record. The origin times in repartition topics are those of the judge.
- INVARIANT, input that comes live: of each partition of outputs and changelogs the records, or else the last row of each key, where the
  judge finds them the same in several orders of arrival.

Left out are changelogs of buffers, which are written at commits, and of joined streams, whose keys are numbered by each run of a task.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from live_cases.cluster import Written
from live_cases.comparison import BUFFERS

from alignment.case import APPLICATION, Case, is_internal, sources
from alignment.judge import Sent, TaskKey, Verdict
from millstream.streams.topology import StoreKind

ORIGIN_HEADER: Final = "_origin"
ORIGIN: Final = struct.Struct(">iq")
"""The partition of the task that wrote a record of a repartition topic, and its origin time."""
OF_BATCH: Final = struct.Struct(">i")
"""The partition alone: of the task that wrote this record and all that follow it in its batch, at their timestamps."""
SHOWN_MAX: Final = 3
UNCOMPARED: Final = (*BUFFERS, StoreKind.UNMATCHED)
Log = tuple[str, int]
"""A partition of a topic."""


def compared_topics(case: Case) -> list[str]:
    """By the names of the judge."""
    outputs = {name for name, topic in case.spec["topics"].items() if "in" not in topic}
    return sorted(outputs | _repartition_topics(case) | _changelogs(case))


def differences_by_record(
    case: Case, verdict: Verdict, found: Mapping[Log, Sequence[Written]]
) -> Iterator[str]:
    """One line for each partition. `found` has every record of the topics that are compared, by the names of the judge."""
    wanted, repartition = verdict.logs(), _repartition_topics(case)
    for topic in compared_topics(case):
        for partition in range(_partition_count(case, topic)):
            by_task = wanted.get((topic, partition), {})
            got = found.get((topic, partition), [])
            if topic in repartition:
                lines = _repartition_differences(by_task, got)
            else:
                sequences = [[each.record for each in sent] for sent in by_task.values()]
                lines = _differences(sequences, got)
            yield from (f"{topic}-{partition}: {line}" for line in lines)


def _repartition_differences(
    by_task: Mapping[TaskKey, Sequence[Sent]], got: Sequence[Written]
) -> Iterator[str]:
    if not any(name == ORIGIN_HEADER for record in got for name, _ in record.headers):
        sequences = [[each.record for each in sent] for sent in by_task.values()]
        return _differences(sequences, got)  # "kafka": records have no origin
    sequences = [
        [_with_origin(sent.record, partition, sent.origin) for sent in written]
        for (_, partition), written in by_task.items()
    ]
    return _differences(sequences, list(_told_one_by_one(got)))


def _with_origin(record: Written, partition: int, time: int) -> Written:
    header = (ORIGIN_HEADER, ORIGIN.pack(partition, time))
    return record._replace(headers=(*record.headers, header))


def _told_one_by_one(got: Sequence[Written]) -> Iterator[Written]:
    """Records of batches of which each begins with one that says who wrote it, as if each of them said so."""
    writer: int | None = None
    for record in got:
        headers = list(record.headers)
        if (
            headers
            and headers[0][0] == ORIGIN_HEADER
            and len(headers[0][1] or b"") == OF_BATCH.size
        ):
            (writer,) = OF_BATCH.unpack(headers.pop(0)[1] or b"")
        own = record._replace(headers=tuple(headers))
        tells = bool(headers) and headers[-1][0] == ORIGIN_HEADER
        yield own if tells or writer is None else _with_origin(own, writer, record.timestamp)


def _differences(sequences: Sequence[Sequence[Written]], got: Sequence[Written]) -> Iterator[str]:
    wanted = Counter(record for sequence in sequences for record in sequence)
    if wanted != Counter(got):
        yield _of_counts(wanted, Counter(got))
        return
    writers = Counter(record for sequence in sequences for record in set(sequence))
    for sequence in sequences:
        own = [record for record in sequence if writers[record] == 1]
        mine = set(own)
        order = [record for record in got if record in mine]
        if own != order:
            at = next(at for at, pair in enumerate(zip(own, order, strict=True)) if pair[0] != pair[1])  # fmt: skip
            yield f"order: record {at} of a task is {_shown(own[at])}, found {_shown(order[at])}"
            return


def _of_counts(wanted: Counter[Written], got: Counter[Written]) -> str:
    missing, more = list((wanted - got).elements()), list((got - wanted).elements())
    return (
        f"{wanted.total()} records expected, {got.total()} found; {len(missing)} missing, as {_shown(*missing[:SHOWN_MAX])}; "
        f"{len(more)} too many, as {_shown(*more[:SHOWN_MAX])}"
    )


def _shown(*records: Written) -> str:
    return ", ".join(f"{each.key!r}={each.value!r}@{each.timestamp}" for each in records) or "-"


# What does not depend on the order of arrival.


@dataclass(frozen=True)
class Invariant:
    """Of the topics that are compared: the partitions that hold the same records in every order, and the keys' last rows of others."""

    records: Mapping[Log, Counter[Written]]
    rows: Mapping[Log, Mapping[bytes | None, Written]]


def invariant(case: Case, verdicts: Sequence[Verdict]) -> Invariant:
    """What all of these, by several orders, have in common."""
    topics = set(compared_topics(case)) - _repartition_topics(case)
    all_logs = [verdict.logs() for verdict in verdicts]
    records: dict[Log, Counter[Written]] = {}
    rows: dict[Log, Mapping[bytes | None, Written]] = {}
    for log in sorted({log for logs in all_logs for log in logs if log[0] in topics}):
        by_task = [logs.get(log, {}) for logs in all_logs]
        counts = [Counter(sent.record for sents in each.values() for sent in sents) for each in by_task]  # fmt: skip
        if all(each == counts[0] for each in counts):
            records[log] = counts[0]
            continue
        last = [_last_rows(each) for each in by_task]
        if all(each == last[0] for each in last):
            rows[log] = last[0]
    return Invariant(records, rows)


def _last_rows(by_task: Mapping[TaskKey, Sequence[Sent]]) -> dict[bytes | None, Written]:
    """Of the keys that one task writes. Which sessions come and go on the way is a matter of order."""
    last: dict[bytes | None, Written] = {}
    writers: Counter[bytes | None] = Counter()
    for written in by_task.values():
        mine = {sent.record.key: sent.record for sent in written}
        writers.update(mine.keys())
        last |= mine
    return {
        key: record
        for key, record in last.items()
        if writers[key] == 1 and record.value is not None
    }


def differences_of_invariant(
    wanted: Invariant, found: Mapping[Log, Sequence[Written]]
) -> Iterator[str]:
    for log, counts in wanted.records.items():
        got = Counter(found.get(log, ()))
        if got != counts:
            yield f"{log[0]}-{log[1]}: {_of_counts(counts, got)}"
    for log, rows in wanted.rows.items():
        last = {record.key: record for record in found.get(log, ())}
        got = Counter(last[key] for key in rows if key in last)
        if got != Counter(rows.values()):
            yield f"{log[0]}-{log[1]}: last rows: {_of_counts(Counter(rows.values()), got)}"


# Topics.


def _repartition_topics(case: Case) -> set[str]:
    return {
        topic
        for group in case.topology.sub_topologies
        for topic in sources(case, group)
        if is_internal(topic)
    }


def _changelogs(case: Case) -> set[str]:
    return {
        case.topology.changelog_topic(store.name, APPLICATION)
        for store in case.topology.stores.values()
        if store.logging and store.kind not in UNCOMPARED and not store.retain_duplicates
    }


def _partition_count(case: Case, topic: str) -> int:
    if topic in case.counts:
        return case.counts[topic]
    return max(case.counts.values())  # a changelog has as many as its tasks
