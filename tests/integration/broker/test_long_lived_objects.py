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


class Living:
    """Counts the objects of a class that were made after this one.

    They are counted, because compiled classes have no weak references. Those of earlier tests are kept meanwhile: one that
    is freed only now, with the traceback that held it, would make up for one that this test leaves.
    """

    def __init__(self, kind: type) -> None:
        self._kind = kind
        self._before = self._all()

    def count(self) -> int:
        before = {id(each) for each in self._before}
        return sum(id(each) not in before for each in self._all())

    def _all(self) -> list[object]:
        return [each for each in gc.get_objects() if isinstance(each, self._kind)]


@pytest.mark.usefixtures("collector_is_off")
def test_deleted_topics_and_closed_connections_are_freed_by_their_last_reference() -> None:
    connections = Living(ServerConnection)
    with Broker(settings={"log.segment.delete.delay.ms": "0"}) as broker:
        with RawClient(broker.bootstrap_servers) as client:
            logs, partitions = Living(PartitionLog), Living(Partition)
            for number in range(TOPICS):
                client.create_topic(f"t{number}", partitions=3)
            assert logs.count() == TOPICS * 3
            assert partitions.count() == TOPICS * 3
            client.ask(ApiKey.METADATA, 12, MetadataRequest(topics=None))
            request = DeleteTopicsRequest(
                topic_names=[f"t{number}" for number in range(TOPICS)], timeout_ms=30_000
            )
            client.ask(ApiKey.DELETE_TOPICS, 5, request)
            wait_until(lambda: partitions.count() == 0)
            wait_until(lambda: logs.count() == 0)  # once their files are gone
            assert connections.count() == 1
        wait_until(lambda: connections.count() == 0)


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
