"""Asks the active controller: in this process where it runs here, else over a connection.

Finds it again when it has moved.

    ask -> the controller of this node | a request of this node's own | a client's request in an Envelope (KIP-590)

Owns when to ask again, so that nobody else is told NOT_CONTROLLER. Heartbeats have a connection of their own:
one behind a request that takes long would end this broker's session. So has AlterPartition: an ISR that
shrinks late holds up acknowledgements.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar, cast

from millstream.broker.metadata_log.controller_runner import ControllerRunner
from millstream.broker.metadata_log.driver import QuorumDescription
from millstream.broker.requests.request_context import RequestContext
from millstream.controller.operation import ControllerApi
from millstream.errors import (
    MillstreamError,
    NetworkException,
    NotController,
    RequestTimedOut,
    UnknownServerError,
    error_for,
)
from millstream.net.client.connections import Connections, Lane
from millstream.net.client.core.addresses import Address
from millstream.protocol.api import ApiKey, Message, response_class
from millstream.protocol.frames import decode_response, encode_request
from millstream.protocol.generated.envelope import EnvelopeRequest, EnvelopeResponse
from millstream.raft.messages import VoterChangeRequest
from millstream.security.principal_data import encode_principal

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")
FORWARDING_TIMEOUT_MS: Final = 60_000
"""Kafka's bound (`ForwardingManager`, request timeout of the controller's channel)."""
_RETRY_S: Final = 0.05
"""Ours: an election takes many of them."""
_SIZE_BYTES: Final = 4
"""Of the int32 before a message on the wire, which is none of an envelope."""
_OF_SESSIONS: Final = {ApiKey.BROKER_HEARTBEAT, ApiKey.BROKER_REGISTRATION}
_ASK_AGAIN: Final = (NotController, NetworkException)


class ControllerChannel:
    """Implements `services.ControllerClient` for a node that may not lead."""

    def __init__(
        self,
        controller: ControllerRunner,
        leader: Callable[[], Address | None],
        now_ms: Callable[[], int],
        *,
        sessions: Connections,
        alterations: Connections,
        requests: Connections,
    ) -> None:
        """`leader`: where the leader of the quorum listens; None where nobody is known to lead.

        `sessions`: for heartbeats. Its requests must end before a session does, or a controller that has fallen silent
        takes the sessions with its successor along.
        """
        self._controller = controller
        self._leader = leader
        self._sessions = sessions
        self._alterations = alterations
        self._requests = requests
        self._now_ms = now_ms

    def leads(self) -> bool:
        """Whether the active controller runs in this node."""
        return self._controller.leads()

    def is_elsewhere(self) -> bool:
        return not self._controller.leads()

    def quorum(self) -> QuorumDescription:
        return self._controller.quorum()

    async def ask(
        self,
        api: ControllerApi[RequestT, ResponseT],
        request: RequestT,
        caller: RequestContext | None = None,
    ) -> ResponseT:
        """Implements `services.ControllerClient`.

        Raises RequestTimedOut where nobody has answered as controller in a minute.

        A heartbeat is sent once: NotController, NetworkException and RequestTimedOut are the caller's.
        """
        message = cast("Message", request)

        async def once() -> ResponseT:
            if self._controller.leads():
                return await self._controller.ask(api, request, caller)
            if caller is None:
                return cast("ResponseT", await self._own(api.key, message))
            return cast("ResponseT", await self._enveloped(api.key, message, caller))

        if api.key is ApiKey.BROKER_HEARTBEAT:
            return await once()  # the session knows when the next one is due
        return cast("ResponseT", await self._until_answered(once))

    async def forward(self, key: ApiKey, request: Message, caller: RequestContext) -> Message:
        """Returns what the active controller answers to a client's request that is not the
        controller's own to handle.
        """
        answer = await self._until_answered(lambda: self._enveloped(key, request, caller))
        return cast("Message", answer)

    async def change_voters(self, change: VoterChangeRequest) -> None:
        """Implements `services.ControllerClient`."""
        await self._controller.change_voters(change)

    async def _until_answered(self, once: Callable[[], Awaitable[object]]) -> object:
        deadline_ms = self._now_ms() + FORWARDING_TIMEOUT_MS
        while True:
            try:
                return await once()
            except _ASK_AGAIN as error:
                if self._now_ms() >= deadline_ms:
                    raise RequestTimedOut(
                        f"no controller has answered within {FORWARDING_TIMEOUT_MS} ms ({error})"
                    ) from error
            await asyncio.sleep(_RETRY_S)

    async def _own(self, key: ApiKey, request: Message) -> Message:
        """Sends a request of this node's own. Raises the error with which all of it was refused."""
        connections = self._connections_for(key)
        response: Any = await self._exchange(connections, key, request)  # Any: of any API
        code = getattr(response, "error_code", 0)
        if code:
            raise error_for(code, getattr(response, "error_message", None))
        return cast("Message", response)

    def _connections_for(self, key: ApiKey) -> Connections:
        if key in _OF_SESSIONS:
            return self._sessions
        return self._alterations if key is ApiKey.ALTER_PARTITION else self._requests

    async def _enveloped(self, key: ApiKey, request: Message, caller: RequestContext) -> Message:
        version, number = caller.version, caller.header.correlation_id
        pieces = encode_request(key, version, number, caller.header.client_id, request)
        frame = b"".join(cast("list[bytes]", pieces))[_SIZE_BYTES:]
        envelope = EnvelopeRequest(
            request_data=frame,
            request_principal=encode_principal(caller.principal),
            client_host_address=ipaddress.ip_address(caller.client_host).packed,
        )
        answer = await self._exchange(self._requests, ApiKey.ENVELOPE, envelope)
        assert isinstance(answer, EnvelopeResponse), "the API has one kind of response"
        if answer.error_code == NotController.code:
            raise NotController("the controller has moved; ask again")
        if answer.error_code:
            error: MillstreamError = error_for(answer.error_code)
            raise UnknownServerError(f"the controller did not open an envelope: {error}")
        _, response = decode_response(key, version, memoryview(answer.response_data or b""))
        return response

    async def _exchange(self, connections: Connections, key: ApiKey, request: Message) -> Message:
        """Returns the leader's answer.

        Raises NetworkException where none came, NotController where nobody is known to lead.

        RequestTimedOut would say too little: a controller that did not commit in time answers with it, and
        what it was asked for may be in its log. Whoever asked must know that; asked again, a topic that is
        made would be refused as one that exists.
        """
        address = self._address()
        try:
            connection = await connections.get(address, Lane.MAIN)
            return await connection.request(key, request, response_class(key))
        except RequestTimedOut as error:
            raise NetworkException(
                f"the controller at {address} does not answer: {error}"
            ) from error

    def _address(self) -> Address:
        address = self._leader()
        if address is None:
            raise NotController("the cluster has no controller now")
        return address
