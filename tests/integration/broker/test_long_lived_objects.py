"""A node freezes what lives long, so what it makes many of must be freed without the garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from millstream.broker.node.long_lived_objects import LongLivedObjects
from millstream.log.partition_log import PartitionLog
from millstream.net.server.connection import ServerConnection
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.delete_topics import DeleteTopicsRequest
from millstream.protocol.generated.metadata import MetadataRequest
from millstream.replication.partition import Partition
from millstream.testing.broker import Broker
from tests.patience import wait_until
from tests.support.clients.raw_client import RawClient

TOPICS = 5


@pytest.fixture
def collector_is_off() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def living(kind: type) -> int:
    """How many there are. They are counted, because compiled classes have no weak references."""
    return sum(isinstance(each, kind) for each in gc.get_objects())


@pytest.mark.usefixtures("collector_is_off")
def test_deleted_topics_and_closed_connections_are_freed_by_their_last_reference() -> None:
    connections = living(ServerConnection)
    with Broker(settings={"log.segment.delete.delay.ms": "0"}) as broker:
        with RawClient(broker.bootstrap_servers) as client:
            logs, partitions = living(PartitionLog), living(Partition)
            for number in range(TOPICS):
                client.create_topic(f"t{number}", partitions=3)
            assert living(PartitionLog) == logs + TOPICS * 3
            assert living(Partition) == partitions + TOPICS * 3
            client.ask(ApiKey.METADATA, 12, MetadataRequest(topics=None))
            request = DeleteTopicsRequest(
                topic_names=[f"t{number}" for number in range(TOPICS)], timeout_ms=30_000
            )
            client.ask(ApiKey.DELETE_TOPICS, 5, request)
            wait_until(lambda: living(Partition) == partitions)
            wait_until(lambda: living(PartitionLog) == logs)  # once their files are gone
            assert living(ServerConnection) == connections + 1
        wait_until(lambda: living(ServerConnection) == connections)


def test_what_a_long_collection_leaves_is_frozen_until_the_end() -> None:
    with LongLivedObjects(long_ns=0):
        kept = [[number] for number in range(1_000)]
        gc.collect()
        assert gc.get_freeze_count() > len(kept)
        assert not any(each is kept for each in gc.get_objects())
    assert gc.get_freeze_count() == 0


def test_a_short_collection_freezes_nothing() -> None:
    with LongLivedObjects(long_ns=1 << 62) as objects:
        objects.freeze_all()
        before = gc.get_freeze_count()
        assert before > 0
        kept = [[number] for number in range(1_000)]
        gc.collect()
        assert gc.get_freeze_count() <= before
        assert any(each is kept for each in gc.get_objects())
