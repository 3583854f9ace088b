"""Members of groups without a consumer: one heartbeat joins, the last one leaves. Sent by the admin client's driver."""

from __future__ import annotations

from typing import TypeVar
from uuid import uuid4

from millstream.clients import Admin
from millstream.clients.admin.core.call import Asked, Call
from millstream.clients.admin.core.results import check
from millstream.clients.admin.core.routes import GROUP_COORDINATOR
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.generated.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from millstream.protocol.generated.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Subtopology,
    Topology,
)

Beat = TypeVar(
    "Beat",
    ShareGroupHeartbeatResponse,
    StreamsGroupHeartbeatResponse,
)
LEAVE = -1


async def join_share_group(admin: Admin, group: str, topic: str) -> tuple[str, int]:
    """The member's id and epoch."""
    request = ShareGroupHeartbeatRequest(
        group_id=group, member_id=str(uuid4()), member_epoch=0, subscribed_topic_names=[topic]
    )
    response = await _beat(
        admin, ApiKey.SHARE_GROUP_HEARTBEAT, ShareGroupHeartbeatResponse, request, group
    )
    return response.member_id or "", response.member_epoch


async def beat_share_group(admin: Admin, group: str, member: str, epoch: int) -> int:
    """The member's next epoch. LEAVE leaves."""
    request = ShareGroupHeartbeatRequest(group_id=group, member_id=member, member_epoch=epoch)
    response = await _beat(
        admin, ApiKey.SHARE_GROUP_HEARTBEAT, ShareGroupHeartbeatResponse, request, group
    )
    return response.member_epoch


async def leave_share_group(admin: Admin, group: str, member: str) -> None:
    await beat_share_group(admin, group, member, LEAVE)


async def join_streams_group(admin: Admin, group: str, topic: str) -> str:
    """With a topology of one subtopology, `0`, that reads the topic."""
    request = StreamsGroupHeartbeatRequest(
        group_id=group,
        member_id=str(uuid4()),
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        topology=Topology(
            epoch=3, subtopologies=[Subtopology(subtopology_id="0", source_topics=[topic])]
        ),
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
        process_id="process-1",
        client_tags=[],
    )
    response = await _beat(
        admin, ApiKey.STREAMS_GROUP_HEARTBEAT, StreamsGroupHeartbeatResponse, request, group
    )
    return response.member_id


async def leave_streams_group(admin: Admin, group: str, member: str) -> None:
    request = StreamsGroupHeartbeatRequest(group_id=group, member_id=member, member_epoch=LEAVE)
    await _beat(
        admin, ApiKey.STREAMS_GROUP_HEARTBEAT, StreamsGroupHeartbeatResponse, request, group
    )


async def _beat(
    admin: Admin, api: ApiKey, response_type: type[Beat], request: Message, group: str
) -> Beat:
    def read(response: Beat, asked: Asked[str]) -> dict[str, Beat]:
        check(response.error_code, group, response.error_message)
        return dict.fromkeys(asked.keys, response)

    call = Call[str, Beat, Beat](
        api=api,
        response=response_type,
        route=GROUP_COORDINATOR,
        build=lambda _: request,
        read=read,
    )
    return await admin._driver.one(call, group, admin._driver.deadline(None))
