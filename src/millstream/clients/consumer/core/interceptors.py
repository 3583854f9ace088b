"""The application's own look at what a consumer returns and commits (KIP-42).

Its errors are logged and go no further.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Generic

from millstream.clients.core.values import ConsumerRecord, Key, OffsetAndMetadata, Value
from millstream.model import TopicPartition

_LOGGER = logging.getLogger(__name__)


class ConsumerInterceptor(Generic[Key, Value]):
    """Override what you need. Called from poll() and commit(); must not block."""

    def on_consume(
        self, records: list[ConsumerRecord[Key, Value]]
    ) -> list[ConsumerRecord[Key, Value]]:
        """Takes the records that poll() or iteration is about to return; gives those that it returns instead.

        Not for Arrow batches.
        """
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Called after a commit succeeded."""


class ConsumerInterceptors(Generic[Key, Value]):
    """All interceptors of a consumer, in order: each sees what the one before made of the records."""

    def __init__(self, interceptors: Sequence[ConsumerInterceptor[Key, Value]]) -> None:
        self._interceptors = tuple(interceptors)

    def on_consume(
        self, records: list[ConsumerRecord[Key, Value]]
    ) -> list[ConsumerRecord[Key, Value]]:
        for interceptor in self._interceptors:
            try:
                records = interceptor.on_consume(records)
            except Exception:  # the application's own; reading goes on
                _LOGGER.exception("%r.on_consume failed; its input is passed on", interceptor)
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        for interceptor in self._interceptors:
            try:
                interceptor.on_commit(offsets)
            except Exception:  # the application's own; the offsets are committed
                _LOGGER.exception("%r.on_commit failed", interceptor)
