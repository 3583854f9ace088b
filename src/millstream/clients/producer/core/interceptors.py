"""Interceptors of a producer (KIP-42): they see each record before it is sent, and what became of it.

An interceptor that raises is logged and passed over; nothing it does may reach the caller of send() or other records.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic

from millstream.clients.core.values import Headers, Key, RecordMetadata, Value

_LOGGER = logging.getLogger(__name__)

DeliveryCallback = Callable[[RecordMetadata, Exception | None], object]
"""(where the record is, or -1s, and None) or (topic and partition as far as known, the error)."""


@dataclass(frozen=True, slots=True)
class ProducerRecord(Generic[Key, Value]):
    """A record as given to send(), before anything is serialized or chosen."""

    topic: str
    value: Value | None = None
    key: Key | None = None
    headers: Headers | None = None
    partition: int | None = None
    timestamp_ms: int | None = None


class ProducerInterceptor(Generic[Key, Value]):
    """Override what you need. One instance may be called from several threads at once; be quick."""

    def on_send(self, record: ProducerRecord[Key, Value]) -> ProducerRecord[Key, Value]:
        """Called in send(), before serialization and before a partition is chosen. Returns the record to send.

        Better leave topic and partition alone: what others count on, like a key's partition, goes by the new ones.
        """
        return record

    def on_acknowledgement(self, metadata: RecordMetadata, error: Exception | None) -> None:
        """Called before anything else is told of the outcome. Unknown partition, offset and timestamp are -1."""

    def close(self) -> None:
        """The producer is closed."""


class ProducerInterceptors(Generic[Key, Value]):
    """Called in their order."""

    def __init__(self, interceptors: Iterable[ProducerInterceptor[Key, Value]]) -> None:
        self._interceptors = tuple(interceptors)

    def __bool__(self) -> bool:
        return bool(self._interceptors)

    def on_send(self, record: ProducerRecord[Key, Value]) -> ProducerRecord[Key, Value]:
        for interceptor in self._interceptors:
            try:
                record = interceptor.on_send(record)
            except Exception:  # whatever it is, it is the interceptor's
                _LOGGER.exception("interceptor %r failed in on_send", interceptor)
        return record

    def on_acknowledgement(self, metadata: RecordMetadata, error: Exception | None) -> None:
        for interceptor in self._interceptors:
            try:
                interceptor.on_acknowledgement(metadata, error)
            except Exception:  # whatever it is, it is the interceptor's
                _LOGGER.exception("interceptor %r failed in on_acknowledgement", interceptor)

    def close(self) -> None:
        for interceptor in self._interceptors:
            try:
                interceptor.close()
            except Exception:  # whatever it is, it is the interceptor's
                _LOGGER.exception("interceptor %r failed in close", interceptor)

    def before(self, callback: DeliveryCallback | None) -> DeliveryCallback | None:
        """Returns one callback that tells the interceptors, then `callback`."""
        if not self._interceptors:
            return callback

        def tell(metadata: RecordMetadata, error: Exception | None) -> None:
            self.on_acknowledgement(metadata, error)
            if callback is not None:
                callback(metadata, error)

        return tell
