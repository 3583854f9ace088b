"""Classes of errors by what they mean for a transaction: try again, abort, or give the producer up.

Java's classes of errors (KIP-691).
"""

from __future__ import annotations

from millstream.errors import (
    ClusterAuthorizationFailed,
    FencedInstanceId,
    GroupAuthorizationFailed,
    IllegalGeneration,
    InvalidProducerEpoch,
    InvalidProducerIdMapping,
    MillstreamError,
    OperationNotAttempted,
    ProducerFenced,
    StaleMemberEpoch,
    TopicAuthorizationFailed,
    TransactionAbortable,
    TransactionalIdAuthorizationFailed,
    UnknownMemberId,
    UnknownProducerId,
    UnsupportedVersion,
)

_FATAL_FOR_A_BATCH = (
    ClusterAuthorizationFailed,
    TransactionalIdAuthorizationFailed,
    ProducerFenced,
    UnsupportedVersion,
    InvalidProducerIdMapping,
)
_ABORTABLE_FOR_A_REQUEST = (
    TransactionAbortable,
    TopicAuthorizationFailed,
    GroupAuthorizationFailed,
    FencedInstanceId,
    UnknownMemberId,
    IllegalGeneration,
    StaleMemberEpoch,
    UnknownProducerId,
    OperationNotAttempted,
)


class TransactionFailed(MillstreamError):
    """The transaction cannot be committed: call abort_transaction(), then do its work again. `__cause__` says why."""


class TransactionalProducerFailed(MillstreamError):
    """No transaction of this producer can succeed any more: close it, or call init_transactions() to start over.

    `__cause__` says why. A producer that another one has fenced raises ProducerFenced instead.
    """


class TransactionAborted(MillstreamError):
    """The record was not written, because its transaction was aborted or had failed before."""


def is_fatal_for_batch(error: MillstreamError) -> bool:
    """A Produce request was refused so.

    InvalidProducerEpoch is not fatal here: whether another producer has taken over is told
    by the coordinator (KIP-588).
    """
    return isinstance(error, _FATAL_FOR_A_BATCH)


def is_fatal_for_request(error: MillstreamError) -> bool:
    """The transaction's or the group's coordinator refused so."""
    return not isinstance(error, _ABORTABLE_FOR_A_REQUEST)


def fenced(transactional_id: str) -> ProducerFenced:
    return ProducerFenced(
        f"another producer with transactional_id {transactional_id!r} has taken over; close this one,"
        " or call init_transactions() if it shall take over again"
    )


def as_fencing(error: MillstreamError, transactional_id: str) -> MillstreamError:
    """Coordinators say "invalid epoch" and "fenced" for the same thing, which is then the cause."""
    if not isinstance(error, InvalidProducerEpoch | ProducerFenced):
        return error
    told = fenced(transactional_id)
    told.__cause__ = error
    return told
