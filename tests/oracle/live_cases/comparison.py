"""What an application must have left behind, by the way it was run, and where it has not."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from streams.case_runner import CaseRunner

from live_cases.cluster import Written
from live_cases.conversion import WINDOWED, LiveCase, Mode, Way
from live_cases.found import Found, Rows, TaskKey
from millstream.streams.topology import StoreKind, StoreSpec
from millstream.testing.streams.topology_test_driver import TopologyTestDriver
from tests.integration.streams.runtime.interruptions import ANY, OneByOne

SHOWN = 600
PLACE_OF_A_DEAD_LETTER = {
    f"__streams.errors.{name}" for name in ("stacktrace", "partition", "offset")
}
BUFFERS = (StoreKind.SUPPRESSION_BUFFER, StoreKind.JOIN_BUFFER)


def differences(case: LiveCase, way: Way, found: Found) -> list[str]:
    """One line for each."""
    if case.reference.fails != bool(found.failure):
        wanted = "a failure" if case.reference.fails else "none"
        return [f"expected {wanted}, got {found.failure or 'none'}"]
    match way.mode:
        case Mode.RECORDED:
            return list(_from_the_reference(case, found))
        case Mode.DRIVER:
            return list(_from_the_driver(case, way, found))
        case Mode.TASKS:
            return list(_from_the_tasks(case, way, found))


def _difference(what: str, wanted: object, got: object) -> Iterator[str]:
    if wanted != got:
        yield f"{what}: expected {_short(wanted)}, got {_short(got)}"


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=repr)
    return text if len(text) < SHOWN else text[:SHOWN] + "…"


# One partition: what Kafka Streams has given.


def _from_the_reference(case: LiveCase, found: Found) -> Iterator[str]:
    reference = case.reference
    outputs = _shown_outputs(case, found)
    for topic in sorted(reference.outputs.keys() | outputs.keys()):
        wanted, got = reference.outputs.get(topic, []), outputs.get(topic, [])
        if _writers(case, topic) > 1:
            wanted, got = sorted(wanted, key=json.dumps), sorted(got, key=json.dumps)
        elif _is_written_by(case, topic, case.feedback_groups):
            wanted, got = sorted(wanted, key=_key), sorted(got, key=_key)  # each key's in order
        yield from _rows(f"outputs of {topic}", wanted, got)
    if reference.fails:
        return
    for which, stores in (("kept", found.kept), ("restored", found.restored)):
        for name, wanted in reference.stores.items():
            if _is_lost(case, name, is_kept=stores is found.kept):
                continue
            got = stores.shown.get(name, [])
            if case.config.cache_max_bytes and _forgets_rows(case.topology.stores[name]):
                wanted = [
                    row for row in wanted if row in got
                ]  # a cache keeps rows that have left their store
            if case.config.cache_max_bytes and not case.topology.stores[name].keeps_timestamps:
                wanted, got = [row[:2] for row in wanted], [row[:2] for row in got]  # and times
            yield from _rows(f"{which} store {name}", wanted, got)
    if not case.global_topics:
        yield from _difference("dropped records", reference.dropped, found.dropped)


def _forgets_rows(store: StoreSpec) -> bool:
    return store.kind in WINDOWED or store.entries_max is not None


def _rows(what: str, wanted: Sequence[object], got: Sequence[object]) -> Iterator[str]:
    if wanted == got:
        return
    at = next(
        (n for n, pair in enumerate(zip(wanted, got, strict=False)) if pair[0] != pair[1]),
        min(len(wanted), len(got)),
    )
    yield (
        f"{what}: {len(wanted)} rows expected, {len(got)} found; the first that differs is row {at}: "
        f"expected {_short(wanted[at : at + 3])}, got {_short(got[at : at + 3])}"
    )


@dataclass(frozen=True)
class _Produced:
    """What a test driver says of what was written."""

    by_topic: Mapping[str, list[Written]]

    def produced_topics(self) -> list[str]:
        return sorted(self.by_topic)

    def read_bytes(self, topic: str) -> list[Written]:
        return self.by_topic[topic]


def _shown_outputs(case: LiveCase, found: Found) -> dict[str, list[list]]:
    """What was written to topics that are no sources, as the reference shows it."""
    by_topic: dict[str, list[Written]] = {}
    for _, record in found.records:
        by_topic.setdefault(record.topic, []).append(record)
    piped = Counter(each.topic for each in case.inputs)
    for topic, count in piped.items():  # what the application adds comes after or between
        if len(by_topic.get(topic, [])) == count:
            by_topic.pop(topic, None)
    runner = CaseRunner({"inputs": []}, case.spec)
    rows: list[list[list]] = []
    runner._drain(_Produced(by_topic), rows, [])
    outputs: dict[str, list[list]] = {}
    for row in rows[0]:
        outputs.setdefault(row[0], []).append(row)
    return outputs


def _key(row: Sequence[object]) -> str:
    return json.dumps(row[1])


def _is_written_by(case: LiveCase, topic: str, groups: Collection[int]) -> bool:
    return any(
        group.id in groups and topic in case.topology.topics_of(group, "app").sinks
        for group in case.topology.sub_topologies
    )


def _writers(case: LiveCase, topic: str) -> int:
    """How many sub-topologies may write a topic; those that choose their topics may write any."""
    if "topic_fn" in case.text:
        return len(case.groups)
    return sum(
        topic in case.topology.topics_of(group, "app").sinks
        for group in case.topology.sub_topologies
    )


def _is_lost(case: LiveCase, name: str, *, is_kept: bool) -> bool:
    """A store without a changelog is not restored, nor kept where it is in memory."""
    store = case.topology.stores[name]
    is_logged = store.logging or name in case.topology.global_stores
    return not is_logged and not (is_kept and store.persistent)


def _forgets_by_use(case: LiveCase, name: str) -> bool:
    """Which rows a store of few entries keeps depends on reads, which its changelog does not have; Kafka's MemoryLRUCache is the same."""
    return case.topology.stores[name].entries_max is not None


