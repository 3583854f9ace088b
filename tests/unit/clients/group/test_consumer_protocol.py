"""The bytes of subscriptions and assignments, as Java writes them."""

from __future__ import annotations

import pytest

from millstream.clients.group.assignors import MemberSubscription
from millstream.clients.group.core.consumer_protocol import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from millstream.errors import MalformedMessage
from millstream.model import TopicPartition


def test_a_subscription_has_topics_user_data_owned_partitions_generation_and_rack() -> None:
    subscription = MemberSubscription(
        frozenset({"b", "a"}),
        frozenset({TopicPartition("a", 1), TopicPartition("a", 0)}),
        7,
        None,
        "r",
        b"\x00\x00\x00\x07",
    )
    data = encode_subscription(subscription)
    assert data.hex(" ") == (
        "00 03"
        " 00 00 00 02 00 01 61 00 01 62"
        " 00 00 00 04 00 00 00 07"
        " 00 00 00 01 00 01 61 00 00 00 02 00 00 00 00 00 00 00 01"
        " 00 00 00 07"
        " 00 01 72"
    )
    assert decode_subscription(data, None) == subscription


def test_a_subscription_that_ends_before_its_version_says_is_read_as_an_older_one() -> None:
    version_0_fields = bytes.fromhex("000300000001000161ffffffff")
    assert decode_subscription(version_0_fields, "i") == MemberSubscription(
        frozenset({"a"}), frozenset(), -1, "i", None
    )


def test_the_generation_of_older_cooperative_members_is_in_their_user_data() -> None:
    version_1 = bytes.fromhex("000100000001000161000000040000000900000000")
    assert decode_subscription(version_1, None).generation_id == 9


def test_bytes_that_are_no_subscription_are_refused() -> None:
    with pytest.raises(MalformedMessage):
        decode_subscription(b"\x00\x00\x00\x00\xff\xff", None)
    with pytest.raises(MalformedMessage):
        decode_subscription(b"\x00", None)


def test_an_assignment_comes_back_and_no_bytes_are_no_partitions() -> None:
    assigned = [TopicPartition("a", 0), TopicPartition("a", 2), TopicPartition("b", 1)]
    assert decode_assignment(encode_assignment(reversed(assigned))) == assigned
    assert decode_assignment(b"") == []
