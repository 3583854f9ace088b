"""What `millstream top` tells of two looks at a cluster."""

from __future__ import annotations

from millstream.cli.top.command import Looks
from millstream.cli.top.rates import (
    GROUP_COLUMNS,
    GroupSample,
    Sample,
    broker_rows,
    group_rows,
    topic_rows,
)
from millstream.cli.top.screen import Section, screen_lines
from millstream.errors import NotLeaderOrFollower, RequestTimedOut
from millstream.model import TopicPartition

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
LEADERS = {A0: 1, A1: 2, B0: 2}


def looked(
    time_ms: int, ends: dict[TopicPartition, int], **groups: dict[TopicPartition, int]
) -> Sample:
    """Groups by their positions. Of each partition a client of its name is the reader."""
    return Sample(time_ms, ends, LEADERS, {
        name: GroupSample("Stable", 2, positions, {key: ends[key] - at for key, at in positions.items()},
                          {key: f"reader-of-{key}" for key in positions})
        for name, positions in groups.items()
    }, {"a": 2, "b": 1}, {})  # fmt: skip


BEFORE = looked(
    0, {A0: 0, A1: 100, B0: 500}, slow={A0: 0, A1: 60}, fast={A0: 0, A1: 0}, done={B0: 500}
)
NOW = looked(
    2_000, {A0: 40, A1: 160, B0: 500}, slow={A0: 10, A1: 70}, fast={A0: 40, A1: 150}, done={B0: 500}
)


def test_topics_are_told_by_what_comes_in_a_second() -> None:
    assert topic_rows(BEFORE, NOW) == [
        {"topic": "a", "partitions": 2, "records_s": 50},
        {"topic": "b", "partitions": 1, "records_s": 0},
    ]


def test_brokers_are_told_by_what_they_lead() -> None:
    assert broker_rows(BEFORE, NOW) == [
        {"broker": 1, "leads": 1, "records_s": 20},
        {"broker": 2, "leads": 2, "records_s": 30},
    ]


def test_the_group_that_is_most_behind_is_first_with_the_partition_that_is_slowest() -> None:
    rows = group_rows(BEFORE, NOW)
    assert [tuple(row[name] for name in GROUP_COLUMNS) for row in rows] == [
        ("slow", "Stable", 2, 120, 40, 10, "never", "a-1", 90, "reader-of-a-1"),
        ("fast", "Stable", 2, 10, -45, 95, "0 s", "a-1", 10, "reader-of-a-1"),
        ("done", "Stable", 2, 0, 0, 0, None, None, None, None),
    ]


def test_nothing_runs_backwards() -> None:
    """A group that was moved back, and a topic that was made anew."""
    before = looked(0, {A0: 100}, group={A0: 100})
    now = looked(1_000, {A0: 10}, group={A0: 0})
    (group,) = group_rows(before, now)
    assert (group["records_s"], group["lag"]) == (0, 10)
    assert topic_rows(before, now)[0]["records_s"] == 0


def test_what_is_new_has_no_rate_yet() -> None:
    (group,) = group_rows(looked(0, {}), looked(1_000, {A0: 100}, new={A0: 10}))
    assert (group["records_s"], group["lag_s"], group["lag"]) == (0, 0, 90)
    assert topic_rows(looked(0, {}), looked(1_000, {A0: 100}))[0]["records_s"] == 0


def rows(count: int) -> list[dict[str, object]]:
    return [{"name": f"name-{number}"} for number in range(count)]


def test_a_screen_is_shared_by_its_tables() -> None:
    told = screen_lines("head", [Section("few", rows(1), ["name"]), Section("many", rows(50), ["name"])], 80, 16)  # fmt: skip
    assert told[:5] == ["head", "", "few (1)", "NAME", "name-0"]
    assert told[6] == "many (50), 42 not shown"
    assert len(told) == 16


def test_lines_are_cut_at_the_edge_of_the_screen() -> None:
    told = screen_lines("a long head", [Section("title", rows(1), ["name"])], 4, 3)
    assert told == ["a lo", "", "titl"]
    assert "none" in screen_lines("head", [Section("title", [], ["name"])], 80, 24)


def test_rates_are_those_of_the_last_seconds() -> None:
    """A group that commits every five seconds neither stands still nor leaps."""
    times = iter(range(0, 60_000, 2_000))
    looks = Looks(lambda: looked(next(times), {}))
    spans = []
    for _ in range(12):
        looks.look()
        spans.append(looks.now.time_ms - looks.before.time_ms)
    assert spans == [2_000, 4_000, 6_000, 8_000, 10_000, 12_000, 14_000, *[16_000] * 5]


def test_a_cluster_that_does_not_answer_is_shown_as_it_was() -> None:
    answers = [looked(0, {A0: 1}), looked(2_000, {A0: 5})]

    def look() -> Sample:
        if not answers:
            raise RequestTimedOut("no\nanswer")
        return answers.pop(0)

    looks = Looks(look)
    looks.try_to_look()
    assert looks.head() == "4 records written in 2.0 s"
    looks.try_to_look()
    assert looks.head() == "no answer, this is how it was: no answer"
    assert looks.sections()[1].rows[0]["records_s"] == 2


def test_what_did_not_answer_is_told_in_the_head() -> None:
    """Their numbers are missing: without a word they look as if nothing came."""
    silent = {"a-1": NotLeaderOrFollower("not\nhere"), "group g": RequestTimedOut("late")}
    looks = Looks(lambda: looked(0, {A0: 1})._replace(silent=silent))
    assert looks.head() == "0 records written in 0.0 s; 2 did not answer: a-1: not here"


def test_partitions_without_a_leader_count() -> None:
    now = looked(1_000, {A0: 1})._replace(leaders={A0: 1})
    assert [(row["topic"], row["partitions"]) for row in topic_rows(now, now)] == [
        ("a", 2),
        ("b", 1),
    ]
