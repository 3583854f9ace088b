"""The web edge: addresses, statuses and headers. Reads only: nothing here takes more than GET."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from millstream.errors import ConfigError, MillstreamError
from millstream.streams.host_info import HostInfo
from millstream.streams.queries.metadata import Partitioner
from millstream.streams.query_server.door import TokenGuard, check_token
from millstream.streams.query_server.forwarding import (
    FORWARDED,
    Answer,
    Forwarder,
    HttpForwarder,
)
from millstream.streams.query_server.problems import BadRequest, headers_of, status_of
from millstream.streams.query_server.questions import (
    ANY_LAG,
    COPIES_OF,
    KeyQuestion,
    QueriedApplication,
    RowsQuestion,
    dropped_by_task,
)
from millstream.streams.query_server.questions_of_stores import QuestionsOfStores
from millstream.streams.query_server.texts import as_json, number_of

ROWS_MAX: Final = 10_000
"""An answer is made in the event loop of the application: as JSON so many small rows take some 12 to 17 ms."""
_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_LOGGER = logging.getLogger(__name__)


def own_address(application: QueriedApplication) -> HostInfo:
    """Returns where other instances reach this one. Raises ConfigError."""
    if not application.config.application_server:
        raise ConfigError(
            "give StreamsConfig an application_server, the host:port at which other instances reach this one"
        )
    return HostInfo.parsed(application.config.application_server)


def create_query_application(
    application: QueriedApplication,
    *,
    forwarder: Forwarder | None = None,
    partitioners: Mapping[str, Partitioner] | None = None,
    token: str | None = None,
    allowed_hosts: Sequence[str] = ("*",),
) -> Starlette:
    """Returns an ASGI application that answers from the stores of `application`, and of its other instances.

    With a `token` it answers only who shows it, and shows it to the other instances.
    `allowed_hosts`: names it may be asked by.

    Raises ConfigError where it has no `application_server`: the others could not ask it; and for a token that
    can be guessed or not be shown.
    """
    own_address(application)
    if token is not None:
        check_token(token)
    forwarder = forwarder or HttpForwarder(token=token)
    questions = QuestionsOfStores(application, forwarder, partitioners or {})
    middleware = [Middleware(TrustedHostMiddleware, allowed_hosts=list(allowed_hosts))]
    if token is not None:
        middleware.append(Middleware(TokenGuard, token=token, refusal=_without_token()))

    async def one_key(request: Request) -> Response:
        return _json(await questions.of_key(_key_question(request)))

    async def rows(request: Request) -> Response:
        return _json(await questions.of_rows(_rows_question(request)))

    async def dropped(_request: Request) -> Response:
        body = as_json({"tasks": dropped_by_task(application.metrics())})
        return _json(Answer(HTTPStatus.OK, body))

    return Starlette(
        routes=[
            Route("/dropped", dropped, methods=["GET"]),
            Route("/stores/{store}/keys/{key:path}", one_key, methods=["GET"]),
            Route("/stores/{store}/rows", rows, methods=["GET"]),
        ],
        middleware=middleware,
        exception_handlers={HTTPException: _refused, MillstreamError: _failed, Exception: _broken},
    )


def _key_question(request: Request) -> KeyQuestion:
    return KeyQuestion(
        store=request.path_params["store"],
        key=request.path_params["key"],
        path=_path(request),
        is_forwarded=FORWARDED in request.headers,
        time_from=_number(request, "time_from"),
        time_to=_number(request, "time_to"),
        max_lag=_max_lag(request),
    )


def _rows_question(request: Request) -> RowsQuestion:
    limit = _number(request, "limit")
    if limit is not None and not 0 < limit <= ROWS_MAX:
        raise BadRequest(f"limit must be from 1 to {ROWS_MAX}, not {limit}")
    return RowsQuestion(
        store=request.path_params["store"],
        path=_path(request),
        limit=ROWS_MAX if limit is None else limit,
        is_forwarded=FORWARDED in request.headers,
        key_from=request.query_params.get("key_from"),
        key_to=request.query_params.get("key_to"),
        time_from=_number(request, "time_from"),
        time_to=_number(request, "time_to"),
        max_lag=_max_lag(request),
        copies_of=_copies_of(request),
    )


def _max_lag(request: Request) -> int | None:
    """Returns how many records a copy that answers may lack: `max_lag`, or any number with `stale=true`."""
    max_lag, stale = _number(request, "max_lag"), request.query_params.get("stale", "false")
    if max_lag is not None and max_lag < 0:
        raise BadRequest(f"max_lag must not be negative, but is {max_lag}")
    if stale not in {"true", "false"}:
        raise BadRequest(f"stale must be true or false, not {stale!r}")
    return ANY_LAG if max_lag is None and stale == "true" else max_lag


def _copies_of(request: Request) -> frozenset[int] | None:
    numbers = request.query_params.get(COPIES_OF)
    if numbers is None:
        return None
    if FORWARDED not in request.headers:
        raise BadRequest(f"{COPIES_OF} is for questions of one instance to another")
    found = [number_of(each, COPIES_OF) for each in numbers.split(",")]
    return frozenset(each for each in found if each is not None)


def _number(request: Request, name: str) -> int | None:
    return number_of(request.query_params.get(name), name)


def _path(request: Request) -> str:
    """Returns the address as it came, with its escapes."""
    raw: bytes = request.scope["raw_path"]
    query: bytes = request.scope["query_string"]
    return (raw.split(b"?")[0] + (b"?" + query if query else b"")).decode("ascii")


def _json(answer: Answer) -> Response:
    return Response(answer.body, answer.status, _HEADERS, media_type="application/json")


def _without_token() -> Response:
    status = HTTPStatus.UNAUTHORIZED
    message = "show the token of this application: Authorization: Bearer TOKEN"
    return _problem(status, message, {"WWW-Authenticate": "Bearer"})


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException), "it is registered for these"
    return _problem(HTTPStatus(error.status_code), error.detail, dict(error.headers or {}))


async def _failed(_: Request, error: Exception) -> Response:
    status = status_of(error)
    if status is HTTPStatus.INTERNAL_SERVER_ERROR:
        _LOGGER.error("a query was not answered", exc_info=error)
    return _problem(status, str(error), headers_of(status))


async def _broken(_: Request, _error: Exception) -> Response:
    """Tells nothing of an error that nobody foresaw; Starlette raises it once more, for the log of the server."""
    status = HTTPStatus.INTERNAL_SERVER_ERROR
    return _problem(status, "the log of the instance says more", {})


def _problem(status: HTTPStatus, message: str, headers: dict[str, str]) -> Response:
    body = as_json({"error": status.phrase, "message": message})
    return Response(body, status, {**_HEADERS, **headers}, media_type="application/json")
