"""What becomes of the replicas of a single node when it stops, is killed and comes back, and which directories get new ones."""

from __future__ import annotations

from millstream.broker.config.broker_config import broker_config
from millstream.metadata.image import PartitionImage
from millstream.model import BrokerId
from millstream.runtime.system import SystemClock
from tests.patience import until
from tests.support.simulated_disk import SimFileSystem
from tests.unit.broker.node.test_broker_part import node


async def test_the_only_replica_leads_again_after_a_kill_and_says_that_it_has_recovered() -> None:
    """Kafka's way at replication factor 1: an unclean election of the last known leader (KIP-966)."""
    disk = SimFileSystem()
    async with node(disk, clean=False) as running:
        await running.create("t")
        acknowledged = running.append("t", b"x")
        running.services.partitions.get("t", 0).log.flush(SystemClock().now())
    disk.crash()
    states: list[tuple[int, tuple[int, ...], int]] = []
    async with node(disk) as running:

        def partition() -> PartitionImage:
            found = running.services.metadata.image.partition("t", 0)
            assert found is not None
            return found

        states.append((partition().leader, partition().isr, partition().leader_recovery_state))
        await until(lambda: partition().leader_recovery_state == 0)
        assert (partition().leader, partition().isr) == (1, (1,))
        assert partition().last_known_eligible_leader_replicas == ()
        assert running.append("t", b"y") == acknowledged + 1
    assert states == [(1, (1,), 1)]


async def test_the_only_replica_stays_eligible_when_its_broker_stops_cleanly() -> None:
    disk = SimFileSystem()
    async with node(disk) as running:
        await running.create("t")
        epoch = running.services.metadata.image.brokers[BrokerId(1)].broker_epoch
    async with node(disk) as running:
        assert running.directories.previous_broker_epoch == epoch
        found = running.services.metadata.image.partition("t", 0)
        assert found is not None
        assert (found.leader, found.isr, found.leader_recovery_state) == (1, (1,), 0)
        assert (found.eligible_leader_replicas, found.last_known_eligible_leader_replicas) == (
            (),
            (),
        )


async def test_cordoned_directories_are_told_to_the_controller() -> None:
    settings = {"log.dirs": "a,b", "cordoned.log.dirs": "a"}
    async with node(SimFileSystem(), broker_config(settings)) as running:
        image = running.services.metadata.image
        (first, _) = running.directories
        assert image.brokers[BrokerId(1)].cordoned_log_directories == (first.meta.directory_id,)
        await running.create("t", partitions=3)
        for number in range(3):
            log = running.services.partitions.get("t", number).log
            assert running.directories.of(log).path == "b"
