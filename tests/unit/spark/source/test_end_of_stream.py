"""The record that ends a partition, and what a checkpoint says of it."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from millstream.clients import ConsumerRecord
from millstream.errors import ConfigError
from millstream.model import Offset, TopicPartition
from millstream.spark.source.end_of_stream import (
    EndOfStreamFailed,
    EndOfStreamOptions,
    EndScope,
    ends_in,
    first_end,
    has_query_end,
    has_query_ended,
    not_ended,
    parse_end_of_stream,
    reached,
    with_ends,
)
from millstream.spark.source.whole_records import records_of

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
BY_PARTITION = EndOfStreamOptions("m:f")
BY_QUERY = EndOfStreamOptions("m:f", EndScope.QUERY)
NUMBER = 7


def is_end(record: ConsumerRecord) -> bool:
    return record.value == b"end"


def records(*values: bytes) -> Iterator[ConsumerRecord]:
    for offset, value in enumerate(values, 5):
        yield ConsumerRecord("t", 1, offset, 0, value=value)


def test_the_first_record_that_the_function_is_true_of_is_the_end() -> None:
    assert first_end(BY_PARTITION, is_end, records(b"a", b"end", b"end")) == Offset(6)
    assert first_end(BY_PARTITION, is_end, records(b"a", b"b")) is None


def test_no_record_behind_the_end_is_looked_at() -> None:
    seen = []

    def is_first(record: ConsumerRecord) -> bool:
        seen.append(record.offset)
        return True

    assert first_end(BY_PARTITION, is_first, records(b"a", b"b")) == Offset(5)
    assert seen == [5]


def test_a_function_that_raises_is_one_sentence_that_names_the_record() -> None:
    def raises(_record: ConsumerRecord) -> bool:
        raise KeyError("kind\nof record")

    with pytest.raises(EndOfStreamFailed) as failed:
        first_end(BY_PARTITION, raises, records(b"a"))
    sentence = str(failed.value)
    assert "m:f does not say whether t-1 offset 5 ends" in sentence
    assert "it raised KeyError: 'kind" in sentence
    assert "\n" not in sentence
    assert str(pickle.loads(pickle.dumps(failed.value))) == sentence  # as Spark hands it on


@pytest.mark.parametrize("answer", [None, 1, "yes"])
def test_a_function_answers_true_or_false(answer: object) -> None:
    with pytest.raises(EndOfStreamFailed, match=rf"t-1 offset 5 .* it returned {answer!r}, and"):
        first_end(BY_PARTITION, lambda _: answer, records(b"a"))


def test_the_function_is_given_whole_records() -> None:
    rows = pa.RecordBatch.from_pydict(
        {
            "key": [b"k", None],
            "value": [None, b"v"],
            "offset": [3, 5],
            "timestamp": [1_000, -1],
            "headers": [[{"key": "h", "value": b"x"}], []],
            "timestampType": [1, 0],
            "leaderEpoch": [4, -1],
        }
    )
    first, second = records_of(T0, rows)
    assert (first.topic, first.partition, first.offset, first.timestamp_ms) == ("t", 0, 3, 1_000)
    assert (first.key, first.value, first.headers) == (b"k", None, (("h", b"x"),))
    assert (first.timestamp_type.name, first.leader_epoch) == ("LOG_APPEND_TIME", 4)
    assert (second.offset, second.value, second.headers) == (5, b"v", ())


def test_the_checkpoint_knows_what_has_ended() -> None:
    start: dict[str, Any] = {"v": 1, "offsets": {"t": {"0": 57, "1": 3}}, "kept": 1}
    document = with_ends(start, BY_PARTITION, {T0: Offset(57)})
    assert document == start | {
        "endOfStream": {"scope": "partition", "ends": {"t": {"0": 57}}},
    }
    assert ends_in(document, BY_PARTITION) == {T0: 57}
    assert ends_in(start, BY_PARTITION) == {}
    assert with_ends(document, BY_PARTITION, {}) == start


def test_without_the_option_nothing_has_ended() -> None:
    document = with_ends({"v": 1, "offsets": {}}, BY_QUERY, {T0: Offset(57)})
    assert ends_in(document, None) == {}
    assert with_ends(document, None, {T0: Offset(57)}) == {"v": 1, "offsets": {}}


@pytest.mark.parametrize("damaged", [5, {"ends": [0]}, {"scope": "query"}])
def test_a_checkpoint_that_is_damaged_is_refused(damaged: object) -> None:
    with pytest.raises(ConfigError):
        ends_in({"endOfStream": damaged}, BY_PARTITION)


def test_one_partition_ends_the_query_where_the_scope_says_so() -> None:
    ends = {T0: Offset(57)}
    assert has_query_ended(BY_QUERY, ends)
    assert not has_query_ended(BY_PARTITION, ends)
    assert not has_query_ended(BY_QUERY, {})
    assert has_query_end(with_ends({}, BY_QUERY, ends))
    assert not has_query_end(with_ends({}, BY_PARTITION, ends))
    assert not has_query_end({"endOfStream": 5})


def test_an_end_counts_once_it_is_reached() -> None:
    ends = {T0: Offset(57), T1: Offset(4)}
    positions = {T0: Offset(57), T1: Offset(3)}
    assert reached(ends, positions) == {T0: 57}
    assert not_ended(positions, reached(ends, positions)) == {T1: 3}


def parsed(**given: str) -> EndOfStreamOptions | None:
    return parse_end_of_stream(given, is_copartitioned=False)


def test_options_name_a_function_and_a_scope() -> None:
    here = f"{__name__}:is_end"
    assert parsed() is None
    assert parsed(endofstream=here) == EndOfStreamOptions(here, EndScope.PARTITION)
    assert parsed(endofstream=here, endofstreamscope="Query") == EndOfStreamOptions(
        here, EndScope.QUERY
    )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"endofstream": "is_end"}, "endOfStream names a function as module:function"),
        ({"endofstream": f"{__name__}:absent"}, "endOfStream: .* cannot be imported"),
        ({"endofstream": f"{__name__}:NUMBER"}, "endOfStream: .* is a int and cannot be called"),
        (
            {"endofstream": f"{__name__}:is_end", "endofstreamscope": "topic"},
            "endOfStreamScope is one of partition, query, not 'topic'",
        ),
        ({"endofstreamscope": "query"}, "endOfStreamScope has a use only with endOfStream"),
    ],
)
def test_a_mistake_in_an_option_is_named(given: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        parsed(**given)
