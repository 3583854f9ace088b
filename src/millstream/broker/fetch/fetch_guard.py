"""Says which partitions of one fetch its client may read, where an authorizer decides."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Self

from millstream.broker.fetch.fetch_session import FetchKey
from millstream.broker.requests.access import Access
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Metadata
from millstream.errors import (
    TopicAuthorizationFailed,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from millstream.model import ZERO_UUID
from millstream.protocol.generated.fetch import ReplicaState
from millstream.security.acl import Operation, ResourceType

TOLD_BEFORE_LOGS: Final = (TopicAuthorizationFailed, UnknownTopicOrPartition, UnknownTopicId)
"""Told by Kafka before it looks at logs, where no list of aborted transactions is empty instead of null."""


class FetchGuard:
    """Asks for each topic once in a request: what was decided holds when a fetch that waited reads again, as in Kafka.

    A partition that was quiet in its session when the request came is asked for when it made progress.
    """

    def __init__(
        self, access: Access, context: RequestContext, metadata: Metadata, *, is_follower: bool
    ) -> None:
        """A follower may read everything, or nothing."""
        self._access = access
        self._context = context
        self._metadata = metadata
        self._is_follower = is_follower
        self._is_refused = is_follower and not access.allows_on_cluster(
            context, Operation.CLUSTER_ACTION
        )
        self._mentions: dict[str, int] = {}
        self._decided: dict[str, bool] = {}

    @classmethod
    def of(
        cls,
        access: Access,
        context: RequestContext,
        metadata: Metadata,
        follower: ReplicaState | None,
    ) -> Self | None:
        """Returns the guard; None where everybody may read everything."""
        if access.is_open:
            return None
        return cls(access, context, metadata, is_follower=follower is not None)

    def begin(self, keys: Iterable[FetchKey]) -> None:
        """Counts how often the request names each topic, for the audit log."""
        if self._is_follower:
            return
        for key in keys:
            name = self._name(key)
            if name is not None:
                self._mentions[name] = self._mentions.get(name, 0) + 1

    def check(self, key: FetchKey) -> None:
        """Raises TopicAuthorizationFailed. Unknown topic ids pass: they are told as such."""
        if self._is_refused:
            raise TopicAuthorizationFailed
        if self._is_follower:
            return
        name = self._name(key)
        if name is None:
            return
        may_read = self._decided.get(name)
        if may_read is None:
            may_read = self._decided[name] = self._access.allows(
                self._context,
                Operation.READ,
                ResourceType.TOPIC,
                name,
                mentions=self._mentions.get(name, 1),
            )
        if not may_read:
            raise TopicAuthorizationFailed

    def _name(self, key: FetchKey) -> str | None:
        if key.topic_id == ZERO_UUID:
            return key.topic
        topic = self._metadata.image.topic_by_id(key.topic_id)
        return None if topic is None else topic.name
