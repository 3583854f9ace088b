"""ShareFetch and ShareAcknowledge requests as a member of a share group writes them (KIP-932, KIP-1206, KIP-1222), and
its session with one broker: which partitions it hands us records of, and the epoch of the next request.

Epoch 0 opens a session, -1 closes it and gives back what is acquired. A broker that was asked at another epoch than it
expects refuses; so does one whose session ended with its connection. Acknowledgements need a session that is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from millstream.clients.share.core.values import (
    Acknowledgements,
    TopicIdPartition,
    acknowledged_ranges,
)
from millstream.model import Uuid
from millstream.protocol.enums import AcknowledgeType
from millstream.protocol.generated import share_acknowledge, share_fetch

NEW_SESSION_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
_EPOCH_MAX: Final = 2**31 - 1


class SessionChange(NamedTuple):
    """The partitions that a fetch adds to its session, and forgets."""

    added: list[TopicIdPartition]
    forgotten: list[TopicIdPartition]


class ShareSessionHandler:
    def __init__(self) -> None:
        self.epoch = NEW_SESSION_EPOCH
        self.partitions: set[TopicIdPartition] = set()

    @property
    def is_new(self) -> bool:
        """The broker does not know it yet, or any more: it takes no acknowledgements."""
        return self.epoch == NEW_SESSION_EPOCH

    def look_at(self, partitions: Iterable[TopicIdPartition]) -> SessionChange:
        """The next fetch is about `partitions` and no others."""
        wanted = set(partitions)
        known = set() if self.is_new else self.partitions
        self.partitions = wanted
        return SessionChange(sorted(wanted - known), sorted(known - wanted))

    def handle_answer(self) -> None:
        self.epoch = 1 if self.epoch == _EPOCH_MAX else self.epoch + 1

    def handle_lost(self) -> None:
        """Begins another session: the broker refused this one or its epoch, or may not have seen the last request."""
        self.epoch = NEW_SESSION_EPOCH


_BATCH_OPTIMIZED = 0
_RECORD_LIMIT = 1

AcknowledgementsByPartition = Mapping[TopicIdPartition, Acknowledgements]


@dataclass(frozen=True, slots=True)
class SharePolicy:
    group_id: str
    member_id: str
    min_bytes: int = 1
    max_wait_ms: int = 500
    max_bytes: int = 52_428_800
    is_record_limit: bool = False
    check_crcs: bool = True


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """All zero: nothing is to be fetched. A request that renews locks must say so."""

    max_wait_ms: int = 0
    min_bytes: int = 0
    max_bytes: int = 0
    max_records: int = 0


def fetch_request(
    policy: SharePolicy,
    session_epoch: int,
    change: SessionChange,
    acknowledgements: AcknowledgementsByPartition,
    limits: FetchLimits,
) -> share_fetch.ShareFetchRequest:
    topics: dict[Uuid, share_fetch.FetchTopic] = {}
    for each in dict.fromkeys((*change.added, *acknowledgements)):
        topic = topics.setdefault(each.topic_id, share_fetch.FetchTopic(each.topic_id, []))
        batches = [
            share_fetch.AcknowledgementBatch(*said)
            for said in acknowledged_ranges(acknowledgements.get(each, {}))
        ]
        topic.partitions.append(share_fetch.FetchPartition(each.partition, batches))
    return share_fetch.ShareFetchRequest(
        group_id=policy.group_id,
        member_id=policy.member_id,
        share_session_epoch=session_epoch,
        max_wait_ms=limits.max_wait_ms,
        min_bytes=limits.min_bytes,
        max_bytes=limits.max_bytes,
        max_records=limits.max_records,
        batch_size=limits.max_records,
        share_acquire_mode=_RECORD_LIMIT if policy.is_record_limit else _BATCH_OPTIMIZED,
        is_renew_ack=has_renewals(acknowledgements),
        topics=list(topics.values()),
        forgotten_topics_data=_forgotten(change.forgotten),
    )


def acknowledge_request(
    policy: SharePolicy, session_epoch: int, acknowledgements: AcknowledgementsByPartition
) -> share_acknowledge.ShareAcknowledgeRequest:
    topics: dict[Uuid, share_acknowledge.AcknowledgeTopic] = {}
    for each, said in acknowledgements.items():
        topic = topics.setdefault(
            each.topic_id, share_acknowledge.AcknowledgeTopic(each.topic_id, [])
        )
        batches = [
            share_acknowledge.AcknowledgementBatch(*part) for part in acknowledged_ranges(said)
        ]
        topic.partitions.append(share_acknowledge.AcknowledgePartition(each.partition, batches))
    return share_acknowledge.ShareAcknowledgeRequest(
        group_id=policy.group_id,
        member_id=policy.member_id,
        share_session_epoch=session_epoch,
        is_renew_ack=has_renewals(acknowledgements),
        topics=list(topics.values()),
    )


def has_renewals(acknowledgements: AcknowledgementsByPartition) -> bool:
    return any(AcknowledgeType.RENEW in said.values() for said in acknowledgements.values())


def _forgotten(partitions: Iterable[TopicIdPartition]) -> list[share_fetch.ForgottenTopic]:
    topics: dict[Uuid, share_fetch.ForgottenTopic] = {}
    for each in partitions:
        topic = topics.setdefault(each.topic_id, share_fetch.ForgottenTopic(each.topic_id, []))
        topic.partitions.append(each.partition)
    return list(topics.values())