# Several partitions.


def _from_the_driver(case: LiveCase, way: Way, found: Found) -> Iterator[str]:
    (number,) = case.groups
    wanted: Counter[tuple] = Counter()
    rows: dict[TaskKey, dict[str, Rows]] = {}
    times = [given for portion in way.portions for given in portion]
    dropped = 0
    for partition in range(way.partitions):
        with TopologyTestDriver(case.topology, case.config) as driver:
            for given in times:
                if given.partition != partition and given.topic not in case.global_topics:
                    continue
                topic, _, key, value, timestamp, headers = given
                driver.pipe_bytes(topic, key, value, timestamp=timestamp, headers=headers)
            for topic in set(driver.produced_topics()) & found.outside.keys():
                wanted.update(
                    (topic, each.key, each.value, each.timestamp, tuple(each.headers))
                    for each in driver.read_bytes(topic)
                )
            rows[number, partition] = {
                name: dict(store.rows.scan(b"", None))
                for name, store in driver.stores().items()
                if name not in case.topology.global_stores
            }
            dropped += driver.dropped_records
    put: Counter[tuple] = Counter((each.topic, *each[2:]) for each in times)
    got: Counter[tuple] = Counter((each.topic, *each[2:]) for _, each in found.records)
    yield from _multisets(_comparable(wanted + put), _comparable(got))
    yield from _stores_differences(case, rows, found, of_offsets=False)
    if not case.global_topics:
        yield from _difference("dropped records", dropped, found.dropped)


def _comparable(records: Counter[tuple]) -> Counter[tuple]:
    """Dead letters say where the record was, and what called the function that failed: both differ."""
    comparable: Counter[tuple] = Counter()
    for (*rest, headers), count in records.items():
        same = tuple((n, None if n in PLACE_OF_A_DEAD_LETTER else value) for n, value in headers)
        comparable[*rest, same] += count
    return comparable


def _from_the_tasks(case: LiveCase, way: Way, found: Found) -> Iterator[str]:
    topology = case.topology.with_own_changelogs().with_pattern_topics(found.outside)
    alone = {key: OneByOne(topology, key, found.config) for key in found.positions}
    try:
        for key, one in alone.items():
            for read in _read_by(key, found):
                one.take(read)
        yield from _tasks_differences(case, way, alone, found)
    finally:
        for one in alone.values():
            one.close()


def _read_by(key: TaskKey, found: Found) -> Iterator[dict[str, list]]:
    """What each micro-batch of a task has read, by topic."""
    logs: dict[str, list] = {}
    for offset, record in found.records:
        if record.partition == key[1]:
            row = (record.key, record.value, record.timestamp, record.headers)
            logs.setdefault(record.topic, []).append((offset, row))
    begin: dict[str, int] = {}
    for position in found.positions[key]:
        yield {
            topic: [each for each in logs.get(topic, []) if begin.get(topic, 0) <= each[0] < end]
            for topic, end in position.items()
        }
        begin = position


def _tasks_differences(
    case: LiveCase, way: Way, alone: Mapping[TaskKey, OneByOne], found: Found
) -> Iterator[str]:
    put = Counter(_placed(Written(*each)) for portion in way.portions for each in portion)
    wanted = Counter(
        _placed(Written(*record)) for one in alone.values() for record in one.written(found.counts)
    )
    got = Counter(_placed(record) for _, record in found.records)
    yield from _multisets(_comparable(wanted + put), _comparable(got))
    rows = {
        key: {name: rows for name, (rows, _) in one.stores().items()} for key, one in alone.items()
    }
    yield from _stores_differences(case, rows, found, of_offsets=True)


def _placed(record: Written) -> Written:
    """A record without a key may go to any partition."""
    return record._replace(partition=ANY) if record.key is None else record


def _multisets(wanted: Counter[tuple], got: Counter[tuple]) -> Iterator[str]:
    missing, more = list((wanted - got).elements()), list((got - wanted).elements())
    if missing or more:
        yield (
            f"outputs: {wanted.total()} records expected, {got.total()} found; {len(missing)} are missing, as {_short(missing[:3])}, "
            f"{len(more)} too many, as {_short(more[:3])}"
        )


def _stores_differences(
    case: LiveCase,
    wanted: Mapping[TaskKey, Mapping[str, Rows]],
    found: Found,
    *,
    of_offsets: bool,
) -> Iterator[str]:
    """`of_offsets`: the same records had the same offsets, which rows of buffers hold."""
    for which, stores in (("kept", found.kept), ("restored", found.restored)):
        for key, mine in sorted(wanted.items()):
            for name, rows in mine.items():
                got = stores.rows.get(key, {}).get(name, {})
                if not of_offsets and case.topology.stores[name].kind in BUFFERS:
                    rows, got = dict.fromkeys(rows, b""), dict.fromkeys(got, b"")
                is_lost = _is_lost(case, name, is_kept=which == "kept")
                if rows != got and not (
                    is_lost or (which == "restored" and _forgets_by_use(case, name))
                ):
                    yield f"{which} store {name} of task {key}: expected {_short(_sorted(rows))}, got {_short(_sorted(got))}"


def _sorted(rows: Rows) -> list:
    return sorted(rows.items())
