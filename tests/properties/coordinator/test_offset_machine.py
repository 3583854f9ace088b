"""Whatever is committed, staged, deleted, made again and loaded: a group has the offsets that a naive model says, and no others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from millstream.coordinator.group.config import GroupCoordinatorConfig
from millstream.coordinator.group.context import TopicsDeleted, TransactionalCommit
from millstream.errors import UnstableOffsetCommit
from millstream.metadata.image import MetadataImage, TopicImage, TopicsImage, frozen_mapping
from millstream.model import Offset, ProducerId, Uuid
from millstream.protocol.generated.delete_groups import DeleteGroupsRequest
from millstream.protocol.generated.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from millstream.protocol.generated.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.support.coordinators.classic_group import SimGroup
from tests.support.coordinators.coordinator import SimCoordinator, topics_image
from tests.support.coordinators.unreliable import hard_state

GROUPS: Final = ("g", "h")
TOPICS: Final = ("t", "u")
PRODUCERS: Final = (ProducerId(7), ProducerId(8))
RETENTION_MS: Final = 10_000
CONFIG: Final = GroupCoordinatorConfig(
    offsets_retention_ms=RETENTION_MS, offsets_retention_check_interval_ms=1_000
)

groups, topics, producers = map(st.sampled_from, (GROUPS, TOPICS, PRODUCERS))


class Place(NamedTuple):
    group: str
    topic: str


@dataclass(frozen=True)
class Stored:
    offset: int
    topic_id: Uuid
    order: int
    """Of the commit, among all."""


class OffsetMachine(RuleBasedStateMachine):
    """One partition a topic: the others would do the same. `committed` and `staged` are the model."""

    @initialize()
    def begin(self) -> None:
        self.coordinator = SimCoordinator(CONFIG, image=MetadataImage(topics=topics_image({})))
        self.topics: dict[str, Uuid] = {}
        self.committed: dict[Place, Stored] = {}
        self.staged: dict[ProducerId, dict[Place, Stored]] = {p: {} for p in PRODUCERS}
        self.steps = 0
        self.is_untold = False
        """A topic was deleted, and the coordinator was not told: as if it had crashed before, or its queue were full."""
        for topic in TOPICS:
            self.create_topic(topic)

    # What happens to offsets

    @rule(group=groups, topic=topics)
    def commit(self, group: str, topic: str) -> None:
        if topic in self.topics:
            stored = self._next(topic)
            SimGroup(self.coordinator, group).commit(
                {(topic, 0): stored.offset}, topic_id=stored.topic_id
            )
            self.committed[Place(group, topic)] = stored

    @rule(group=groups, topic=topics, producer=producers)
    def stage(self, group: str, topic: str, producer: ProducerId) -> None:
        if topic in self.topics:
            stored = self._next(topic)
            partition = TxnOffsetCommitRequestPartition(0, stored.offset, -1, "")
            named = [TxnOffsetCommitRequestTopic(topic, [partition])]
            request = TxnOffsetCommitRequest("x", group, producer, 0, topics=named)
            self._send(TransactionalCommit(request, {topic: stored.topic_id}), 5)
            self.staged[producer][Place(group, topic)] = stored

    @rule(producer=producers, committed=st.booleans())
    def end(self, producer: ProducerId, committed: bool) -> None:
        self.coordinator.end_transaction(producer, committed=committed)
        for place, stored in self.staged[producer].items():
            before = self.committed.get(place)
            if committed and (before is None or before.order < stored.order):
                self.committed[place] = stored
        self.staged[producer].clear()

    # What removes them

    @rule(group=groups, topic=topics)
    def delete_offset(self, group: str, topic: str) -> None:
        named = [OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(0)])]
        self._send(OffsetDeleteRequest(group, named), 0)
        self._remove(lambda place: place == Place(group, topic))

    @rule(group=groups)
    def delete_group(self, group: str) -> None:
        self._send(DeleteGroupsRequest([group]), 2)
        self._remove(lambda place: place.group == group)

    @rule(topic=topics, is_told=st.booleans())
    def delete_topic(self, topic: str, is_told: bool) -> None:
        if self.topics.pop(topic, None) is not None:
            self._publish()
            if is_told:
                self._send(TopicsDeleted([topic]), 0)
            self.is_untold |= not is_told
            self._remove(lambda place: place.topic == topic)

    @rule(topic=topics)
    def create_topic(self, topic: str) -> None:
        if topic not in self.topics:
            self.steps += 1
            self.topics[topic] = Uuid(f"{topic}{self.steps:015}".encode())
            self._publish()

    @rule()
    def tell_late(self) -> None:
        """New topics may have the names, and offsets of their own."""
        self._send(TopicsDeleted(list(TOPICS)), 0)

    @precondition(lambda self: not self.is_untold)
    @rule()
    def expire(self) -> None:
        """A place that an open transaction may change keeps what it has."""
        self.coordinator.pass_time(RETENTION_MS + 1_000)
        self.committed = {p: stored for p, stored in self.committed.items() if self._staged(p)}

    @rule()
    def load(self) -> None:
        self.coordinator = self.coordinator.restarted()
        self.is_untold = False

    # What is seen

    @invariant()
    def groups_have_what_the_model_has(self) -> None:
        for group in GROUPS:
            sim = SimGroup(self.coordinator, group)
            (found,) = sim.answer(sim.fetch({topic: [0] for topic in TOPICS})).groups
            seen = {topic.name: topic.partitions[0].committed_offset for topic in found.topics}
            assert seen == {topic: self._offset(Place(group, topic)) for topic in TOPICS}

    @precondition(lambda self: not self.is_untold)
    @invariant()
    def who_asks_for_stable_offsets_waits_for_open_transactions(self) -> None:
        for group in GROUPS:
            sim = SimGroup(self.coordinator, group)
            asked = sim.fetch({topic: [0] for topic in TOPICS}, require_stable=True)
            (found,) = sim.answer(asked).groups
            unstable = {
                topic.name
                for topic in found.topics
                if topic.partitions[0].error_code == UnstableOffsetCommit.code
            }
            assert unstable == {t for t in TOPICS if self._staged(Place(group, t))}

    @invariant()
    def a_coordinator_that_loads_the_log_knows_the_same(self) -> None:
        loaded = self.coordinator.restarted()
        if not self.is_untold:
            assert hard_state(loaded.shard) == hard_state(self.coordinator.shard)
        assert hard_state(loaded.restarted().shard) == hard_state(loaded.shard)

    # The model

    def _offset(self, place: Place) -> int:
        """Of a topic that is gone nobody asks any more; its offsets are only not to be taken for those of the next one."""
        stored = self.committed.get(place)
        return -1 if stored is None else stored.offset

    def _staged(self, place: Place) -> bool:
        return any(place in staged for staged in self.staged.values())

    def _remove(self, is_removed: Callable[[Place], bool]) -> None:
        for known in (self.committed, *self.staged.values()):
            for place in list(known):
                if is_removed(place):
                    del known[place]

    def _next(self, topic: str) -> Stored:
        self.steps += 1
        return Stored(self.steps, self.topics[topic], self.steps)

    def _publish(self) -> None:
        self.steps += 1
        found = [
            TopicImage(name, topic_id, topics_image({name: 1}).by_name[name].partitions)
            for name, topic_id in self.topics.items()
        ]
        image = TopicsImage(
            frozen_mapping({topic.name: topic for topic in found}),
            frozen_mapping({topic.topic_id: topic for topic in found}),
        )
        self.coordinator.shard.apply_image(MetadataImage(offset=Offset(self.steps), topics=image))

    def _send(self, request: object, version: int) -> None:
        self.coordinator.send(request, version=version)


TestOffsets = OffsetMachine.TestCase
TestOffsets.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
