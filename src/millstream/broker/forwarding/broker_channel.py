"""Sends requests of this broker to other brokers: a connection to each for each lane, at the
address that the newest metadata have.

Owns which listener is for brokers (`inter.broker.listener.name`). Whoever asks decides what to do about a
broker that does not answer.
"""

from __future__ import annotations

from typing import TypeVar, cast

from millstream.broker.services import Metadata
from millstream.errors import BrokerNotAvailable
from millstream.model import BrokerId
from millstream.net.client.connections import Connections, Lane
from millstream.net.client.core.addresses import Address
from millstream.protocol.api import ApiKey, Message, response_class

ResponseT = TypeVar("ResponseT")


class BrokerChannel:
    def __init__(
        self,
        broker_id: BrokerId,
        metadata: Metadata,
        connections: Connections,
        listener: str,
    ) -> None:
        """`broker_id`: this broker's. `listener`: the name of the one that brokers use among themselves."""
        self.broker_id = broker_id
        self._metadata = metadata
        self._connections = connections
        self._listener = listener

    async def ask(
        self,
        broker_id: BrokerId,
        key: ApiKey,
        request: Message,
        expected: type[ResponseT],
        lane: Lane = Lane.MAIN,
    ) -> ResponseT:
        """Returns the answer of another broker. Raises BrokerNotAvailable, NetworkException, RequestTimedOut."""
        connection = await self._connections.get(self._address(broker_id), lane)
        response = await connection.request(key, request, response_class(key))
        assert isinstance(response, expected), "an API has one type of response"
        return cast("ResponseT", response)

    def _address(self, broker_id: BrokerId) -> Address:
        registration = self._metadata.image.brokers.get(broker_id)
        if registration is None:
            raise BrokerNotAvailable(f"broker {broker_id} is not registered")
        endpoint = registration.endpoint(self._listener)
        if endpoint is None:
            raise BrokerNotAvailable(f"broker {broker_id} has no listener {self._listener}")
        return Address(endpoint.host, endpoint.port)
