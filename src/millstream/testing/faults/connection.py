"""One connection through the fault proxy: two pumps, one for requests and one for answers, and the faults carried out.

Answers leave in the order of their requests, those that the proxy makes up itself included.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Final, Protocol, cast

from millstream.broker.requests.api_spec import NoAnswer
from millstream.broker.requests.registry import error_response
from millstream.errors import ProtocolError, error_for
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.frames import (
    Piece,
    decode_request,
    decode_request_header,
    decode_response,
    encode_response,
)
from millstream.protocol.generated.headers import RequestHeader
from millstream.protocol.generated.metadata import MetadataResponse
from millstream.protocol.generated.produce import ProduceRequest
from millstream.protocol.message_values import error_codes
from millstream.testing.faults.frames import (
    TELLS_ENDPOINTS,
    endpoints,
    node_ids,
    partitions_of,
    refuse_partitions,
    topic_names,
)
from millstream.testing.faults.plan import (
    AnswerWith,
    CloseAfter,
    CloseBefore,
    Corrupt,
    Delay,
    DropRequest,
    DropResponse,
    FaultPlan,
    Rule,
    SeenRequest,
    SendLate,
    Trickle,
    flip_bits,
)
from millstream.testing.sim_random import SimRandom

Address = tuple[str, int]

_SIZE: Final = Struct(">i")
_TRICKLE_S: Final = 0.02
_READ_BYTES: Final = 64 * 1024


class ProxyContext(Protocol):
    """The services of the proxy that a connection uses."""

    plan: FaultPlan
    seed: int
    requests: list[SeenRequest]
    counts_refusals: bool
    refusals: Counter[tuple[ApiKey, int]]
    node_ids: dict[Address, int]
    topic_names: dict[object, str]

    async def address_for(self, upstream: Address) -> Address: ...


class _ConnectionEnded(Exception):
    """One side has closed, or a fault closes both."""


@dataclass(slots=True)
class _PendingAnswer:
    """An answer that the client waits for; `made_up` does not come from the broker."""

    header: RequestHeader
    request: bytes
    rule: Rule | None
    made_up: bytes | None = None


class FaultConnection:
    def __init__(
        self,
        proxy: ProxyContext,
        upstream: Address,
        client_reader: asyncio.StreamReader,
        client_writer: asyncio.StreamWriter,
    ) -> None:
        self._proxy = proxy
        self._upstream = upstream
        self._client_reader = client_reader
        self._client_writer = client_writer
        self._pending: deque[_PendingAnswer] = deque()
        self._late: list[tuple[bytes, int]] = []
        self.is_dead = False
        """A request or an answer was dropped: nothing passes any more in that direction."""

    def abort(self) -> None:
        self._client_writer.transport.abort()

    async def run(self) -> None:
        """Runs until one side closes, and ends by itself whatever the two sides do."""
        try:
            await self._connect_and_pump()
        except OSError:
            pass  # the broker is not there; the client finds out by its connection being closed
        finally:
            self._client_writer.close()
        for frame, delay_ms in self._late:
            await self._deliver_late(frame, delay_ms)

    async def _connect_and_pump(self) -> None:
        reader, writer = await asyncio.open_connection(*self._upstream)
        try:
            async with asyncio.TaskGroup() as pumps:
                pumps.create_task(self._pump_requests(writer))
                pumps.create_task(self._pump_answers(reader))
        except* (_ConnectionEnded, EOFError, OSError, ProtocolError):
            pass  # both sides find out by their connections being closed
        finally:
            writer.close()

    async def _pump_requests(self, writer: asyncio.StreamWriter) -> None:
        while True:
            frame = await _read_frame(self._client_reader)
            header, _ = decode_request_header(memoryview(frame))
            seen = self._seen(header, frame)
            self._proxy.requests.append(seen)
            rule = self._proxy.plan.decide(seen)
            if await self._wants_forwarding(rule, header, frame):
                writer.write(_SIZE.pack(len(frame)) + frame)
                await writer.drain()

    async def _wants_forwarding(
        self, rule: Rule | None, header: RequestHeader, frame: bytes
    ) -> bool:
        """Carries out what happens before the broker sees a request."""
        match rule.fault if rule is not None else None:
            case CloseBefore():
                raise _ConnectionEnded
            case DropRequest():
                self.is_dead = True
                await _drain_to_end(self._client_reader)
            case SendLate(delay_ms):
                self._late.append((frame, delay_ms))
                raise _ConnectionEnded
            case AnswerWith(error_code, forward=False):
                await self._answer_instead(header, frame, error_code)
                return False
            case Delay(request_ms=delay_ms) if delay_ms:
                await asyncio.sleep(delay_ms / 1000)
            case _:
                pass
        if _wants_answer(header, frame):
            self._pending.append(_PendingAnswer(header, frame, rule))
        return True

    async def _answer_instead(self, header: RequestHeader, frame: bytes, error_code: int) -> None:
        try:
            answer = _failed(header, frame, error_code)
        except NoAnswer:
            raise _ConnectionEnded from None
        self._pending.append(_PendingAnswer(header, frame, None, answer))
        if len(self._pending) == 1:
            await self._send_made_up()

    async def _pump_answers(self, reader: asyncio.StreamReader) -> None:
        while True:
            frame = await _read_frame(reader)
            if not self._pending:
                raise _ConnectionEnded  # the broker answers a request that no client has sent
            pending = self._pending[0]
            await self._forward_answer(pending, frame, reader)
            self._pending.popleft()
            await self._send_made_up()

    async def _send_made_up(self) -> None:
        while self._pending and (frame := self._pending[0].made_up) is not None:
            await self._write(frame)
            self._pending.popleft()

    async def _forward_answer(
        self, pending: _PendingAnswer, frame: bytes, reader: asyncio.StreamReader
    ) -> None:
        """Forwards an answer to the client, with the fault of its rule."""
        if self._proxy.counts_refusals:
            self._count_refusals(pending.header, frame)
        frame = await self._with_proxy_addresses(pending.header, frame)
        rule = pending.rule
        match rule.fault if rule is not None else None:
            case CloseAfter():
                raise _ConnectionEnded
            case DropResponse():
                self.is_dead = True
                await _drain_to_end(reader)
            case Delay(response_ms=delay_ms):
                await asyncio.sleep(delay_ms / 1000)
                await self._write(frame)
            case Corrupt() as corrupt:
                random = SimRandom(self._proxy.seed + pending.header.correlation_id)
                await self._write(flip_bits(frame, corrupt, random))
            case Trickle(bytes_per_second):
                await self._trickle(frame, bytes_per_second)
            case AnswerWith(error_code):
                await self._write(self._refused(pending, error_code, frame))
            case _:
                await self._write(frame)

    def _count_refusals(self, header: RequestHeader, frame: bytes) -> None:
        key = ApiKey(header.request_api_key)
        _, message = decode_response(key, header.request_api_version, memoryview(frame))
        self._proxy.refusals.update((key, code) for code in error_codes(message) if code)

    async def _with_proxy_addresses(self, header: RequestHeader, frame: bytes) -> bytes:
        """The answer with addresses of the proxy in the place of the brokers' addresses."""
        key = ApiKey(header.request_api_key)
        if key not in TELLS_ENDPOINTS:
            return frame
        _, message = decode_response(key, header.request_api_version, memoryview(frame))
        if isinstance(message, MetadataResponse):
            self._proxy.node_ids.update(node_ids(message))
            self._proxy.topic_names.update(topic_names(message))
        found = endpoints(key, message)
        for endpoint in found:
            endpoint.host, endpoint.port = await self._proxy.address_for(
                (endpoint.host, endpoint.port)
            )
        return _encoded(header, message) if found else frame

    def _refused(self, pending: _PendingAnswer, error_code: int, frame: bytes) -> bytes:
        header, rule = pending.header, pending.rule
        assert rule is not None, "an answer is refused because a rule says so"
        if not rule.names_partitions:
            return _failed(header, pending.request, error_code)
        key, version = ApiKey(header.request_api_key), header.request_api_version
        _, message = decode_response(key, version, memoryview(frame))
        refuse_partitions(message, rule, error_code, self._proxy.topic_names)
        return _encoded(header, message)

    def _seen(self, header: RequestHeader, frame: bytes) -> SeenRequest:
        partitions: frozenset[TopicPartition] = frozenset()
        if self._proxy.plan.names_partitions:
            _, request = decode_request(memoryview(frame))
            partitions = partitions_of(request, self._proxy.topic_names)
        return SeenRequest(
            key=ApiKey(header.request_api_key),
            version=header.request_api_version,
            correlation_id=header.correlation_id,
            client_id=header.client_id,
            node_id=self._proxy.node_ids.get(self._upstream),
            partitions=partitions,
        )

    async def _trickle(self, frame: bytes, bytes_per_second: int) -> None:
        data = _SIZE.pack(len(frame)) + frame
        step = max(1, int(bytes_per_second * _TRICKLE_S))
        for at in range(0, len(data), step):
            self._client_writer.write(data[at : at + step])
            await self._client_writer.drain()
            await asyncio.sleep(_TRICKLE_S)

    async def _write(self, frame: bytes) -> None:
        self._client_writer.write(_SIZE.pack(len(frame)) + frame)
        await self._client_writer.drain()

    async def _deliver_late(self, frame: bytes, delay_ms: int) -> None:
        await asyncio.sleep(delay_ms / 1000)
        try:
            reader, writer = await asyncio.open_connection(*self._upstream)
        except OSError:
            return
        try:
            writer.write(_SIZE.pack(len(frame)) + frame)
            await _read_frame(reader)
        except (EOFError, OSError):
            pass  # no client waits for this answer
        finally:
            writer.close()


