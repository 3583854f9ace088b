"""What members of a classic group of Kafka Streams tell each other is the bytes of Kafka's own, in both directions."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import MalformedMessage
from millstream.model import TopicPartition
from millstream.streams.application.group.classic.user_data import (
    RUNNING,
    AssignmentError,
    AssignmentInfo,
    SubscriptionInfo,
)
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.errors import TaskAssignmentError
from millstream.streams.host_info import HostInfo

FACTS: Final = {
    name: bytes.fromhex(data)
    for name, data in (
        line.split()
        for line in Path("tests/oracle/stream_assignor/user_data.txt").read_text().splitlines()
    )
}
PROCESS = UUID("01020304-0506-0708-090a-0b0c0d0e0f10")
HOST = HostInfo("localhost", 8080)
ORDERS = [TopicPartition("orders", number) for number in range(3)]
SUBSCRIPTIONS = {
    "subscription": SubscriptionInfo(
        PROCESS,
        {StreamsTaskId(0, 1): RUNNING, StreamsTaskId(1, 0): 5_000_000_000},
        "localhost:8080",
        unique=7,
        error=AssignmentError.SHUTDOWN_REQUESTED,
        client_tags={"zone": "b"},
    ),
    "subscription_of_none": SubscriptionInfo(PROCESS, unique=-1),
}
ASSIGNMENTS = {
    "assignment": AssignmentInfo(
        (StreamsTaskId(0, 0), StreamsTaskId(1, 1)),
        {StreamsTaskId(1, 2): frozenset(ORDERS[2:])},
        {HOST: frozenset(ORDERS[:2])},
        {HOST: frozenset(ORDERS[2:])},
        next_rebalance_ms=1_700_000_000_000,
    ),
    "assignment_of_none": AssignmentInfo(error=AssignmentError.SHUTDOWN_REQUESTED),
}


@pytest.mark.parametrize("name", SUBSCRIPTIONS)
def test_subscriptions_are_those_of_kafka(name: str) -> None:
    assert SUBSCRIPTIONS[name].encode() == FACTS[name]
    assert SubscriptionInfo.decode(FACTS[name]) == SUBSCRIPTIONS[name]


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_assignments_are_those_of_kafka(name: str) -> None:
    assert ASSIGNMENTS[name].encode() == FACTS[name]
    assert AssignmentInfo.decode(FACTS[name]) == ASSIGNMENTS[name]


def test_a_number_that_grows_without_end_has_one_byte() -> None:
    assert (
        SubscriptionInfo(PROCESS, unique=300).encode()
        == SubscriptionInfo(PROCESS, unique=44).encode()
    )


@pytest.mark.parametrize("version", [1, 10, 12])
def test_other_versions_are_refused_with_what_to_do(version: int) -> None:
    with pytest.raises(TaskAssignmentError, match=rf"version {version} .*upgrade.from"):
        SubscriptionInfo.decode(version.to_bytes(4, "big"))
    with pytest.raises(TaskAssignmentError, match=rf"version {version} .*upgrade.from"):
        AssignmentInfo.decode(version.to_bytes(4, "big"))


@given(st.sampled_from(sorted(FACTS)), st.data())
def test_bytes_that_are_cut_or_changed_are_read_or_refused(name: str, data: st.DataObject) -> None:
    broken = bytearray(FACTS[name])
    at = data.draw(st.integers(0, len(broken) - 1))
    if data.draw(st.booleans()):
        del broken[at:]
    else:
        broken[at] = data.draw(st.integers(0, 255))
    decode = SubscriptionInfo.decode if name in SUBSCRIPTIONS else AssignmentInfo.decode
    try:
        decode(bytes(broken))
    except (MalformedMessage, TaskAssignmentError):
        assert bytes(broken) != FACTS[name]
