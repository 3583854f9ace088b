"""The share coordinator's shard against its own log: what a new one reads there is what the old one knew (KIP-932)."""

from __future__ import annotations

import contextlib

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from millstream.coordinator.share.context import (
    DeleteState,
    InitializeState,
    ReadState,
    WriteState,
)
from millstream.coordinator.share.shard import ShareShard
from millstream.coordinator.share.state import SharePartitionKey, StateChange
from millstream.coordinator.share.state_batch import StateBatch
from millstream.errors import KafkaError
from millstream.metadata.image import MetadataImage
from tests.support.coordinators.coordinator import topics_image
from tests.support.coordinators.share_state import SimShareState

TOPICS = topics_image({"orders": 2, "returns": 1})
PLACES = [(topic.topic_id, n) for topic in TOPICS.by_id.values() for n in (0, 1)]
KEYS = st.builds(
    lambda group, place: SharePartitionKey(group, *place),
    st.sampled_from(["ann's", "bob's"]),
    st.sampled_from(PLACES),
)
EPOCHS = st.integers(-1, 3)
OFFSETS = st.integers(0, 30)
BATCHES = st.builds(
    lambda first, size, state, count: StateBatch(first, first + size, state, count),
    OFFSETS,
    st.integers(0, 8),
    st.sampled_from([0, 2, 4]),
    st.integers(1, 4),
)


class ShareShardMachine(RuleBasedStateMachine):
    @initialize(per_snapshot=st.integers(0, 4))
    def start(self, per_snapshot: int) -> None:
        self.world = SimShareState(
            MetadataImage(topics=TOPICS),
            snapshot_update_records_per_snapshot=per_snapshot,
            cold_partition_snapshot_interval_ms=1_000,
        )
        self.known: dict[SharePartitionKey, dict[int, tuple[int, int]]] = {}
        """(count, state) of every record that was ever spoken of, record by record."""

    @rule(key=KEYS, epoch=EPOCHS, start=st.integers(-1, 30))
    def begin(self, key: SharePartitionKey, epoch: int, start: int) -> None:
        with contextlib.suppress(KafkaError):
            self.world.ask(InitializeState(key, epoch, start))
            self.known[key] = {}

    @rule(key=KEYS, epoch=EPOCHS)
    def read(self, key: SharePartitionKey, epoch: int) -> None:
        with contextlib.suppress(KafkaError):
            answer = self.world.ask(ReadState(key, epoch))
            if epoch == -1:
                assert answer == self.world.state(key)

    @rule(
        key=KEYS,
        state_epoch=EPOCHS,
        leader_epoch=EPOCHS,
        start=st.integers(-1, 30),
        batches=st.lists(BATCHES, max_size=3),
    )
    def write(
        self,
        key: SharePartitionKey,
        state_epoch: int,
        leader_epoch: int,
        start: int,
        batches: list[StateBatch],
    ) -> None:
        change = StateChange(leader_epoch, start, 0, tuple(batches))
        with contextlib.suppress(KafkaError):
            self.world.ask(WriteState(key, state_epoch, change))
            known = self.known[key]
            for first, last, state, count in batches:
                for at in range(first, last + 1):
                    known[at] = max(known.get(at, (0, 0)), (count, state))
            begins_at = self.world.state(key).start_offset
            self.known[key] = {at: d for at, d in known.items() if at >= begins_at}

    @rule(key=KEYS)
    def delete(self, key: SharePartitionKey) -> None:
        with contextlib.suppress(KafkaError):
            self.world.ask(DeleteState(key))
            self.known.pop(key, None)

    @rule(passed_ms=st.integers(1, 2_000))
    def cool_down(self, passed_ms: int) -> None:
        self.world.elapsed_ms += passed_ms
        self.world.write(self.world.shard.handle_timer("cold partitions", self.world.now))

    @invariant()
    def the_state_is_that_of_every_record(self) -> None:
        for key, known in self.known.items():
            told = {
                at: batch.delivery
                for batch in self.world.state(key).batches
                for at in range(batch.first_offset, batch.last_offset + 1)
            }
            assert told == known

    @invariant()
    def the_log_says_the_same(self) -> None:
        self._is_equal(self.world.replayed())

    @invariant()
    def what_is_pruned_is_not_missed(self) -> None:
        self._is_equal(self.world.replayed(first=self.world.shard.first_needed_offset))

    def _is_equal(self, replayed: ShareShard) -> None:
        for group in ("ann's", "bob's"):
            for place in PLACES:
                key = SharePartitionKey(group, *place)
                assert replayed.state(key) == self.world.shard.state(key)


TestShareShard = ShareShardMachine.TestCase