def _wants_answer(header: RequestHeader, frame: bytes) -> bool:
    if header.request_api_key != ApiKey.PRODUCE:
        return True
    _, request = decode_request(memoryview(frame))
    return cast("ProduceRequest", request).acks != 0


def _failed(header: RequestHeader, frame: bytes, error_code: int) -> bytes:
    """The answer that says that all of a request failed. Raises NoAnswer where the client wants none."""
    _, request = decode_request(memoryview(frame))
    key, version = ApiKey(header.request_api_key), header.request_api_version
    return _encoded(header, error_response(key, version, request, error_for(error_code)))


def _encoded(header: RequestHeader, message: Message) -> bytes:
    key, version = ApiKey(header.request_api_key), header.request_api_version
    return _join_pieces(encode_response(key, version, header.correlation_id, message))[_SIZE.size :]


def _join_pieces(pieces: Sequence[Piece]) -> bytes:
    return b"".join(cast("list[bytearray | memoryview]", pieces))


async def _read_frame(reader: asyncio.StreamReader) -> bytes:
    """Without its size prefix. Raises IncompleteReadError at the end of the stream."""
    (size,) = _SIZE.unpack(await reader.readexactly(_SIZE.size))
    return await reader.readexactly(max(0, size))


async def _drain_to_end(reader: asyncio.StreamReader) -> None:
    while await reader.read(_READ_BYTES):
        pass
    raise _ConnectionEnded
