"""The lag of a group: how far it is behind the end of the partitions that it reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from millstream.clients import OffsetAndMetadata
from millstream.clients.admin import GroupMemberDescription
from millstream.console.views.offsets import Offsets, known_end
from millstream.errors import KafkaError
from millstream.model import TopicPartition

Committed = Mapping[TopicPartition, OffsetAndMetadata | KafkaError]
"""An answer of `Admin.list_consumer_group_offsets` for one group."""


@dataclass(frozen=True, slots=True)
class LagRow:
    """A partition that the group has committed to, or that a member reads. None: not committed, or not known."""

    topic: str
    partition: int
    committed_offset: int | None
    end_offset: int | None
    lag: int | None
    member_id: str | None
    client_id: str | None


def lag_rows(
    members: Iterable[GroupMemberDescription], committed: Committed, ends: Offsets
) -> tuple[LagRow, ...]:
    owners = {partition: member for member in members for partition in member.assignment}
    return tuple(
        _row(partition, owners.get(partition), committed, ends)
        for partition in sorted({*owners, *committed})
    )


def known_lag(rows: Iterable[LagRow]) -> int | None:
    """Returns the sum of what is known; None when nothing is."""
    known = [row.lag for row in rows if row.lag is not None]
    return sum(known) if known else None


def _row(
    partition: TopicPartition,
    owner: GroupMemberDescription | None,
    committed: Committed,
    ends: Offsets,
) -> LagRow:
    position = committed.get(partition)
    offset = position.offset if isinstance(position, OffsetAndMetadata) else None
    end = known_end(ends, partition)
    return LagRow(
        topic=partition.topic,
        partition=partition.partition,
        committed_offset=offset,
        end_offset=end,
        lag=None if offset is None or end is None else max(0, end - offset),
        member_id=None if owner is None else owner.member_id,
        client_id=None if owner is None else owner.client_id,
    )
