"""One consumer group of a `SimCoordinator`, asked in one line: members that behave as clients of KIP-848 do, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from millstream.coordinator.group.consumer.group import ConsumerGroup
from millstream.errors import GroupIdNotFound, KafkaError
from millstream.metadata.config_resource import ConfigResource
from millstream.metadata.image import MetadataImage, frozen_mapping
from millstream.model import Offset
from millstream.protocol.enums import ConfigResourceType
from millstream.protocol.generated.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    DescribedGroup,
)
from millstream.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from tests.support.coordinators.coordinator import SimCoordinator, topics_image

REBALANCE_TIMEOUT_MS: Final = 30_000
GROUP: Final = "group"

Owned = dict[str, list[int]]
"""Partitions by topic name, in order; topics without partitions are absent."""


@dataclass
class SimConsumer:
    """What a client remembers between heartbeats."""

    member_id: str
    topics: list[str] | None
    regex: str | None = None
    instance_id: str | None = None
    assignor: str | None = None
    epoch: int = 0
    owned: Owned = field(default_factory=dict)
    reported: Owned = field(default_factory=dict)
    """What it last told the coordinator that it owns."""


class SimConsumerGroup:
    """A group and its members, on the topics that `set_topics` said."""

    def __init__(self, coordinator: SimCoordinator, group_id: str = GROUP) -> None:
        self.coordinator = coordinator
        self.group_id = group_id
        self._offset = 0

    @property
    def state(self) -> ConsumerGroup:
        group = self.coordinator.shard.groups.find(self.group_id)
        if not isinstance(group, ConsumerGroup):
            raise GroupIdNotFound
        return group

    def set_topics(self, sizes: Mapping[str, int], **configs: str) -> None:
        """A new image: topics by name and number of partitions, and dynamic configurations of the group."""
        self._offset += 1
        key = ConfigResource(ConfigResourceType.GROUP, self.group_id)
        overrides = {name.replace("_", "."): value for name, value in configs.items()}
        image = MetadataImage(
            offset=Offset(self._offset),
            topics=topics_image(sizes),
            configs=frozen_mapping({key: frozen_mapping(overrides)} if overrides else {}),
        )
        self.coordinator.shard.apply_image(image)

    # Members

    def joins(
        self,
        member_id: str,
        *topics: str,
        regex: str | None = None,
        instance_id: str | None = None,
        assignor: str | None = None,
    ) -> SimConsumer:
        """Raises what it is refused with."""
        names = None if regex is not None and not topics else list(topics)
        member = SimConsumer(member_id, names, regex, instance_id, assignor)
        self.rejoins(member)
        return member

    def rejoins(self, member: SimConsumer) -> None:
        """From the beginning, owning nothing."""
        member.epoch, member.owned = 0, {}
        self._take(member, self.ask(member, says_all=True))

    def beats(self, member: SimConsumer) -> bool:
        """A heartbeat, and another one if the answer changed what the member owns. Whether there was any news."""
        is_news = self.hears(member)
        if member.owned != member.reported:
            self.hears(member)
        return is_news

    def hears(self, member: SimConsumer, *, says_all: bool = False) -> bool:
        """One heartbeat. Whether there was any news."""
        has_changed = member.owned != member.reported
        return self._take(member, self.ask(member, says_all=says_all, says_owned=has_changed))

    def changes(
        self, member: SimConsumer, topics: Sequence[str] | None = None, regex: str | None = None
    ) -> None:
        """Subscribes to something else."""
        member.topics = None if topics is None else list(topics)
        member.regex = regex
        if topics is None:
            member.topics = []
        self._take(member, self.ask(member, says_all=True))

    def leaves(self, member: SimConsumer, *, for_a_while: bool = False) -> None:
        epoch = -2 if for_a_while else -1
        self.send(
            ConsumerGroupHeartbeatRequest(
                self.group_id, member.member_id, epoch, instance_id=member.instance_id
            )
        )
        member.epoch, member.owned = 0, {}

    def settles(self, *members: SimConsumer, rounds_max: int = 20) -> None:
        """Heartbeats, a second and more apart, until nobody is told anything new."""
        for _ in range(rounds_max):
            self.coordinator.pass_time(1_100)
            news = [self.beats(member) for member in members]
            if not any(news) and self.state.state_name == "Stable":
                return
        raise AssertionError("the group does not settle")

    # Requests

    def ask(
        self, member: SimConsumer, *, says_all: bool = False, says_owned: bool = False
    ) -> ConsumerGroupHeartbeatResponse:
        request = ConsumerGroupHeartbeatRequest(
            self.group_id, member.member_id, member.epoch, instance_id=member.instance_id
        )
        if says_all or says_owned:
            member.reported = dict(member.owned)
            by_name = self.coordinator.shard.image.topics.by_name
            request.topic_partitions = [
                TopicPartitions(by_name[topic].topic_id, partitions)
                for topic, partitions in member.owned.items()
                if topic in by_name
            ]
        if says_all:
            request.rebalance_timeout_ms = REBALANCE_TIMEOUT_MS
            request.subscribed_topic_names = member.topics
            request.subscribed_topic_regex = member.regex
            request.server_assignor = member.assignor
        return self.send(request)

    def send(
        self, request: ConsumerGroupHeartbeatRequest, version: int = 1
    ) -> ConsumerGroupHeartbeatResponse:
        """Raises what it is refused with."""
        answer = self._ask(request, version)
        assert isinstance(answer, ConsumerGroupHeartbeatResponse), "a heartbeat is answered at once"
        return answer

    def described(self) -> DescribedGroup:
        request = ConsumerGroupDescribeRequest([self.group_id])
        response = self._ask(request, 1)
        described: DescribedGroup = response.groups[0]
        return described

    def _ask(self, request: object, version: int) -> Any:  # Any: whichever API
        token = self.coordinator.send(request, version=version)
        outcome = self.coordinator.outcomes.get(token)
        if isinstance(outcome, KafkaError):
            raise outcome
        return outcome

    def _take(self, member: SimConsumer, answer: ConsumerGroupHeartbeatResponse) -> bool:
        """What the client does with an answer. Whether there was anything to do."""
        is_new = answer.member_epoch != member.epoch
        member.epoch = answer.member_epoch
        if answer.assignment is None:
            return is_new
        by_id = self.coordinator.shard.image.topics.by_id
        told = {
            by_id[each.topic_id].name: sorted(each.partitions)
            for each in answer.assignment.topic_partitions
            if each.topic_id in by_id
        }
        is_new = is_new or told != member.owned
        member.owned = told
        return is_new
