"""Errors of the query server as JSON: which status of HTTP an error has. Pure."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from millstream.errors import MillstreamError
from millstream.streams.errors import (
    InvalidStoreError,
    InvalidStorePartition,
    SerializationError,
    StoreMigrated,
    StoreNotAvailable,
    StreamsNotStarted,
    UnknownStore,
)

RETRY_AFTER_S: Final = 1
"""The least that the header can say; a task that moves without much state needs about as long."""


class BadRequest(MillstreamError):
    """The address of a query says what the store does not understand."""


class HostUnavailable(MillstreamError):
    """The instance that has the rows does not answer, or says that it cannot now."""


class UnreadableRow(MillstreamError):
    """A key or a value of the store is of a type that JSON does not have."""


_AGAIN: Final = (
    HostUnavailable,
    InvalidStorePartition,
    StoreMigrated,
    StoreNotAvailable,
    StreamsNotStarted,
)
_WRONG: Final = (BadRequest, SerializationError, InvalidStoreError)


def status_of(error: Exception) -> HTTPStatus:
    """Returns the status of an error: whether to ask again, to ask otherwise, or to tell whoever
    runs the application.
    """
    if isinstance(error, UnknownStore):
        return HTTPStatus.NOT_FOUND
    if isinstance(error, _AGAIN):
        return HTTPStatus.SERVICE_UNAVAILABLE
    if isinstance(error, _WRONG):
        return HTTPStatus.BAD_REQUEST
    return HTTPStatus.INTERNAL_SERVER_ERROR


def headers_of(status: HTTPStatus) -> dict[str, str]:
    """Returns when to ask again, where that helps."""
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        return {"Retry-After": str(RETRY_AFTER_S)}
    return {}
