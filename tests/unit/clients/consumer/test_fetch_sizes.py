"""How much a fetch asks for, and for how long a broker may wait to have it."""

from __future__ import annotations

from millstream.clients.config.consumer import ConsumerConfig
from tests.unit.clients.consumer.fetch_world import World


def test_a_fetch_is_bounded_by_the_bytes_that_settings_give() -> None:
    """T1.13."""
    world = World(partition_bytes=700, total_bytes=9_000)
    world.state().seek(3)
    (planned,) = world.plan()
    request = world.fetcher.request(planned)
    (partition,) = request.topics[0].partitions
    assert (partition.partition, partition.fetch_offset, partition.partition_max_bytes) == (
        0,
        3,
        700,
    )
    assert (request.min_bytes, request.max_wait_ms, request.max_bytes) == (1, 500, 9_000)
    defaults = ConsumerConfig(bootstrap_servers=("h:1",))
    assert (defaults.max_partition_fetch_bytes, defaults.fetch_max_bytes) == (1_048_576, 52_428_800)
