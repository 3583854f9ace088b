"""Whatever brokers do, partitions obey their rules, and what was acknowledged is lost by unclean elections only.

A model of the brokers stands beside the controller: records are acknowledged while enough replicas are in sync, replicas in sync have
them, a replica that comes into the ISR has what its leader has, and a broker that is killed may come back with nothing.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from millstream.controller.configs.alter_configs import plan_incremental_alter_configs
from millstream.controller.partitions.alter_partition import plan_alter_partition
from millstream.controller.partitions.balancing import plan_balance
from millstream.controller.partitions.elect_leaders import plan_elect_leaders
from millstream.controller.partitions.reassignments import plan_alter_reassignments
from millstream.controller.topics.create_topics import plan_create_topics
from millstream.metadata.image import PartitionImage
from millstream.metadata.topics_delta import merged
from millstream.model import BrokerId
from millstream.protocol.generated.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartitionData,
    AlterPartitionRequestTopicData,
    BrokerState,
)
from millstream.protocol.generated.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from millstream.protocol.generated.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from millstream.protocol.generated.elect_leaders import ElectLeadersRequest
from millstream.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from millstream.protocol.generated.metadata_records import PartitionChangeRecord
from tests.unit.controller.conftest import ControllerWorld

BROKERS = (1, 2, 3, 4)
RECOVERING = 1
broker_ids = st.sampled_from(BROKERS)
some_brokers = st.lists(broker_ids, min_size=1, max_size=3, unique=True)


class Brokers(RuleBasedStateMachine):
    """Topic t with one partition; `held` is how many records each broker has of it."""

    def __init__(self) -> None:
        super().__init__()
        self.world = ControllerWorld(keeps_eligible_replicas=True)
        self.world.start_brokers(*BROKERS)
        self.incarnations = dict.fromkeys(BROKERS, 1)
        self.held = dict.fromkeys(BROKERS, 0)
        self.acknowledged = 0
        self.seen = 0

    @initialize(replicas=some_brokers, least=st.integers(1, 3), any_leader=st.booleans())
    def create(self, replicas: list[int], least: int, any_leader: bool) -> None:
        self.least, self.any_leader = least, any_leader
        configs = {"min.insync.replicas": str(least)}
        if any_leader:
            configs["unclean.leader.election.enable"] = "true"
        topic = CreatableTopic(
            name="t", num_partitions=-1, replication_factor=-1,
            assignments=[CreatableReplicaAssignment(0, replicas)],
            configs=[CreatableTopicConfig(name=k, value=v) for k, v in configs.items()],
        )  # fmt: skip
        self.do(plan_create_topics, CreateTopicsRequest(topics=[topic]))
        self.before = self.partition

    @property
    def partition(self) -> PartitionImage:
        found = self.world.image.partition("t", 0)
        assert found is not None
        return found

    @property
    def is_reassigning(self) -> bool:
        return bool(self.partition.adding_replicas or self.partition.removing_replicas)

    def do(self, plan: object, request: object) -> object:
        """Has the controller do something and follows every change of the partition, one by one."""
        self.seen = len(self.world.log)
        before = self.world.image.partition("t", 0)
        answer = self.world.submit(plan, request)
        self.follow(before)
        return answer

    def follow(self, before: PartitionImage | None) -> None:
        for _, record in self.world.log[self.seen :]:
            if isinstance(record, PartitionChangeRecord):
                assert before is not None
                after = merged(before, record)
                self.check(before, after)
                before = after
        self.seen = len(self.world.log)

    def check(self, before: PartitionImage, after: PartitionImage) -> None:
        assert after.partition_epoch == before.partition_epoch + 1
        assert before.leader_epoch <= after.leader_epoch <= before.leader_epoch + 1
        assert after.leader == before.leader or after.leader_epoch > before.leader_epoch
        if after.leader in (before.leader, -1):
            return
        if after.leader_recovery_state == RECOVERING and after.isr == (after.leader,):
            self.acknowledged = min(self.acknowledged, self.held[after.leader])
            return
        assert after.leader in (*before.isr, *before.eligible_leader_replicas, *after.isr)
        assert self.held[after.leader] >= self.acknowledged, "an acknowledged record is lost"

    def heartbeat(self, broker_id: int, **fields: object) -> None:
        self.seen, before = len(self.world.log), self.partition
        self.world.heartbeat(broker_id, **fields)
        self.follow(before)

    @rule(broker_id=broker_ids)
    def fence(self, broker_id: int) -> None:
        self.heartbeat(broker_id, want_fence=True)

    @rule(broker_id=broker_ids)
    def unfence(self, broker_id: int) -> None:
        self.heartbeat(broker_id)

    @rule(broker_id=broker_ids)
    def stop(self, broker_id: int) -> None:
        self.heartbeat(broker_id, want_shut_down=True)

    @rule(broker_id=broker_ids, clean=st.booleans())
    def restart(self, broker_id: int, clean: bool) -> None:
        """A kill may cost all that was not on the disk, and nothing here was."""
        epoch = self.world.image.brokers[BrokerId(broker_id)].broker_epoch
        self.incarnations[broker_id] += 1
        self.world.now_ms += 10_000
        if not clean:
            self.held[broker_id] = 0
        self.seen, before = len(self.world.log), self.partition
        self.world.register(
            broker_id,
            incarnation=self.incarnations[broker_id] % 250,
            previous_broker_epoch=epoch if clean else -1,
        )
        self.follow(before)

    @precondition(lambda self: self.partition.has_leader)
    @rule()
    def produce(self) -> None:
        """The leader appends; it acknowledges while enough replicas are in sync."""
        found = self.partition
        self.held[found.leader] += 1
        if len(found.isr) >= min(self.least, len(found.replicas)):
            for replica in found.isr:
                self.held[replica] = self.held[found.leader]
            self.acknowledged = self.held[found.leader]

    @precondition(lambda self: self.partition.has_leader)
    @rule(isr=st.sets(broker_ids), stale=st.booleans())
    def alter(self, isr: set[int], stale: bool) -> None:
        """The leader sees these replicas in sync: whoever is new has caught up with it."""
        found = self.partition
        wanted = [r for r in found.replicas if r in isr or r == found.leader]
        asked = AlterPartitionRequestPartitionData(
            partition_index=0, leader_epoch=found.leader_epoch - stale, partition_epoch=found.partition_epoch,
            new_isr_with_epochs=[
                BrokerState(broker_id=r, broker_epoch=self.world.image.brokers[r].broker_epoch) for r in wanted
            ],
        )  # fmt: skip
        topic_id = self.world.image.topic("t").topic_id
        request = AlterPartitionRequest(
            broker_id=found.leader, broker_epoch=self.world.image.brokers[found.leader].broker_epoch,
            topics=[AlterPartitionRequestTopicData(topic_id=topic_id, partitions=[asked])],
        )  # fmt: skip
        if all(self.world.image.brokers[r].is_active for r in wanted) and not stale:
            for replica in wanted:
                self.held[replica] = self.held[found.leader]
        self.do(plan_alter_partition, request)
        if stale:
            assert self.partition == found

    @rule(replicas=st.none() | some_brokers)
    def reassign(self, replicas: list[int] | None) -> None:
        found = self.partition
        kept = [r for r in found.replicas if r not in found.adding_replicas]
        in_sync = set(found.isr) & set(kept)
        if replicas is None and self.is_reassigning and not in_sync and self.any_leader:
            # Called off with nobody in sync: the first replica leads, since any leader is preferred to none.
            self.acknowledged = min(self.acknowledged, self.held[kept[0]])
        move = ReassignablePartition(partition_index=0, replicas=replicas)
        topic = ReassignableTopic(name="t", partitions=[move])
        request = AlterPartitionReassignmentsRequest(topics=[topic])
        self.do(plan_alter_reassignments, request)

    @rule(uncleanly=st.booleans())
    def elect(self, uncleanly: bool) -> None:
        request = ElectLeadersRequest(election_type=int(uncleanly), topic_partitions=None)
        self.do(plan_elect_leaders, request)

    @rule()
    def balance(self) -> None:
        self.do(plan_balance, None)

    @rule(least=st.integers(1, 3))
    def change_least(self, least: int) -> None:
        change = AlterableConfig(name="min.insync.replicas", config_operation=0, value=str(least))
        resource = AlterConfigsResource(resource_type=2, resource_name="t", configs=[change])
        request = IncrementalAlterConfigsRequest(resources=[resource])
        self.do(plan_incremental_alter_configs, request)
        self.least = least

    @invariant()
    def is_in_order(self) -> None:
        found = self.world.image.partition("t", 0)
        if found is None:
            return
        assert found.leader in (*found.isr, -1)
        assert set(found.isr) <= set(found.replicas)
        assert not set(found.isr) & set(found.eligible_leader_replicas)
        assert set(found.eligible_leader_replicas) <= set(found.replicas)
        assert len(found.directories) == len(found.replicas)
        for eligible in found.eligible_leader_replicas:
            assert self.held[eligible] >= self.acknowledged, "an eligible replica lacks a record"


Brokers.TestCase.settings = settings(max_examples=25, stateful_step_count=40, deadline=None)
test_brokers_come_and_go = Brokers.TestCase
