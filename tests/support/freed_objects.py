"""Deletes topics of a broker and closes a connection to it while the garbage collector is off; fails unless all are freed.

python -m tests.support.freed_objects
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

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


class Living:
    """Counts the objects of a class that were made after this one. Compiled classes have no weak references.

    `which`: those alone that it says.
    """

    def __init__(self, kind: type, which: Callable[[Any], bool] = lambda _: True) -> None:
        self._kind, self._which = kind, which
        self._before = self._all()

    def count(self) -> int:
        return len(self._all()) - len(self._before)

    def _all(self) -> list[object]:
        return [
            each for each in gc.get_objects() if isinstance(each, self._kind) and self._which(each)
        ]


def main() -> None:
    """Raises AssertionError or TimeoutError."""
    gc.disable()
    # A client that another test has left running may connect to this broker, whose port was another's before.
    ports: set[int] = set()
    connections = Living(ServerConnection, lambda each: each.peer.client_port in ports)
    with Broker(settings={"log.segment.delete.delay.ms": "0"}) as broker:
        with RawClient(broker.bootstrap_servers) as client:
            ports.add(client.socket.getsockname()[1])
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
    print("freed")


if __name__ == "__main__":
    main()
