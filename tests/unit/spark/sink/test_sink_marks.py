"""The marks of an exactly-once sink as they stand in groups."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from millstream.spark.sink.marks import BatchMark, MarkUnreadable, StartMark, Target

HERE = Target("cluster", "out:id")
MARK = BatchMark("q", 7, "run", "w", records=12, digest=2**64 - 1, target=HERE)
START = StartMark(query="q", batch=7, run="run", write="w", writers=3, number=0)


def test_a_mark_comes_back_as_it_was_written() -> None:
    assert BatchMark.decode(MARK.encode()) == MARK
    assert StartMark.newest([START.encode()]) == START


@pytest.mark.parametrize(
    "metadata", ["", "text", "[]", "{}", '{"v":2,"query":"q"}', '{"v":1,"x":1}']
)
def test_what_no_sink_has_written_is_no_mark(metadata: str) -> None:
    assert BatchMark.decode(metadata) is None
    assert StartMark.newest([metadata]) is None


def test_each_kind_of_mark_is_read_as_itself() -> None:
    assert BatchMark.decode(START.encode()) is None
    assert StartMark.newest([MARK.encode()]) is None


def test_a_mark_of_an_older_release_is_understood_and_says_that_it_knows_no_topic() -> None:
    """As version 1 was written: without a target, and with another digest."""
    old = '{"v":1,"query":"q","batch":7,"run":"run","write":"w","records":12,"digest":99}'
    found = BatchMark.decode(old)
    assert found == replace(MARK, digest=99, target=Target(), is_of_old_release=True)


def test_a_mark_of_a_newer_release_is_refused() -> None:
    newer = json.dumps({**json.loads(MARK.encode()), "v": 3})
    for read in (BatchMark.decode, lambda text: StartMark.newest([text])):
        with pytest.raises(MarkUnreadable, match="go on with the release that wrote it"):
            read(newer)


def test_of_the_marks_of_starts_the_one_with_the_largest_number_is_the_newest() -> None:
    """They stand at other partitions each time, so that earlier ones are still there."""
    later = replace(START, number=1, run="run 2")
    assert StartMark.newest([later.encode(), START.encode(), "text"]) == later


def test_a_target_names_topics_by_name_and_id_and_the_cluster() -> None:
    assert str(Target.of("c", {"b": "2", "a": "1"})) == "a:1 b:2 in cluster c"
    assert Target.of("c", {"a": "1"}) != Target.of("c", {"a": "2"}), "made anew"
    assert Target.of("c", {"a": "1"}) != Target.of("d", {"a": "1"})
    assert Target.of(None, {}) == Target()


def test_a_mark_of_very_many_topics_is_short_enough_for_a_broker() -> None:
    ids = {f"topic-{'x' * 200}-{number}": "jxL4mxgKQ9mLRlBPhSTmWw" for number in range(500)}
    many = Target.of("cluster", ids)
    assert many.topics.startswith("500 topics:")
    assert len(replace(MARK, target=many).encode()) < 1_000
    assert many != Target.of("cluster", {**ids, next(iter(ids)): "another"})
