"""The page of an error: its sentence and its status of HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from millstream.console.views.payload import visible
from millstream.errors import (
    BrokerNotAvailable,
    ClusterAuthorizationFailed,
    EncodeError,
    GroupAuthorizationFailed,
    GroupIdNotFound,
    InvalidGroupId,
    InvalidTopic,
    KafkaError,
    MillstreamError,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
)

_SENTENCES = {
    HTTPStatus.NOT_FOUND: "There is no such page.",
    HTTPStatus.METHOD_NOT_ALLOWED: "A page is read with GET; what changes something has an address of its own.",
    HTTPStatus.INTERNAL_SERVER_ERROR: "This is a fault of the console; its log says more.",
}

_STATUS_BY_ERROR: dict[type[MillstreamError], HTTPStatus] = {
    UnknownTopicOrPartition: HTTPStatus.NOT_FOUND,
    InvalidTopic: HTTPStatus.NOT_FOUND,
    GroupIdNotFound: HTTPStatus.NOT_FOUND,
    InvalidGroupId: HTTPStatus.NOT_FOUND,
    EncodeError: HTTPStatus.NOT_FOUND,  # a name longer than the protocol can carry
    BrokerNotAvailable: HTTPStatus.SERVICE_UNAVAILABLE,  # not retriable by Kafka's table; a reader may well retry
    TopicAuthorizationFailed: HTTPStatus.FORBIDDEN,
    GroupAuthorizationFailed: HTTPStatus.FORBIDDEN,
    ClusterAuthorizationFailed: HTTPStatus.FORBIDDEN,
}


@dataclass(frozen=True, slots=True)
class Problem:
    """`error` is Kafka's name of it; empty for what Kafka has no name for."""

    status: int
    title: str
    error: str
    sentence: str


def problem_of(error: MillstreamError) -> Problem:
    status = _STATUS_BY_ERROR.get(type(error))
    if status is None:
        passing = isinstance(error, KafkaError) and error.retriable
        status = HTTPStatus.SERVICE_UNAVAILABLE if passing else HTTPStatus.BAD_GATEWAY
    name = error.name if isinstance(error, KafkaError) else ""
    return Problem(status.value, _title(status), name, visible(str(error)))


def problem_of_status(status: HTTPStatus, sentence: str = "") -> Problem:
    """Returns the problem of an HTTP status. `sentence` is used where the status alone does not say it all."""
    return Problem(
        status.value, _title(status), "", visible(_SENTENCES.get(status, sentence or status.phrase))
    )


def _title(status: HTTPStatus) -> str:
    titles = {
        HTTPStatus.SERVICE_UNAVAILABLE: "The cluster cannot be reached",
        HTTPStatus.BAD_GATEWAY: "The cluster answered with an error",
    }
    return titles.get(status, status.phrase)
