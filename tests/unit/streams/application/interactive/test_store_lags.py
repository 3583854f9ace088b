"""How far stores are behind their changelogs: all the way for one that has not begun, not at all for an active one."""

from __future__ import annotations

from millstream.model import TopicPartition
from millstream.streams import Materialized, StreamsBuilder
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.application.interactive.store_lags import LagInfo, LagsOfStores
from millstream.streams.serdes import string

LOG = "app-counts-changelog"


def of_app() -> LagsOfStores:
    builder = StreamsBuilder()
    grouped = builder.stream("in", key=string(), value=string()).group_by_key()
    grouped.count(materialized=Materialized("counts"))
    grouped.count(materialized=Materialized("unlogged", logging=False))
    builder.table("plain", materialized=Materialized("rows"))
    builder.stream("copied").to("out")
    return LagsOfStores(builder.build(), "app")


def test_lags_are_those_of_stores_with_a_changelog() -> None:
    lags = of_app()
    offsets = {
        StreamsTaskId(0, 0): None,
        StreamsTaskId(0, 2): {LOG: 3},
        StreamsTaskId(0, 1): {},
        StreamsTaskId(1, 0): {"app-rows-changelog": 4},
        StreamsTaskId(2, 0): None,
    }
    changelogs = lags.changelogs(offsets)
    assert changelogs == {
        *(TopicPartition(LOG, number) for number in range(3)),
        TopicPartition("app-rows-changelog", 0),
    }
    found = lags.lags(offsets, dict.fromkeys(changelogs, 10))
    assert found == {
        "counts": {0: LagInfo(10, 10), 1: LagInfo(0, 10), 2: LagInfo(3, 10)},
        "rows": {0: LagInfo(4, 10)},
    }
    assert list(found["counts"]) == [0, 1, 2]
    assert [each.offset_lag for each in found["counts"].values()] == [0, 10, 7]


def test_a_store_that_is_ahead_of_what_was_asked_before_lacks_nothing() -> None:
    assert LagInfo(12, 10).offset_lag == 0
