"""Turns a request frame into a response frame: finds the API, decodes, handles, encodes.

Owns what a client is told when something fails: a frame that cannot be understood closes its connection, a
KafkaError becomes the API's error, anything unexpected is logged and becomes UNKNOWN_SERVER_ERROR. Knows
neither sockets nor what APIs do.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar, cast

from millstream.broker.long_work import LongWork
from millstream.broker.metrics.request_metrics import ApiMetrics
from millstream.broker.produce.request_width import has_many_partitions
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import NoAnswer
from millstream.broker.requests.handler_services import BoundHandle, NodeServices, bound
from millstream.broker.requests.long_requests import has_long_lists, in_parts, joined
from millstream.broker.requests.registry import Handler
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient
from millstream.errors import (
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
        "api",
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
        "tells_throttle_time",
    )

    def __init__(self, handler: Handler, services: NodeServices) -> None:
        self.api = handler.api
        self.key = handler.api.key
        self.metrics: ApiMetrics = services.metrics.requests.api(
            handler.api.key, handler.api.versions
        )
        self.lowest = handler.api.lowest
        self.highest = handler.api.highest
        handle = _allowed(handler, bound(handler.handle, services), services.access)
        self.handle = _where_the_controller_is(handler, handle, services.controller)
        self.failed = handler.failed
        self.decode: Callable[[memoryview, int, int], tuple[Message, int]] = request_class(
            handler.api.key
        ).decode
        self.response_class: type = response_class(handler.api.key)
        self.short_bytes = (
            _SHORT_PRODUCE_BYTES if handler.api.key is ApiKey.PRODUCE else _SHORT_FRAME_BYTES
        )
        answer = self.response_class()
        self.has_error_code = hasattr(answer, "error_code")
        self.tells_throttle_time = hasattr(answer, "throttle_time_ms")


class _Begun(NamedTuple):
    """When a request came, when it began to wait, and its size."""

    begin_ns: int
    wait_ns: int
    request_bytes: int


def _allowed(handler: Handler, handle: BoundHandle, access: Access) -> BoundHandle:
    """`handle`, and before it the question whether the client may at all, for APIs that are
    allowed or refused as a whole.

    Permissions on what a request names are asked by handlers, which know the names.
    """
    operations = [each.operation for each in handler.api.permissions if each.refuses_request]
    if access.is_open or not operations:
        return handle

    def handle_if_allowed(
        request: Message, context: RequestContext
    ) -> Message | Awaitable[Message] | None:
        for operation in operations:
            access.check_cluster(context, operation)
        return handle(request, context)

    return handle_if_allowed


def _where_the_controller_is(
    handler: Handler, handle: BoundHandle, controller: ControllerClient
) -> BoundHandle:
    """`handle` on the node of the active controller; elsewhere the request is passed on, and that
    node asks whether it is allowed.

    What is asked of the quorum is answered here where nobody is known to lead: with that. The controller may come to
    this node after it was looked for: what is passed on reaches it in an envelope then, too. It may leave this node
    after it was asked here: the next one asks again.
    """
    if not handler.api.is_forwarded:
        return handle
    key = handler.api.key

    def handle_here_or_there(
        request: Message, context: RequestContext
    ) -> Message | Awaitable[Message] | None:
        if controller.is_elsewhere():
            return controller.forward(key, request, context)
        return handle(request, context)

    def handle_what_is_known(
        request: Message, context: RequestContext
    ) -> Message | Awaitable[Message] | None:
        if controller.quorum().own.hears_leader:
            return handle_here_or_there(request, context)
        return handle(request, context)

    return handle_what_is_known if key is ApiKey.DESCRIBE_QUORUM else handle_here_or_there


class Dispatcher:
    """The dispatcher of requests: implements `net.server.request_handler.RequestHandler` for the network edge."""

    def __init__(self, services: NodeServices, handlers: Mapping[ApiKey, Handler]) -> None:
        self._pool = services.disk_pool
        self._long_work = services.long_work
        self._clock = services.clock
        self._now_ns = services.metrics.now_ns
        self._failures = services.failures
        self._quotas = services.quotas
        self._routes = {int(key): _Route(handler, services) for key, handler in handlers.items()}

    def may_overlap(self, frame: memoryview) -> bool:
        """Whether the request may overlap.

        Short produces may: they are appended at once and then wait for acknowledgement only.
        """
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
        is_limited = self._quotas.is_enabled
        if is_limited:
            context.time = self._quotas.request_time(begin_ns)
            if route.key is ApiKey.PRODUCE:
                self._charge_arrival(context, len(frame))
        try:
            result = route.handle(message, context)
            if result is None:
                if is_limited:
                    begun = _Begun(begin_ns, self._now_ns(), len(frame))
                    self._throttle(route, context, message, None, begun)
                return None
            if not isinstance(result, route.response_class):  # asking for Awaitable costs more
                begun = _Begun(begin_ns, self._now_ns(), len(frame))
                waits_for = cast("Awaitable[Message]", result)
                if context.time is not None:
                    waits_for = context.time.during(waits_for)
                return self._finish(route, context, message, waits_for, begun)
            if is_limited:
                begun = _Begun(begin_ns, self._now_ns(), len(frame))
                self._throttle(route, context, message, result, begun)
            response: Response = encode_response(
                route.key, version, header.correlation_id, cast("Message", result)
            )
            if route.has_error_code:
                _count_error(route, result)
        except NoAnswer:
            raise
        except Exception as error:  # noqa: BLE001 - one request must not take the node down; it is logged
            told = self._told_error(route, header, error)
            begun = _Begun(begin_ns, self._now_ns(), len(frame))
            response = _encode_error(
                route, header, message, told, self._charge(context, message, begun)
            )
        route.metrics.record_at_once(version, begin_ns, self._now_ns())
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
        request_bytes = len(body)  # all but the header, which is short beside it
        await self._long_work.next_turn()
        time = self._quotas.request_time() if self._quotas.is_enabled else None
        in_thread = len(body) > _CONVERTED_AT_ONCE_BYTES
        decode = partial(route.decode, body, 0, header.request_api_version)
        if not in_thread:
            message, _ = decode()
        elif time is None:
            message, _ = await self._in_thread(decode)
        else:
            time.stop()
            message, _ = await self._in_thread(partial(time.in_thread, decode))
        context = RequestContext(header, connection, self._clock.now(), in_thread, time=time)
        if time is not None and route.key is ApiKey.PRODUCE:
            self._charge_arrival(context, request_bytes)
        waits_for: Awaitable[Message | None] = _answer_in_parts(
            route, message, context, self._long_work
        )
        if time is not None:
            waits_for = time.during(waits_for)
        begun = _Begun(begin_ns, self._now_ns(), request_bytes)
        return await self._finish(route, context, message, waits_for, begun, in_thread=in_thread)

    async def _in_thread(self, work: Callable[[], ResultT]) -> ResultT:
        return await self._pool.convert(work)

    async def _finish(
        self,
        route: _Route,
        context: RequestContext,
        message: Message,
        result: Awaitable[Message | None],
        begun: _Begun,
        *,
        in_thread: bool = False,
    ) -> Response | None:
        """`in_thread`: the request was long, so its answer is."""
        header = context.header
        version = header.request_api_version
        failure: Exception | None = None
        response: Response | None = None
        try:
            answer = await result
            if self._quotas.is_enabled:
                self._throttle(route, context, message, answer, begun)
            if answer is None:
                return None
            encode = partial(encode_response, route.key, version, header.correlation_id, answer)
            is_long = in_thread or (route.api.tells_all and has_long_lists(answer, route.api))
            response = await self._in_thread(encode) if is_long else encode()
            if route.has_error_code:
                _count_error(route, answer)
        except NoAnswer:
            raise
        except Exception as error:  # noqa: BLE001 - see `handle`
            failure = error
        if failure is not None:
            told = self._told_error(route, header, failure)
            wait_ms = self._charge(context, message, begun)
            tell = partial(_encode_error, route, header, message, told, wait_ms)
            response = await self._in_thread(tell) if in_thread else tell()
        route.metrics.record_delayed(version, begun.begin_ns, begun.wait_ns, self._now_ns())
        return response

    def _throttle(
        self,
        route: _Route,
        context: RequestContext,
        request: Message,
        answer: Any,  # Any: a message that may have throttle_time_ms, or None
        begun: _Begun,
    ) -> None:
        """Has a client above its quota wait; its answer says for how long."""
        if answer is not None and route.tells_throttle_time:
            found_ms = answer.throttle_time_ms
            answer.throttle_time_ms = self._charge(context, request, begun, found_ms)
        else:
            self._charge(context, request, begun)

    def _charge_arrival(self, context: RequestContext, request_bytes: int) -> None:
        """Pauses a connection above its quota before what it sent next is started; its answer tells for how long."""
        wait_ms: int = self._quotas.charge_arrival(context, request_bytes)
        pause = context.connection.pause
        if wait_ms and pause is not None:
            pause(wait_ms)

    def _charge(
        self, context: RequestContext, request: Message, begun: _Begun, found_ms: int = 0
    ) -> int:
        """Charges a request, refused ones too, and pauses a connection above its quota.

        Returns for how many milliseconds.

        `found_ms`: the wait that another node or the handler found, which may be longer.
        """
        if not self._quotas.is_enabled:
            return found_ms
        time = context.time
        charged_ms: int = self._quotas.charge(
            context,
            request,
            request_bytes=begun.request_bytes,
            busy_ns=begun.wait_ns - begun.begin_ns if time is None else time.spent_ns(),
        )
        wait_ms = max(found_ms, charged_ms)
        pause = context.connection.pause
        if wait_ms and pause is not None:
            pause(wait_ms)
        return wait_ms

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
    cut = in_parts(message, route.api)
    if cut is None:
        return await _answer(route, message, context)
    lists, parts = cut
    context = replace(context, is_long=False, cut_from=message, decided={})
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
    route: _Route, header: RequestHeader, message: Message, error: KafkaError, wait_ms: int
) -> Response:
    """Returns the answer to a request that failed, which tells how long the client has to wait.

    Raises ProtocolError when not even the error can be told, or no client waits for it.
    """
    key, version = route.key, header.request_api_version
    try:
        response = route.failed(message, version, error)
        if wait_ms and route.tells_throttle_time:
            cast("Any", response).throttle_time_ms = wait_ms  # Any: the route knows that it has one
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
