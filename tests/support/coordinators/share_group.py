"""One share group of a `SimCoordinator`, asked in one line. It plays the edge too: the share coordinator says yes to all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from millstream.coordinator.assignors.partition_assignor import Partitions
from millstream.coordinator.group.share.group import ShareGroup
from millstream.coordinator.group.share.heartbeat import HeartbeatOutcome
from millstream.coordinator.group.share.initialization import Initialization
from millstream.coordinator.group.share.requests import (
    PartitionsInitialized,
    PartitionsNotInitialized,
)
from millstream.errors import GroupIdNotFound, KafkaError
from millstream.metadata.config_resource import ConfigResource
from millstream.metadata.image import MetadataImage, frozen_mapping
from millstream.model import Offset
from millstream.protocol.enums import ConfigResourceType
from millstream.protocol.generated.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from millstream.protocol.generated.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from tests.support.coordinators.coordinator import SimCoordinator, topics_image

GROUP: Final = "workers"


class SimShareGroup:
    """A group and the members it was asked for, on the topics that `set_topics` said."""

    def __init__(self, coordinator: SimCoordinator, sizes: Mapping[str, int]) -> None:
        self.coordinator = coordinator
        self.initializes = True
        """Whether the share coordinator answers at all."""
        self.asked: list[Initialization] = []
        """What it was asked for."""
        self._epochs: dict[str, int] = {}
        self._held: dict[str, Partitions] = {}
        self._images = 0
        self._overrides: dict[str, str] = {}
        self._sizes = dict(sizes)
        self.set_topics(**sizes)

    @property
    def state(self) -> ShareGroup:
        group = self.coordinator.shard.groups.find_as(ShareGroup, GROUP)
        if group is None:
            raise GroupIdNotFound
        return group

    # --- the world

    def set_topics(self, **sizes: int) -> None:
        self._sizes = dict(sizes)
        self._publish()

    def set_config(self, name: str, value: str) -> None:
        self._overrides[name] = value
        self._publish()

    def _publish(self) -> None:
        resource = ConfigResource(ConfigResourceType.GROUP, GROUP)
        configs: dict[ConfigResource, Mapping[str, str]] = {
            resource: frozen_mapping(self._overrides)
        }
        self._images += 1
        image = MetadataImage(
            offset=Offset(self._images),
            topics=topics_image(self._sizes),
            configs=frozen_mapping(configs),
        )
        self.coordinator.shard.apply_image(image)

    # --- requests

    def join(self, member_id: str, *topics: str) -> ShareGroupHeartbeatResponse:
        self._epochs[member_id] = 0
        return self.heartbeat(member_id, topics=topics or ("orders",))

    def heartbeat(
        self,
        member_id: str,
        *,
        epoch: int | None = None,
        topics: Sequence[str] | None = None,
    ) -> ShareGroupHeartbeatResponse:
        """As the member would, unless told otherwise. Raises what it is refused with."""
        request = ShareGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=member_id,
            member_epoch=self._epochs[member_id] if epoch is None else epoch,
            subscribed_topic_names=None if topics is None else list(topics),
        )
        outcome = self.ask(request)
        assert isinstance(outcome, HeartbeatOutcome)
        if outcome.to_initialize is not None:
            self.asked.append(outcome.to_initialize)
            if self.initializes:
                self.ask(PartitionsInitialized(GROUP, outcome.to_initialize.partitions))
        self._remember(member_id, outcome.response)
        return outcome.response

    def refuse(self, initialization: Initialization) -> None:
        self.ask(PartitionsNotInitialized(GROUP, initialization.partitions))

    def leave(self, member_id: str) -> ShareGroupHeartbeatResponse:
        return self.heartbeat(member_id, epoch=-1)

    def settle(self, rounds: int = 3) -> dict[str, str]:
        """Everybody is heard until all have what they are meant to have; returns that, as text."""
        for _ in range(rounds):
            for member_id in self._epochs:
                self.heartbeat(member_id)
        return {member_id: self._text(held) for member_id, held in self._held.items()}

    def describe(self, group_id: str = GROUP) -> DescribedGroup:
        answer = self.ask(ShareGroupDescribeRequest(group_ids=[group_id]))
        assert isinstance(answer, ShareGroupDescribeResponse)
        return answer.groups[0]

    def ask(self, request: object) -> object:
        """Raises what the request is refused with."""
        token = self.coordinator.send(request, version=1)
        outcome = self.coordinator.outcomes[token]
        if isinstance(outcome, KafkaError):
            raise outcome
        return outcome

    # --- what members know

    def _remember(self, member_id: str, response: ShareGroupHeartbeatResponse) -> None:
        if response.member_epoch == -1:
            del self._epochs[member_id], self._held[member_id]
            return
        self._epochs[member_id] = response.member_epoch
        if response.assignment is not None:
            self._held[member_id] = {
                topic.topic_id: frozenset(topic.partitions)
                for topic in response.assignment.topic_partitions
            }

    def _text(self, held: Partitions) -> str:
        """`orders:0 orders:1`"""
        topics = self.coordinator.shard.image.topics.by_id
        return " ".join(
            sorted(f"{topics[t].name}:{p}" for t, numbers in held.items() for p in numbers)
        )
