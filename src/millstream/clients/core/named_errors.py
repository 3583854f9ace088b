"""Errors that brokers answer, with a name for what they are about: an answer to a request for one
thing does not repeat it. Pure.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from millstream.errors import (
    ClusterAuthorizationFailed,
    GroupAuthorizationFailed,
    KafkaError,
    TopicAuthorizationFailed,
    TransactionalIdAuthorizationFailed,
    error_for,
)

_PERMISSIONS: Final = frozenset(
    kind.code
    for kind in (
        TopicAuthorizationFailed,
        GroupAuthorizationFailed,
        ClusterAuthorizationFailed,
        TransactionalIdAuthorizationFailed,
    )
)


def named_error(code: int, subject: str, message: str | None = None) -> KafkaError:
    """Returns the error of a code. It begins with `subject`; `message` is what the broker says itself, if anything."""
    sentence = str(error_for(code))
    says_more = message is not None and message.rstrip(".") != sentence.rstrip(".")
    if message and code in _PERMISSIONS and says_more:  # brokers never say which one
        return error_for(code, f"{subject}: {message.rstrip('.')}. {sentence}")
    return error_for(code, f"{subject}: {message or sentence}")


def transaction_error(
    code: int, subject: str, transactional_id: str | None, message: str | None = None
) -> KafkaError:
    """The same for a part of a transaction: a refused transactional id is answered for each of its parts."""
    if code == TransactionalIdAuthorizationFailed.code:
        subject = f"transactional id {transactional_id!r}"
    return named_error(code, subject, message)


def membership_error(
    code: int, group_id: str, topics: Collection[str], message: str | None = None
) -> KafkaError:
    """The same for an answer to a member that has named topics: those of them that its user may not
    use are not told.
    """
    subject = f"group {group_id!r}"
    if code == TopicAuthorizationFailed.code and topics:
        among = "topic" if len(topics) == 1 else "one of the topics"
        subject = f"{among} {', '.join(map(repr, sorted(topics)))} of {subject}"
    return named_error(code, subject, message)
