"""The errors of transactions, as clients of older versions know them."""

from __future__ import annotations

from millstream.errors import InvalidProducerEpoch, KafkaError, ProducerFenced


def error_code(error: KafkaError, version: int, knows_fenced_from: int) -> int:
    """PRODUCER_FENCED came late to each API; before, a fenced producer was told INVALID_PRODUCER_EPOCH (KIP-588)."""
    if isinstance(error, ProducerFenced) and version < knows_fenced_from:
        return InvalidProducerEpoch.code
    return error.code
