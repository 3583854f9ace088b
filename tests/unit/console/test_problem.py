from __future__ import annotations

import pytest

from millstream.console.views.problem import Problem, problem_of
from millstream.errors import (
    BrokerNotAvailable,
    EncodeError,
    GroupIdNotFound,
    InvalidTopic,
    MalformedMessage,
    MillstreamError,
    RequestTimedOut,
    TopicAuthorizationFailed,
    UnknownServerError,
    UnknownTopicOrPartition,
)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UnknownTopicOrPartition(), 404),
        (InvalidTopic(), 404),
        (GroupIdNotFound(), 404),
        (EncodeError("too long"), 404),
        (TopicAuthorizationFailed(), 403),
        (RequestTimedOut(), 503),
        (BrokerNotAvailable(), 503),
        (UnknownServerError(), 502),
        (MalformedMessage("short"), 502),
    ],
)
def test_each_error_has_its_status(error: MillstreamError, status: int) -> None:
    assert problem_of(error).status == status


def test_a_problem_says_the_sentence_and_kafkas_name() -> None:
    assert problem_of(UnknownTopicOrPartition("nosuch: not here")) == Problem(
        404, "Not Found", "UNKNOWN_TOPIC_OR_PARTITION", "nosuch: not here"
    )
