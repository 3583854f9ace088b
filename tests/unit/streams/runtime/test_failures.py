"""What a failure of a task says of its topics."""

from __future__ import annotations

import pytest

from millstream.clients import TopicDeleted
from millstream.clients.producer.transaction.core.errors import TransactionFailed
from millstream.errors import (
    NotLeaderOrFollower,
    RebalanceInProgress,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
)
from millstream.streams.runtime.failures import is_retriable, misses_topic, told_by_causes


@pytest.mark.parametrize("error", [TopicDeleted("gone"), UnknownTopicOrPartition("gone")])
def test_a_topic_that_is_not_there_is_missed_and_the_next_attempt_may_do_without(
    error: Exception,
) -> None:
    assert misses_topic(error)
    assert is_retriable(error)
    failed = TransactionFailed("not committed")
    failed.__cause__ = error
    assert misses_topic(failed)


def test_a_task_whose_commit_falls_into_a_rebalance_is_tried_again() -> None:
    """As a classic group's does, where a task commits where it begins just when the group shares out anew."""
    assert is_retriable(RebalanceInProgress("the group is rebalancing"))


@pytest.mark.parametrize("error", [NotLeaderOrFollower("elsewhere"), TimeoutError(), None])
def test_no_other_failure_says_so(error: Exception | None) -> None:
    assert not misses_topic(error)


def test_what_ends_a_transaction_is_told_by_itself() -> None:
    cause = TopicAuthorizationFailed("counts-0: Not authorized")
    with pytest.raises(TopicAuthorizationFailed) as told, told_by_causes():
        raise TransactionFailed("call abort_transaction()") from cause
    assert told.value is cause


def test_a_transaction_that_the_next_attempt_may_commit_has_failed_as_one() -> None:
    with pytest.raises(TransactionFailed), told_by_causes():
        raise TransactionFailed("call abort_transaction()") from NotLeaderOrFollower("elsewhere")
