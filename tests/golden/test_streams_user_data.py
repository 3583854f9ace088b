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
VERSIONS = range(7, 12)


def subscriptions(version: int) -> dict[str, SubscriptionInfo]:
    """As the members of a version have them: what it does not tell is missing."""
    of = {"version": version, "version_max": 11}
    has_unique, has_error, has_tags = version >= 8, version >= 9, version >= 11
    told = SubscriptionInfo(
        PROCESS,
        {
            StreamsTaskId(0, 1): RUNNING,
            StreamsTaskId(0, 2): 300,
            StreamsTaskId(1, 0): 5_000_000_000,
        },
        "localhost:8080",
        unique=7 if has_unique else 0,
        error=AssignmentError.SHUTDOWN_REQUESTED if has_error else AssignmentError.NONE,
        client_tags={"zone": "b"} if has_tags else {},
        **of,
    )
    of_none = SubscriptionInfo(PROCESS, unique=-1 if has_unique else 0, **of)
    return {f"subscription_{version}": told, f"subscription_of_none_{version}": of_none}


def assignments(version: int) -> dict[str, AssignmentInfo]:
    told = AssignmentInfo(
        (StreamsTaskId(0, 0), StreamsTaskId(1, 1)),
        {StreamsTaskId(1, 2): frozenset(ORDERS[2:])},
        {HOST: frozenset(ORDERS[:2])},
        {HOST: frozenset(ORDERS[2:])},
        next_rebalance_ms=1_700_000_000_000,
        version=version,
        common_version=11,
    )
    of_none = AssignmentInfo(
        error=AssignmentError.SHUTDOWN_REQUESTED, version=version, common_version=version
    )
    return {f"assignment_{version}": told, f"assignment_of_none_{version}": of_none}


SUBSCRIPTIONS = {
    name: info for version in VERSIONS for name, info in subscriptions(version).items()
}
ASSIGNMENTS = {name: info for version in VERSIONS for name, info in assignments(version).items()}


def test_all_that_kafka_wrote_is_looked_at() -> None:
    assert FACTS.keys() == SUBSCRIPTIONS.keys() | ASSIGNMENTS.keys()


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


@pytest.mark.parametrize("version", [1, 6])
def test_versions_that_are_too_old_are_refused_with_what_to_do(version: int) -> None:
    with pytest.raises(TaskAssignmentError, match=rf"version {version} .*2.6 or later"):
        SubscriptionInfo.decode(version.to_bytes(4, "big"))
    with pytest.raises(TaskAssignmentError, match=rf"version {version} .*2.6 or later"):
        AssignmentInfo.decode(version.to_bytes(4, "big"))


def test_of_a_later_version_a_leader_reads_the_versions_alone() -> None:
    later = SubscriptionInfo.decode(bytes.fromhex("0000000c0000000d") + b"whatever")
    assert (later.version, later.version_max, later.is_readable) == (12, 13, False)
    with pytest.raises(TaskAssignmentError, match="version 12"):
        AssignmentInfo.decode(bytes.fromhex("0000000c0000000c"))


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
