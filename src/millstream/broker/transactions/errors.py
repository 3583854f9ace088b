"""Translates errors of transactions into those that clients of older versions know."""

from __future__ import annotations

from millstream.errors import InvalidProducerEpoch, KafkaError, ProducerFenced


def error_code(error: KafkaError, version: int, knows_fenced_from: int) -> int:
    """Returns the code of `error`: older versions know INVALID_PRODUCER_EPOCH instead of PRODUCER_FENCED (KIP-588)."""
    if isinstance(error, ProducerFenced) and version < knows_fenced_from:
        return InvalidProducerEpoch.code
    return error.code
