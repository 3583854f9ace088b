"""One heartbeat on its way through the coordinator: who asks, when, under which limits, and what the member will be told."""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.coordinator.assignors.task import Tasks
from millstream.coordinator.group.context import OperationContext
from millstream.coordinator.group.streams.config import StreamsGroupSettings
from millstream.coordinator.group.streams.member import JOIN_EPOCH
from millstream.coordinator.group.streams.topology_problem import StatusCode
from millstream.coordinator.result import Caller
from millstream.protocol.generated.streams_group_heartbeat import (
    Status,
    StreamsGroupHeartbeatRequest,
)


@dataclass(slots=True)
class Beat:
    request: StreamsGroupHeartbeatRequest
    caller: Caller
    context: OperationContext
    settings: StreamsGroupSettings
    owned: Tasks | None
    """What the member says it holds; None when it says nothing new."""
    statuses: list[Status] = field(default_factory=list)

    @property
    def is_join(self) -> bool:
        return self.request.member_epoch == JOIN_EPOCH

    def tell(self, code: StatusCode, detail: str) -> None:
        """Not an error: the member is served, and learns what is in its way."""
        self.statuses.append(Status(code, detail))
