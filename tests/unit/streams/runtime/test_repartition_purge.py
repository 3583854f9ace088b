"""What has been read of repartition topics goes once in an interval, and nothing else goes."""

from __future__ import annotations

from millstream.model import TopicPartition
from millstream.streams.runtime.repartition_purge import RepartitionPurge

FIRST, SECOND = TopicPartition("app-by-value-repartition", 0), TopicPartition("in", 0)


def test_it_is_due_once_in_an_interval() -> None:
    purge = RepartitionPurge({FIRST.topic}, 100, now_ms=1_000)
    assert [purge.is_due(now_ms) for now_ms in (1_000, 1_099, 1_100)] == [False, False, True]
    purge.take({}, 1_150)
    assert [purge.is_due(now_ms) for now_ms in (1_249, 1_250)] == [False, True]


def test_without_repartition_topics_it_is_never_due() -> None:
    assert not RepartitionPurge((), 100, now_ms=0).is_due(1_000)


def test_only_what_has_moved_in_repartition_topics_is_taken() -> None:
    purge = RepartitionPurge({FIRST.topic}, 100, now_ms=0)
    assert purge.take({FIRST: 5, SECOND: 7}, 100) == {FIRST: 5}
    assert purge.take({FIRST: 5}, 200) == {}
    assert purge.take({FIRST: 3}, 300) == {}, "another owner had it meanwhile"
    assert purge.take({FIRST: 6}, 400) == {FIRST: 6}
