"""Offsets in Spark's log and the share of a micro-batch that each partition gets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import ConfigError
from millstream.model import ZERO_UUID, Offset, TopicPartition, Uuid
from millstream.spark.offsets import (
    advanced,
    as_beginning,
    begin_of,
    followed_by,
    from_json,
    leader_epochs_in,
    partition_offsets,
    to_json,
    topic_ids_in,
    with_leader_epochs,
    with_topic_ids,
)

Document = dict[str, Any]  # the checkpoint's JSON
A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)

offsets = st.dictionaries(
    st.builds(TopicPartition, st.sampled_from(["a", "b", "c.d"]), st.integers(0, 5)),
    st.integers(0, 10_000).map(Offset),
)


def test_the_json_form_is_the_one_in_the_checkpoint() -> None:
    assert to_json({B0: Offset(7), A1: Offset(2), A0: Offset(1)}) == {
        "v": 1,
        "offsets": {"a": {"0": 1, "1": 2}, "b": {"0": 7}},
    }


def planned(start: Document, end: int, topic_id: int = 1) -> Document:
    end_document = {**start, **to_json({A0: Offset(end)})}
    return followed_by(start, with_topic_ids(end_document, {"a": Uuid(topic_id)}))


FIRST = as_beginning(with_topic_ids(to_json({A0: Offset(2)}), {"a": Uuid(1)}))


def test_a_document_says_where_a_query_has_begun_up_to_its_first_micro_batch() -> None:
    assert planned(FIRST, 2) == FIRST
    later = planned(FIRST, 5)
    assert planned(later, 5) == later
    elsewhere = to_json({A0: Offset(7)})
    assert [begin_of(elsewhere, each) for each in (FIRST, later)] == [{A0: Offset(2)}] * 2


@pytest.mark.parametrize(("end", "topic_id"), [(9, 1), (5, 2)])
def test_a_document_behind_the_first_micro_batch_begins_where_that_ends(
    end: int, topic_id: int
) -> None:
    later = planned(FIRST, 5)
    assert begin_of(later, planned(later, end, topic_id)) == {A0: Offset(5)}


@given(offsets)
def test_json_round_trips(given_offsets: dict[TopicPartition, Offset]) -> None:
    assert from_json(to_json(given_offsets)) == given_offsets


def test_a_checkpoint_of_another_version_says_what_to_do() -> None:
    with pytest.raises(ConfigError, match=r"version 3.*new checkpoint"):
        from_json({"v": 3, "offsets": {}})


@pytest.mark.parametrize("document", [None, 5, {"a": 1}, {"a": {"x": 1}}, {"a": {"0": "y"}}])
def test_malformed_offsets_show_the_right_form(document: object) -> None:
    with pytest.raises(ConfigError, match=r'must look like \{"topic": \{"0": 12\}\}'):
        partition_offsets(document)


def test_an_end_never_falls_behind_its_start() -> None:
    assert advanced({A0: Offset(5), A1: Offset(5)}, {A0: Offset(3), B0: Offset(1)}) == {
        A0: 5,
        A1: 5,
        B0: 1,
    }


def test_ids_of_topics_stand_beside_offsets_and_other_keys_stay() -> None:
    ids = {"a": Uuid(bytes(15) + b"\x05"), "b": ZERO_UUID, "unread": Uuid(bytes(15) + b"\x06")}
    before = {**to_json({A0: Offset(1), B0: Offset(7)}), "other": 3}
    document = with_topic_ids(before, ids)
    assert document == {**before, "topicIds": {"a": "AAAAAAAAAAAAAAAAAAAABQ"}}
    assert topic_ids_in(document) == {"a": "AAAAAAAAAAAAAAAAAAAABQ"}
    assert with_topic_ids(document, {}) == document
    assert topic_ids_in(before) == {}
    assert with_topic_ids(before, {}) == before


FIRST_ID, SECOND_ID = Uuid(bytes(15) + b"\x05"), Uuid(bytes(15) + b"\x06")


def test_epochs_of_leaders_stand_beside_offsets_by_the_id_of_their_topic() -> None:
    before = with_topic_ids(to_json({A0: Offset(1), A1: Offset(7)}), {"a": FIRST_ID})
    document = with_leader_epochs(before, {(FIRST_ID, A0): 3, (FIRST_ID, A1): 0})
    assert document == {**before, "leaderEpochs": {str(FIRST_ID): {"0": 3, "1": 0}}}
    assert leader_epochs_in(document) == {(FIRST_ID, A0): 3, (FIRST_ID, A1): 0}
    assert leader_epochs_in(before) == {}
    assert with_leader_epochs(before) == before


def test_the_latest_epochs_count_and_those_of_another_topic_of_the_name_do_not() -> None:
    """A broker that has heard less names an older leader; a topic that is made anew begins with epoch 0."""
    document = with_topic_ids(to_json({A0: Offset(1)}), {"a": FIRST_ID})
    former, now = {(FIRST_ID, A0): 3, (SECOND_ID, A0): 9}, {(FIRST_ID, A0): 2}
    latest = with_leader_epochs(document, former, now)
    assert leader_epochs_in(latest) == {(FIRST_ID, A0): 3}
    made_anew = with_topic_ids(latest, {"a": SECOND_ID})  # as a release before this one does
    assert leader_epochs_in(made_anew) == {}
