"""A member of a share group that sends the requests it is told to send: every answer can be looked at."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final, Self

from millstream.model import Uuid
from millstream.protocol.api import ApiKey
from millstream.protocol.generated import share_acknowledge, share_fetch
from millstream.protocol.generated.find_coordinator import FindCoordinatorRequest
from millstream.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from millstream.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic
from millstream.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.support.clients.raw_client import Content, RawClient

_GROUP: Final = 32
_SET: Final = 0
_JOIN_ATTEMPTS: Final = 1_000
_RETRY_S: Final = 0.02
Acknowledgement = tuple[int, int, Sequence[int]]
"""First and last offset, and one type for all or one for each."""


class RawShareMember:
    """Reads partition 0 of one topic. A context manager that leaves nothing but an open connection behind."""

    def __init__(self, bootstrap: str, group_id: str, member_id: str, topic: str) -> None:
        self.client = RawClient(bootstrap)
        self.group_id = group_id
        self.member_id = member_id
        self.topic = topic
        self.topic_id = topic_id_of(self.client, topic)
        self.session_epoch = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.client.socket.close()

    def join(self) -> Self:
        """Returns once the partition is assigned."""
        find = FindCoordinatorRequest(key_type=0, coordinator_keys=[self.group_id])
        epoch = 0
        for _ in range(_JOIN_ATTEMPTS):
            if self.client.ask(ApiKey.FIND_COORDINATOR, 4, find).coordinators[0].error_code:
                threading.Event().wait(_RETRY_S)
                continue
            answer = self.heartbeat(epoch)
            epoch = answer.member_epoch
            if answer.assignment is not None and answer.assignment.topic_partitions:
                return self
            threading.Event().wait(_RETRY_S)
        raise TimeoutError(f"{self.topic} is not assigned")

    def heartbeat(self, epoch: int) -> Content:
        request = ShareGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            member_epoch=epoch,
            subscribed_topic_names=[self.topic],
        )
        return self.client.ask(ApiKey.SHARE_GROUP_HEARTBEAT, 1, request)

    def fetch(
        self,
        *acknowledgements: Acknowledgement,
        epoch: int | None = None,
        **fields: Any,  # Any: whatever field of the request a test is about
    ) -> Content:
        """The whole answer; `epoch` other than the session's own is what some tests are about."""
        batches = [share_fetch.AcknowledgementBatch(a, b, list(c)) for a, b, c in acknowledgements]
        partition = share_fetch.FetchPartition(0, batches)
        known = {"max_wait_ms": 20_000, "min_bytes": 1, "max_records": 500, "batch_size": 500}
        request = share_fetch.ShareFetchRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            share_session_epoch=self._next_epoch(epoch),
            topics=[share_fetch.FetchTopic(self.topic_id, [partition])],
            **{**known, **fields},
        )
        return self.client.ask(ApiKey.SHARE_FETCH, 2, request)

    def acquire(self, **fields: Any) -> list[tuple[int, int, int]]:  # Any: as for `fetch`
        """(first offset, last offset, delivery count) of what comes. Where nothing is to come: with a short `max_wait_ms`."""
        answer = self.fetch(**fields)
        assert answer.error_code == 0, answer
        partitions = [partition for topic in answer.responses for partition in topic.partitions]
        assert all(partition.error_code == 0 for partition in partitions), partitions
        return [
            (acquired.first_offset, acquired.last_offset, acquired.delivery_count)
            for partition in partitions
            for acquired in partition.acquired_records
        ]

    def acknowledge(self, *acknowledgements: Acknowledgement, epoch: int | None = None) -> Content:
        """The answer for the partition."""
        batches = [
            share_acknowledge.AcknowledgementBatch(a, b, list(c)) for a, b, c in acknowledgements
        ]
        partition = share_acknowledge.AcknowledgePartition(0, batches)
        request = share_acknowledge.ShareAcknowledgeRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            share_session_epoch=self._next_epoch(epoch),
            topics=[share_acknowledge.AcknowledgeTopic(self.topic_id, [partition])],
        )
        answer = self.client.ask(ApiKey.SHARE_ACKNOWLEDGE, 2, request)
        assert answer.error_code == 0, answer
        return answer.responses[0].partitions[0]

    def close_session(self) -> None:
        request = share_fetch.ShareFetchRequest(
            group_id=self.group_id, member_id=self.member_id, share_session_epoch=-1
        )
        answer = self.client.ask(ApiKey.SHARE_FETCH, 2, request)
        assert answer.error_code == 0, answer
        self.session_epoch = 0

    def _next_epoch(self, wanted: int | None) -> int:
        if wanted is not None:
            return wanted
        epoch = self.session_epoch
        self.session_epoch += 1
        return epoch


def topic_id_of(client: RawClient, topic: str) -> Uuid:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
    topic_id: Uuid = client.ask(ApiKey.METADATA, 12, request).topics[0].topic_id
    return topic_id


def configure_group(client: RawClient, group_id: str, **settings: object) -> None:
    """`share.auto.offset.reset` is written `auto_offset_reset`."""
    configs = [
        AlterableConfig(f"share.{name.replace('_', '.')}", _SET, str(value))
        for name, value in settings.items()
    ]
    request = IncrementalAlterConfigsRequest(
        resources=[AlterConfigsResource(_GROUP, group_id, configs)]
    )
    answer = client.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request)
    assert answer.responses[0].error_code == 0, answer
