"""What a failure of a task says of its topics."""

from __future__ import annotations

import pytest

from millstream.clients import TopicDeleted
from millstream.clients.producer.transaction.core.errors import TransactionFailed
from millstream.errors import NotLeaderOrFollower, RebalanceInProgress, UnknownTopicOrPartition
from millstream.streams.runtime.failures import is_retriable, misses_topic


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
