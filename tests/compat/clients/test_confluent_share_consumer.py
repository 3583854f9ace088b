"""confluent-kafka's share consumer (a preview in librdkafka 2.16) in share groups of ours."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import AcknowledgeType, Producer, ShareConsumer

from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_S
from tests.support.clients.raw_client import RawClient
from tests.support.clients.raw_share_member import configure_group

RECORDS = 2_000
pytestmark = pytest.mark.compat


@pytest.fixture(scope="module")
def quick_broker() -> Iterator[Broker]:
    """Heartbeats come often, so that partitions are assigned soon."""
    settings = {
        "group.share.heartbeat.interval.ms": "200",
        "group.share.min.heartbeat.interval.ms": "200",
        "group.share.assignment.interval.ms": "0",
    }
    with Broker(in_process=False, settings=settings) as running:
        yield running


@pytest.fixture
def filled(quick_broker: Broker, topic: str) -> str:
    with RawClient(quick_broker.bootstrap_servers) as client:
        client.create_topic(topic, partitions=3)
        configure_group(client, topic, auto_offset_reset="earliest")
    sender = Producer({"bootstrap.servers": quick_broker.bootstrap_servers, "linger.ms": 5})
    for number in range(RECORDS):
        sender.produce(topic, str(number), partition=number % 3)
    assert sender.flush(LONG_ENOUGH_S) == 0
    return topic


def member(broker: Broker, topic: str, **settings: object) -> ShareConsumer:
    """Of a group that is called as its topic."""
    consumer = ShareConsumer(
        {"bootstrap.servers": broker.bootstrap_servers, "group.id": topic, **settings}
    )
    consumer.subscribe([topic])
    return consumer


def read(
    members: list[ShareConsumer], wanted: int, *, release_every: int = 0
) -> list[tuple[int, int]]:
    """(number, delivery count) of what comes; each number that `release_every` divides goes back the first time."""
    got: list[tuple[int, int]] = []
    deadline = time.monotonic() + LONG_ENOUGH_S
    while len(got) < wanted:
        assert time.monotonic() < deadline, f"{len(got)} of {wanted} records in {LONG_ENOUGH_S} s"
        for each in members:
            for message in each.poll(0.2):
                assert message.error() is None
                number, count = int(message.value()), message.delivery_count()
                got.append((number, count))
                if release_every:
                    again = number % release_every == 0 and count == 1
                    kind = AcknowledgeType.RELEASE if again else AcknowledgeType.ACCEPT
                    each.acknowledge(message, kind)
    return got


def test_every_record_comes_once(quick_broker: Broker, filled: str) -> None:
    with member(quick_broker, filled) as reader:
        got = read([reader], RECORDS)
        assert all(error is None for error in reader.commit_sync(LONG_ENOUGH_S).values())
    assert sorted(got) == [(number, 1) for number in range(RECORDS)]


def test_two_members_share_the_work(quick_broker: Broker, filled: str) -> None:
    with member(quick_broker, filled) as one, member(quick_broker, filled) as other:
        got = read([one, other], RECORDS)
    assert sorted(number for number, _ in got) == list(range(RECORDS))


def test_what_is_released_comes_again(quick_broker: Broker, filled: str) -> None:
    settings = {"share.acknowledgement.mode": "explicit"}
    with member(quick_broker, filled, **settings) as reader:
        got = read([reader], RECORDS + RECORDS // 4, release_every=4)
    again = [number for number, count in got if count == 2]
    assert sorted(again) == [number for number in range(RECORDS) if number % 4 == 0]


def test_a_successor_goes_on_where_a_member_has_stopped(quick_broker: Broker, filled: str) -> None:
    with member(quick_broker, filled, **{"share.acknowledgement.mode": "explicit"}) as reader:
        first = read([reader], 1, release_every=RECORDS)
        reader.commit_sync(LONG_ENOUGH_S)
    accepted = {number for number, _ in first if number % RECORDS}
    with member(quick_broker, filled) as successor:
        rest = read([successor], RECORDS - len(accepted))
    assert {number for number, _ in rest} == set(range(RECORDS)) - accepted
