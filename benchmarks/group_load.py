"""Members of classic groups that do nothing but stay: raw JoinGroup, SyncGroup, then heartbeats every three seconds."""

from __future__ import annotations

import selectors
import time
from dataclasses import dataclass
from typing import Final

from benchmarks.wire import Connection, frame_of
from millstream.protocol.api import ApiKey
from millstream.protocol.frames import decode_response
from millstream.protocol.generated.consumer_protocol import ConsumerProtocolSubscription
from millstream.protocol.generated.describe_groups import DescribeGroupsRequest
from millstream.protocol.generated.find_coordinator import FindCoordinatorRequest
from millstream.protocol.generated.heartbeat import HeartbeatRequest
from millstream.protocol.generated.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from millstream.protocol.generated.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

HEARTBEAT_INTERVAL_S: Final = 3.0
_JOIN_VERSION: Final = 3
"""The last one that needs no second JoinGroup with a member id."""
_RESPONSE_BYTES_MAX: Final = 1 << 16


@dataclass
class _Member:
    group_id: str
    connection: Connection
    member_id: str = ""
    generation: int = -1
    heartbeat: bytes = b""


class GroupLoad:
    def __init__(self, address: str, groups: int, members_per_group: int) -> None:
        self._groups = [
            [
                _Member(f"load-{g}", Connection(address, _RESPONSE_BYTES_MAX))
                for _ in range(members_per_group)
            ]
            for g in range(groups)
        ]
        self._members = [member for group in self._groups for member in group]

    def join(self) -> None:
        """Returns when every group is stable. The broker's group.initial.rebalance.delay.ms must be a few seconds."""
        self._find_coordinator()
        for member in self._members:
            member.connection.send(_join_frame(member.group_id))
        for group in self._groups:
            self._finish_join(group)

    def heartbeat(self, seconds: float) -> int:
        """Every member, every three seconds, spread evenly. Returns how many were answered without an error."""
        selector = selectors.DefaultSelector()
        for member in self._members:
            selector.register(member.connection.socket, selectors.EVENT_READ, member)
        pause_s = HEARTBEAT_INTERVAL_S / len(self._members)
        start = time.perf_counter()
        sent = answered = 0
        while (now := time.perf_counter() - start) < seconds:
            while sent * pause_s <= now:
                member = self._members[sent % len(self._members)]
                member.connection.send(member.heartbeat)
                sent += 1
            for key, _ in selector.select(pause_s):
                answered += _is_alive(key.data)
        selector.close()
        return answered

    def close(self) -> None:
        for member in self._members:
            member.connection.close()

    def _find_coordinator(self) -> None:
        """The first question makes the topic."""
        connection = self._members[0].connection
        for _ in range(200):
            request = FindCoordinatorRequest(key=self._members[0].group_id)
            found = connection.ask(ApiKey.FIND_COORDINATOR, 2, request)
            if not found.error_code and self._is_loaded(connection):  # type: ignore[attr-defined]
                return
            time.sleep(0.05)
        raise TimeoutError("no group coordinator")

    def _is_loaded(self, connection: Connection) -> bool:
        """Every shard answers; a group that has been described is not made by it."""
        request = DescribeGroupsRequest(groups=[group[0].group_id for group in self._groups])
        described = connection.ask(ApiKey.DESCRIBE_GROUPS, 5, request)
        return not any(group.error_code for group in described.groups)  # type: ignore[attr-defined]

    def _finish_join(self, group: list[_Member]) -> None:
        leader = None
        for member in group:
            answer = _received(member, ApiKey.JOIN_GROUP, _JOIN_VERSION)
            assert answer.error_code == 0, answer  # type: ignore[attr-defined]
            member.member_id, member.generation = answer.member_id, answer.generation_id  # type: ignore[attr-defined]
            if answer.leader == answer.member_id:  # type: ignore[attr-defined]
                leader = member
            member.heartbeat = frame_of(
                ApiKey.HEARTBEAT,
                3,
                HeartbeatRequest(member.group_id, member.generation, member.member_id),
            )
        for member in group:
            assignments = (
                [SyncGroupRequestAssignment(m.member_id, b"x") for m in group]
                if member is leader
                else []
            )
            request = SyncGroupRequest(
                group_id=member.group_id,
                generation_id=member.generation,
                member_id=member.member_id,
                assignments=assignments,
            )
            member.connection.send(frame_of(ApiKey.SYNC_GROUP, 2, request))
        for member in group:
            answer = _received(member, ApiKey.SYNC_GROUP, 2)
            assert answer.error_code == 0, answer  # type: ignore[attr-defined]


def _join_frame(group_id: str) -> bytes:
    request = JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=45_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol("range", _subscription())],
    )
    return frame_of(ApiKey.JOIN_GROUP, _JOIN_VERSION, request)


def _subscription() -> bytes:
    """Kafka's coordinator reads it, and drops the group's rebalance when it cannot."""
    out = bytearray((0).to_bytes(2, "big"))
    ConsumerProtocolSubscription(topics=["load"]).encode(out, 0)
    return bytes(out)


def _received(member: _Member, key: ApiKey, version: int) -> object:
    return decode_response(key, version, memoryview(bytes(member.connection.receive())))[1]


def _is_alive(member: _Member) -> bool:
    answer = _received(member, ApiKey.HEARTBEAT, 3)
    return answer.error_code == 0  # type: ignore[attr-defined]
