from __future__ import annotations

import pytest

from millstream.cli.copy.bookmark import SOURCES_MAX, Bookmark
from millstream.clients import OffsetAndMetadata
from millstream.errors import ConfigError
from millstream.model import TopicPartition

MARK = Bookmark("nightly", "a (1 in cluster x)", "b (2 in cluster y)", "b", 2)


def test_each_partition_of_the_target_holds_some_of_the_source() -> None:
    offsets = MARK.offsets({0: 5, 1: 7, 2: 11})
    assert {each.partition: found.offset for each, found in offsets.items()} == {0: 16, 1: 7}
    assert offsets[TopicPartition("b", 0)].metadata == (
        '{"source":"a (1 in cluster x)","target":"b (2 in cluster y)","next":{"0":5,"2":11}}'
    )


def test_what_is_written_is_read() -> None:
    places = {0: 5, 1: 7, 2: 11}
    assert MARK.next_offsets(MARK.offsets(places).values()) == places
    assert MARK.next_offsets([]) == {}


def test_the_most_that_is_held_is_less_than_a_broker_takes() -> None:
    """offset.metadata.max.bytes is 4096."""
    name = "t" * 249
    topic = f"{name} ({'i' * 22} in cluster {'c' * 22})"
    mark = Bookmark("nightly", topic, topic, "b", 1)
    (found,) = mark.offsets(dict.fromkeys(range(SOURCES_MAX), 2**53)).values()
    assert len(found.metadata) < 4096


@pytest.mark.parametrize(
    "metadata", ["", "{}", "[]", '{"source":"a","target":"b","next":[1]}', "rubbish"]
)
def test_offsets_of_somebody_else_are_no_bookmark(metadata: str) -> None:
    with pytest.raises(ConfigError, match="are no bookmark of a copy: choose another name"):
        MARK.next_offsets([OffsetAndMetadata(5, metadata)])


def test_a_bookmark_of_other_topics_is_refused() -> None:
    other = Bookmark("nightly", "a (9 in cluster x)", MARK.target, "b", 2)
    with pytest.raises(ConfigError, match="is of a copy of a \\(9 in cluster x\\) to b"):
        MARK.next_offsets(other.offsets({0: 5}).values())
