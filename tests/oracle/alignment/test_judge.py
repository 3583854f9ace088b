"""The judge of `make oracle-alignment`: it takes records in the order of docs/adr/0021, and is the test driver where nothing is repartitioned."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from live_cases.cluster import Written
from live_cases.conversion import Input
from streams.generator import random_spec

from alignment.case import APPLICATION, Case, depth, made_case, random_case, sources
from alignment.comparison import (
    compared_topics,
    differences_by_record,
    differences_of_invariant,
    invariant,
)
from alignment.inputs import Pace, random_inputs
from alignment.judge import Verdict, judge
from alignment.orders import counted, orders_case
from millstream.streams.errors import StreamsError, TopologyError
from millstream.testing.streams.topology_test_driver import TopologyTestDriver

SEED = 5
CASES = 6
SPECS = 500


def text_topic(*, is_input: bool = False) -> dict:
    return {"key": "string", "value": "string"} | ({"in": {}} if is_input else {})


def stream(name: str) -> dict:
    return {"op": "stream", "id": name, "topic": name}


def sink(source: str, topic: str) -> dict:
    return {"op": "to", "from": source, "topic": topic}


def put(topic: str, partition: int, value: str, at: int) -> Input:
    return Input(topic, partition, b"k", value.encode(), at, ())


def written_to(verdict: Verdict, topic: str) -> list[str | None]:
    return [
        record.value and record.value.decode() for (t, _), rows in found(verdict).items() for record in rows if t == topic
    ]  # fmt: skip


def found(verdict: Verdict) -> dict[tuple[str, int], list[Written]]:
    """What an application has left that is right."""
    return {
        log: [sent.record for sents in by_task.values() for sent in sents]
        for log, by_task in verdict.logs().items()
    }


def passed_on(*inputs: Input) -> Case:
    """Values of one topic go through a repartition topic to `out`."""
    spec = {
        "name": "passed on",
        "topics": {"in": text_topic(is_input=True), "out": text_topic()},
        "ops": [
            stream("in"),
            {"op": "repartition", "id": "behind", "from": "in", "repartitioned": {"partitions": 1}},
            sink("behind", "out"),
        ],
    }
    return made_case("passed on", spec, {"in": 3, "out": 1}, [inputs])


def test_upstream_tasks_are_merged_by_origin_time() -> None:
    case = passed_on(
        put("in", 0, "a", 10), put("in", 0, "b", 40), put("in", 1, "c", 20), put("in", 1, "d", 30)
    )
    assert written_to(judge(case), "out") == ["a", "c", "d", "b"]


def test_an_upstream_task_keeps_its_order_for_origin_time_never_goes_back() -> None:
    case = passed_on(put("in", 0, "a", 50), put("in", 0, "late", 5), put("in", 1, "b", 40))
    assert written_to(judge(case), "out") == ["b", "a", "late"]


def test_of_equal_origin_times_the_smaller_partition_goes_first() -> None:
    case = passed_on(put("in", 2, "z", 10), put("in", 1, "y", 10), put("in", 0, "x", 10))
    assert written_to(judge(case), "out") == ["x", "y", "z"]


def merged(*inputs: Input, through: dict[str, str]) -> Case:
    """Two topics meet in one task, those of `through` behind repartition topics of these names."""
    ops: list[dict] = [stream("in1"), stream("in2")]
    streams = {"in1": "in1", "in2": "in2"}
    for source, name in through.items():
        streams[source] = f"behind {source}"
        options = {"name": name, "partitions": 1}
        ops.append({"op": "repartition", "id": streams[source], "from": source, "repartitioned": options})  # fmt: skip
    ops += [
        {"op": "merge", "id": "both", "from": streams["in1"], "other": streams["in2"]},
        sink("both", "out"),
    ]
    topics = {"in1": text_topic(is_input=True), "in2": text_topic(is_input=True), "out": text_topic()}  # fmt: skip
    spec = {"name": "merged", "topics": topics, "ops": ops}
    return made_case("merged", spec, {"in1": 1, "in2": 1, "out": 1}, [inputs])


def test_of_equal_origin_times_the_topic_whose_name_comes_first_goes_first() -> None:
    inputs = [put("in2", 0, "second", 10), put("in1", 0, "first", 10), put("in2", 0, "third", 11)]
    in_order = merged(*inputs, through={"in1": "a", "in2": "b"})
    assert written_to(judge(in_order), "out") == ["first", "second", "third"]
    in_the_other = merged(*inputs, through={"in1": "b", "in2": "a"})
    assert written_to(judge(in_the_other), "out") == ["second", "first", "third"]


def test_a_topic_of_the_cluster_beside_a_repartition_topic_counts_by_its_largest_time_so_far() -> (
    None
):
    inputs = [put("in2", 0, "a", 50), put("in2", 0, "late", 5), put("in1", 0, "b", 40)]
    case = merged(*inputs, through={"in1": "a"})
    assert written_to(judge(case), "out") == ["b", "a", "late"]


def test_without_a_repartition_topic_a_task_takes_the_smallest_timestamp() -> None:
    inputs = [put("in2", 0, "a", 30), put("in2", 0, "late", 5), put("in1", 0, "b", 40)]
    assert written_to(judge(merged(*inputs, through={})), "out") == ["a", "late", "b"]


def test_through_several_levels_a_record_keeps_the_origin_time_of_its_source() -> None:
    """The window of 0 to 10 goes out when 100 comes, with its own time of 3; it stands where 100 does."""
    window = {"type": "tumbling", "size": 10, "grace": 0}
    suppressed = {"until": "window_closes", "buffer": {}}
    spec = {
        "name": "windows",
        "topics": {"in": text_topic(is_input=True), "out": text_topic()},
        "ops": [
            stream("in"),
            {"op": "group_by_key", "id": "o1", "from": "in"},
            {"op": "windowed_by", "id": "o2", "from": "o1", "windows": window},
            {"op": "reduce", "id": "o3", "from": "o2", "fn": "last", "materialized": {"key": "string", "value": "string"}},
            {"op": "suppress", "id": "o4", "from": "o3", "suppressed": suppressed},
            {"op": "to_stream", "id": "o5", "from": "o4", "fn": "inner_key"},
            {"op": "repartition", "id": "o6", "from": "o5", "repartitioned": {"partitions": 1}},
            sink("o6", "out"),
        ],
    }  # fmt: skip
    inputs = [
        put("in", 0, "a", 3), put("in", 0, "closes a", 100), put("in", 1, "b", 5), put("in", 1, "closes b", 60)
    ]  # fmt: skip
    case = made_case("windows", spec, {"in": 2, "out": 1}, [inputs])
    (task,) = [key for key, sent in judge(case).sent.items() if sent[-1].record.topic == "out"]
    assert [(s.record.value, s.record.timestamp, s.origin) for s in judge(case).sent[task]] == [
        (b"b", 5, 60),
        (b"a", 3, 100),
    ]


def test_every_order_is_counted_in_the_order_of_the_rule_and_not_in_that_of_partitions() -> None:
    case = orders_case(4_000)
    assert counted(found(judge(case))) == 4_000
    by_upstream = judge(case, lambda each: sorted(each, key=lambda one: (one.upstream, one.at)))
    assert (
        counted(found(by_upstream)) == 1_750
    )  # 1,000, and of each other partition the last window


def test_a_case_depends_on_its_seed_and_number_alone() -> None:
    cases = [random_case(SEED, number) for number in (3, 4, 3)]
    assert cases[0].spec == cases[2].spec != cases[1].spec
    assert cases[0].portions == cases[2].portions
    assert judge(cases[0]).sent == judge(cases[2]).sent


def test_cases_have_one_to_three_levels_and_all_kinds_of_windows() -> None:
    cases = [random_case(SEED, number) for number in range(80)]
    assert {depth(case) for case in cases} >= {1, 2, 3}
    ops = [op for case in cases for op in case.spec["ops"]]
    kinds = {op["windows"]["type"] for op in ops if op["op"] == "windowed_by"}
    assert kinds == {"tumbling", "hopping", "sliding", "session"}
    wanted = {"suppress", "emit_strategy", "repartition", "merge", "to_table", "join", "left_join"}
    assert wanted | {"outer_join"} <= {op["op"] for op in ops}


@pytest.mark.parametrize("number", range(CASES))
def test_what_the_judge_says_has_no_differences_and_anything_else_has(number: int) -> None:
    case = random_case(SEED, number)
    verdict = judge(case)
    right = found(verdict)
    assert list(differences_by_record(case, verdict, right)) == []
    log = next(log for log in right if log[0] in compared_topics(case))
    without = right | {log: right[log][1:]}
    assert len(list(differences_by_record(case, verdict, without))) == 1
    twice = right | {log: [right[log][0], *right[log]]}
    assert len(list(differences_by_record(case, verdict, twice))) == 1


def test_two_records_of_one_task_that_change_places_are_a_difference() -> None:
    case = passed_on(put("in", 0, "a", 10), put("in", 0, "b", 40))
    right = found(judge(case))
    first, second = right["out", 0]
    swapped = right | {("out", 0): [second, first]}
    (line,) = differences_by_record(case, judge(case), swapped)
    assert line.startswith("out-0: order: record 0 of a task is b'k'=b'a'@10, found b'k'=b'b'@40")


def test_what_two_orders_of_arrival_have_in_common_is_the_last_count_of_a_window() -> None:
    case = orders_case(40)
    verdicts = [judge(case), judge(case, lambda each: sorted(each, key=lambda one: one.upstream))]
    common = invariant(case, verdicts)
    assert counted({log: list(rows.values()) for log, rows in common.rows.items()} | {
        log: list(counts) for log, counts in common.records.items()
    }) == 40  # fmt: skip
    assert list(differences_of_invariant(common, found(verdicts[1]))) == []
    lost = {log: rows[:-1] for log, rows in found(verdicts[1]).items()}
    assert list(differences_of_invariant(common, lost))


# Without a repartition.


def plain_cases() -> Iterator[Case]:
    """Random topologies of the oracle that repartition nothing, with input in several partitions."""
    for number in range(SPECS):
        rng = random.Random(f"{SEED}/{number}")
        spec = random_spec(f"plain-{number}", rng)
        if spec.get("api") == "topology" or spec.get("config") or "processor" in str(spec):
            continue
        inputs = {name: topic for name, topic in spec["topics"].items() if "in" in topic}
        if not all(is_plain(topic) for topic in inputs.values()):
            continue
        count = rng.randint(1, 4)
        partitions = dict.fromkeys(spec["topics"], count)
        pace = Pace(span_ms=500, records=10, disorder=0.3, late_ms=60)
        made = random_inputs(spec["topics"], partitions, pace, rng)
        try:
            case = made_case(f"plain-{number}", spec, partitions, [made])
        except TopologyError:
            continue
        read = {topic for group in case.topology.sub_topologies for topic in sources(case, group)}
        if read == inputs.keys() and not case.topology.global_stores:
            yield case


def is_plain(topic: dict) -> bool:
    return topic["key"] == "string" and topic["value"] in {"string", "long"}


def test_without_repartitions_the_judge_is_the_test_driver_fed_by_timestamps() -> None:
    compared = several = 0
    for case in plain_cases():
        if "timestamps" in str(case.spec) or "topic_fn" in str(case.spec):
            continue
        try:
            verdict = judge(case)
        except (StreamsError, AssertionError):  # functions that fail, and records without a key
            continue
        for group in case.topology.sub_topologies:
            topics = sources(case, group)
            several += len(topics) > 1
            for partition in range(case.counts[topics[0]]):
                sent = [sent.record for sent in verdict.sent[group.id, partition]]
                compared += len(sent)
                assert by_topic(sent) == by_topic(driven(case, topics, partition)), case.id
    assert compared > 1_000
    assert several > 3


def driven(case: Case, topics: Sequence[str], partition: int) -> list[Written]:
    """What the test driver writes for a partition of topics, of which none stands behind another."""
    waiting = {
        topic: [each for each in case.inputs if each[:2] == (topic, partition)] for topic in topics
    }
    config = replace(case.config, application_id=APPLICATION)
    with TopologyTestDriver(case.topology, config) as driver:
        while any(waiting.values()):
            heads = [(rows[0].timestamp, topic) for topic, rows in waiting.items() if rows]
            topic, _, key, value, timestamp, headers = waiting[min(heads)[1]].pop(0)
            driver.pipe_bytes(topic, key, value, timestamp=timestamp, headers=headers)
        return [
            Written(topic, -1, record.key, record.value, record.timestamp, tuple(record.headers))
            for topic in driver.produced_topics()
            for record in driver.read_bytes(topic)
        ]


def by_topic(records: Sequence[Written]) -> dict[str, list[tuple]]:
    """Without partitions, and without the changelogs of buffers, which are written at commits."""
    topics: dict[str, list[tuple]] = {}
    for topic, _, *rest in records:
        if "SUPPRESS" not in topic and "-store-changelog" not in topic:
            topics.setdefault(topic, []).append(tuple(rest))
    return topics
