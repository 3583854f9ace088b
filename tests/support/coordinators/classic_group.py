"""One group of a `SimCoordinator`, asked in one line: requests with sensible defaults, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.result import Token
from millstream.errors import GroupIdNotFound, KafkaError
from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.generated.heartbeat import HeartbeatRequest
from millstream.protocol.generated.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from millstream.protocol.generated.leave_group import LeaveGroupRequest, MemberIdentity
from millstream.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from millstream.protocol.generated.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from millstream.protocol.generated.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.support.coordinators.coordinator import SimCoordinator

SESSION_TIMEOUT_MS = 10_000
REBALANCE_TIMEOUT_MS = 30_000


@dataclass(frozen=True, slots=True)
class JoinSettings:
    """What a member says when it joins."""

    protocols: Mapping[str, bytes] = field(default_factory=lambda: {"range": b"metadata"})
    protocol_type: str = "consumer"
    session_timeout_ms: int = SESSION_TIMEOUT_MS
    rebalance_timeout_ms: int = REBALANCE_TIMEOUT_MS


class SimGroup:
    """Every method sends one request and gives its token; the answer is in the coordinator's `outcomes`."""

    def __init__(self, coordinator: SimCoordinator, group_id: str = "group") -> None:
        self.coordinator = coordinator
        self.group_id = group_id

    @property
    def state(self) -> ClassicGroup:
        group = self.coordinator.shard.groups.find_as(ClassicGroup, self.group_id)
        if group is None:
            raise GroupIdNotFound
        return group

    def answer(self, token: Token) -> Any:  # Any: each API has its own response class
        """The response to a request; None while it waits. Raises the error it failed with."""
        outcome = self.coordinator.outcomes.get(token)
        if isinstance(outcome, KafkaError):
            raise outcome
        return outcome

    def enter(
        self, *, client_id: str = "client", settings: JoinSettings | None = None
    ) -> tuple[str, Token]:
        """A dynamic member learns its id and joins with it: the id, and the JoinGroup that waits or is answered."""
        first = self.join(client_id=client_id, settings=settings)
        member_id = str(self.answer(first).member_id)
        return member_id, self.join(member_id, client_id=client_id, settings=settings)

    def form(self, size: int = 1) -> list[str]:
        """A stable group of `size` members with assignments `b"for 0"`, `b"for 1"` ...; the leader first."""
        members: list[str] = []
        for _ in range(size):
            members.append(self.enter()[0])
            for rejoining in members[:-1]:
                self.join(rejoining)
        self.coordinator.pass_time(self.coordinator.config.classic.initial_rebalance_delay_ms)
        generation = self.state.generation
        assignments = {member: f"for {index}".encode() for index, member in enumerate(members)}
        for member in reversed(members):
            self.sync(member, generation, assignments if member == members[0] else None)
        return members

    def join(
        self,
        member_id: str = "",
        *,
        settings: JoinSettings | None = None,
        instance_id: str | None = None,
        version: int = 9,
        client_id: str = "client",
    ) -> Token:
        said = settings or JoinSettings()
        request = JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=said.session_timeout_ms,
            rebalance_timeout_ms=said.rebalance_timeout_ms,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=said.protocol_type,
            protocols=[JoinGroupRequestProtocol(n, m) for n, m in said.protocols.items()],
        )
        return self.coordinator.send(request, version=version, client_id=client_id)

    def sync(
        self,
        member_id: str,
        generation: int,
        assignments: Mapping[str, bytes] | None = None,
        *,
        instance_id: str | None = None,
        protocol: tuple[str | None, str | None] = ("consumer", None),
    ) -> Token:
        """`protocol`: protocol type and name, each None to say nothing."""
        request = SyncGroupRequest(
            group_id=self.group_id,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol[0],
            protocol_name=protocol[1],
            assignments=[SyncGroupRequestAssignment(m, a) for m, a in (assignments or {}).items()],
        )
        return self.coordinator.send(request, version=5)

    def heartbeat(
        self, member_id: str, generation: int, *, instance_id: str | None = None
    ) -> Token:
        request = HeartbeatRequest(self.group_id, generation, member_id, instance_id)
        return self.coordinator.send(request, version=4)

    def leave(self, *members: tuple[str, str | None]) -> Token:
        """Each member by id and instance id."""
        request = LeaveGroupRequest(
            group_id=self.group_id, members=[MemberIdentity(*names) for names in members]
        )
        return self.coordinator.send(request, version=5)

    def commit(
        self,
        offsets: Mapping[tuple[str, int], int],
        *,
        member_id: str = "",
        generation: int = -1,
        instance_id: str | None = None,
        version: int = 9,
        metadata: str | None = "",
        retention_time_ms: int = -1,
        topic_id: Uuid = ZERO_UUID,
    ) -> Token:
        request = OffsetCommitRequest(
            group_id=self.group_id,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            group_instance_id=instance_id,
            retention_time_ms=retention_time_ms,
            topics=[
                OffsetCommitRequestTopic(
                    topic, topic_id, [OffsetCommitRequestPartition(partition, offset, -1, metadata)]
                )
                for (topic, partition), offset in offsets.items()
            ],
        )
        return self.coordinator.send(request, version=version)

    def fetch(
        self,
        topics: Mapping[str, Sequence[int]] | None = None,
        *,
        require_stable: bool = False,
        topic_id: Uuid = ZERO_UUID,
    ) -> Token:
        """Topics of None asks for all."""
        asked = None
        if topics is not None:
            asked = [OffsetFetchRequestTopics(t, topic_id, list(ps)) for t, ps in topics.items()]
        group = OffsetFetchRequestGroup(group_id=self.group_id, topics=asked)
        request = OffsetFetchRequest(groups=[group], require_stable=require_stable)
        return self.coordinator.send(request, version=9)
