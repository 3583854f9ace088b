"""Turns a request frame into a response frame: finds the API, decodes, handles, encodes.

Owns what a client is told when something fails: a frame that cannot be understood closes its connection, a KafkaError becomes
the API's error, anything unexpected is logged and becomes UNKNOWN_SERVER_ERROR. Knows neither sockets nor what APIs do.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar, cast

from millstream.broker.metrics.request_metrics import ApiMetrics
from millstream.broker.node.long_work import LongWork
from millstream.broker.produce.request_width import has_many_partitions
from millstream.broker.requests.failure import NoAnswer
from millstream.broker.requests.handler_services import BoundHandle, NodeServices, bound
from millstream.broker.requests.long_requests import TELLS_ALL, has_long_lists, in_parts, joined
from millstream.broker.requests.registry import Handler
from millstream.broker.requests.request_context import RequestContext
from millstream.errors import (
    ClusterAuthorizationFailed,
    KafkaError,
    ProtocolError,
    UnsupportedVersion,
)
from millstream.net.server.client_connection import ClientConnection
from millstream.net.server.request_handler import Response
from millstream.protocol.api import ApiKey, Message, request_class, response_class
from millstream.protocol.frames import decode_request_header, encode_response
from millstream.protocol.generated.api_versions import ApiVersion, ApiVersionsResponse
from millstream.protocol.generated.headers import RequestHeader
from millstream.security.acl import CLUSTER_NAME, Resource, ResourceType
from millstream.security.authorizer import Action, Authorizer, Requester

ResultT = TypeVar("ResultT")
_LOGGER = logging.getLogger(__name__)
_PRODUCE_KEY = ApiKey.PRODUCE.to_bytes(2, "big")
_SHORT_FRAME_BYTES: Final = 2_048
"""A request with so few elements is handled in one go, so they need not be counted."""
_SHORT_PRODUCE_BYTES: Final = 32_768
"""The same, of APIs whose requests are long for another reason."""
_CONVERTED_AT_ONCE_BYTES: Final = 16_384
"""Takes a few milliseconds; a thread would take one more to be woken."""


class _Route:
    """The parts of one API that dispatch needs, looked up once."""

    __slots__ = (
        "decode",
        "failed",
        "handle",
        "has_error_code",
        "highest",
        "key",
        "lowest",
        "metrics",
        "response_class",
        "short_bytes",
        "tells_all",
    )

    def __init__(self, handler: Handler, services: NodeServices) -> None:
        self.key = handler.api.key
        self.metrics: ApiMetrics = services.metrics.requests.api(
            handler.api.key, handler.api.versions
        )
        self.lowest = handler.api.lowest
        self.highest = handler.api.highest
        self.handle = _authorized(handler, bound(handler.handle, services), services.authorizer)
        self.failed = handler.failed
        self.decode: Callable[[memoryview, int, int], tuple[Message, int]] = request_class(
            handler.api.key
        ).decode
        self.response_class: type = response_class(handler.api.key)
        self.short_bytes = (
            _SHORT_PRODUCE_BYTES if handler.api.key is ApiKey.PRODUCE else _SHORT_FRAME_BYTES
        )
        self.tells_all = handler.api.key in TELLS_ALL
        self.has_error_code = hasattr(self.response_class(), "error_code")


def _authorized(handler: Handler, handle: BoundHandle, authorizer: Authorizer) -> BoundHandle:
    """`handle`, and before it the question whether the client may at all, for APIs that are allowed or refused as a whole.

    Permissions on what a request names are asked by handlers, which know the names.
    """
    cluster = Resource(ResourceType.CLUSTER, CLUSTER_NAME)
    actions = [
        Action(each.operation, cluster) for each in handler.api.permissions if each.refuses_request
    ]
    if not actions:
        return handle

    def handle_if_allowed(
        request: Message, context: RequestContext
    ) -> Message | Awaitable[Message] | None:
        requester = Requester(context.connection.principal, context.client_host)
        if not all(authorizer.authorize(requester, actions)):
            raise ClusterAuthorizationFailed
        return handle(request, context)

    return handle_if_allowed


class Dispatcher:
    """The dispatcher of requests: implements `net.server.request_handler.RequestHandler` for the network edge."""

    def __init__(self, services: NodeServices, handlers: Mapping[ApiKey, Handler]) -> None:
        self._pool = services.disk_pool
        self._long_work = services.long_work
        self._clock = services.clock
        self._now_ns = services.metrics.now_ns
        self._failures = services.failures
        self._routes = {int(key): _Route(handler, services) for key, handler in handlers.items()}

    def may_overlap(self, frame: memoryview) -> bool:
        """Whether the request may overlap. Short produces may: they are appended at once and then wait for acknowledgement only."""
        if frame[:2] != _PRODUCE_KEY:
            return False
        if len(frame) <= _SHORT_PRODUCE_BYTES:
            return True
        header, at = decode_request_header(frame)
        return not has_many_partitions(frame, at, header.request_api_version)

    def handle(
        self, frame: memoryview, connection: ClientConnection
    ) -> Response | Awaitable[Response | None] | None:
        """Handles one frame and returns the response.

        Raises ProtocolError to have the connection closed: the frame cannot be understood, is not served, or failed
        while no client waits for an answer.
        """
        begin_ns = self._now_ns()
        try:
            header, at = decode_request_header(frame)
        except UnsupportedVersion as unsupported:
            raise ProtocolError(str(unsupported)) from unsupported
        version = header.request_api_version
        route = self._routes.get(header.request_api_key)
        if route is None or not route.lowest <= version <= route.highest:
            return _answer_unserved(header)
        if len(frame) > route.short_bytes and (
            route.key != ApiKey.PRODUCE or has_many_partitions(frame, at, version)
        ):
            return self._handle_long(route, header, frame[at:], connection, begin_ns)
        message, _ = route.decode(frame, at, version)
        context = RequestContext(header, connection, self._clock.now())
        try:
            result = route.handle(message, context)
            if result is None:
                return None
            if not isinstance(result, route.response_class):  # asking for Awaitable costs more
                times = (begin_ns, self._now_ns())
                waits_for = cast("Awaitable[Message]", result)
                return self._finish(route, header, message, waits_for, times)
            response: Response = encode_response(
                route.key, version, header.correlation_id, cast("Message", result)
            )
            if route.has_error_code:
                _count_error(route, result)
        except NoAnswer:
            raise
        except Exception as error:  # noqa: BLE001 - one request must not take the node down; it is logged
            response = _encode_error(route, header, message, self._told_error(route, header, error))
        route.metrics.answered_at_once(version, begin_ns, self._now_ns())
        return response

    async def _handle_long(
        self,
        route: _Route,
        header: RequestHeader,
        body: memoryview,
        connection: ClientConnection,
        begin_ns: int,
    ) -> Response | None:
        """Decoded and encoded in a thread where that takes long, and handled in parts (`long_requests`)."""
        await self._long_work.next_turn()
        in_thread = len(body) > _CONVERTED_AT_ONCE_BYTES
        decode = partial(route.decode, body, 0, header.request_api_version)
        message, _ = await self._in_thread(decode) if in_thread else decode()
        context = RequestContext(header, connection, self._clock.now(), in_thread)
        waits_for = _answer_in_parts(route, message, context, self._long_work)
        times = (begin_ns, self._now_ns())
        return await self._finish(route, header, message, waits_for, times, in_thread=in_thread)

    async def _in_thread(self, work: Callable[[], ResultT]) -> ResultT:
        return await self._pool.convert(work)

    async def _finish(
        self,
        route: _Route,
        header: RequestHeader,
        message: Message,
        result: Awaitable[Message | None],
        times: tuple[int, int],
        *,
        in_thread: bool = False,
    ) -> Response | None:
        """`times`: when the request came, and when it began to wait. `in_thread`: the request was long, so its answer is."""
        version = header.request_api_version
        try:
            answer = await result
            if answer is None:
                return None
            encode = partial(encode_response, route.key, version, header.correlation_id, answer)
            is_long = in_thread or (route.tells_all and has_long_lists(answer, route.key))
            response: Response = await self._in_thread(encode) if is_long else encode()
            if route.has_error_code:
                _count_error(route, answer)
        except NoAnswer:
            raise
        except Exception as error:  # noqa: BLE001 - see `handle`
            told = self._told_error(route, header, error)
            tell = partial(_encode_error, route, header, message, told)
            response = await self._in_thread(tell) if in_thread else tell()
        route.metrics.answered_later(version, *times, self._now_ns())
        return response

    def _told_error(self, route: _Route, header: RequestHeader, error: Exception) -> KafkaError:
        """Returns the error that the client is told, logged where it is unexpected, and counted."""
        if not isinstance(error, KafkaError):
            error = self._failures.of(f"{route.key.name} v{header.request_api_version}", error)
        route.metrics.errors[error.code] += 1
        return error


async def _answer_in_parts(
    route: _Route, message: Message, context: RequestContext, long_work: LongWork
) -> Message | None:
    """A turn for each part."""
    cut = in_parts(message, route.key)
    if cut is None:
        return await _answer(route, message, context)
    lists, parts = cut
    context = replace(context, is_long=False, cut_from=message)
    answers: list[Message] = []
    for part in parts:
        await long_work.next_turn()
        answer = await _answer(route, part, context)
        if answer is not None:
            answers.append(answer)
    return joined(answers, lists) if answers else None


async def _answer(route: _Route, message: Message, context: RequestContext) -> Message | None:
    result = route.handle(message, context)
    if result is None or isinstance(result, route.response_class):
        return cast("Message | None", result)
    return await cast("Awaitable[Message | None]", result)


def _count_error(route: _Route, response: Any) -> None:  # Any: has an error_code
    if response.error_code:
        route.metrics.errors[response.error_code] += 1


def _encode_error(
    route: _Route, header: RequestHeader, message: Message, error: KafkaError
) -> Response:
    """Raises ProtocolError when not even the error can be told, or no client waits for it."""
    key, version = route.key, header.request_api_version
    try:
        response = route.failed(message, version, error)
        return encode_response(key, version, header.correlation_id, response)
    except NoAnswer:
        raise
    except Exception as second:
        _LOGGER.exception("the error of %s v%d cannot be encoded", key.name, version)
        raise ProtocolError(f"{key.name} v{version} failed: {error}") from second


def _answer_unserved(header: RequestHeader) -> Response:
    """ApiVersions is answered in any version, from which the client picks its next try (KIP-511); nothing else is."""
    key, version = header.request_api_key, header.request_api_version
    if key != ApiKey.API_VERSIONS:
        raise ProtocolError(f"API key {key} version {version} is not served")
    answer = ApiVersionsResponse(
        error_code=UnsupportedVersion.code, api_keys=[ApiVersion(ApiKey.API_VERSIONS, 0, 4)]
    )
    return encode_response(ApiKey.API_VERSIONS, 0, header.correlation_id, answer)
