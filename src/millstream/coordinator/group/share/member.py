"""One member of a share group: what it asked for and what it has been told. A value, replaced when a record says so."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from millstream.coordinator.assignors.partition_assignor import Partitions

JOINING_EPOCH: Final = 0
LEAVING_EPOCH: Final = -1


@dataclass(frozen=True, slots=True)
class ShareGroupMember:
    member_id: str
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: frozenset[str] = frozenset()
    member_epoch: int = JOINING_EPOCH
    previous_member_epoch: int = -1
    assigned: Partitions = field(default_factory=dict)
