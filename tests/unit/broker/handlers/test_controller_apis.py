"""What only brokers and controllers may say to each other is not served to clients: their connection is closed."""

from __future__ import annotations

import pytest

from millstream.broker.metrics.node_metrics import NodeMetrics
from millstream.broker.requests.dispatch import Dispatcher
from millstream.broker.requests.registry import BROKER_HANDLERS
from millstream.errors import ProtocolError
from millstream.net.server.client_connection import ClientConnection
from millstream.protocol.api import ApiKey, request_class
from millstream.protocol.frames import encode_request
from millstream.runtime.system import SystemClock
from tests.support.handler_services import handler_services

CLIENT = ClientConnection(1, "127.0.0.1", 5000, "PLAINTEXT")


@pytest.mark.parametrize(
    "key",
    [
        ApiKey.ENVELOPE,
        ApiKey.VOTE,
        ApiKey.BEGIN_QUORUM_EPOCH,
        ApiKey.END_QUORUM_EPOCH,
        ApiKey.FETCH_SNAPSHOT,
        ApiKey.ALTER_PARTITION,
        ApiKey.BROKER_REGISTRATION,
        ApiKey.BROKER_HEARTBEAT,
        ApiKey.ALLOCATE_PRODUCER_IDS,
        ApiKey.CONTROLLER_REGISTRATION,
        ApiKey.ASSIGN_REPLICAS_TO_DIRS,
        ApiKey.UPDATE_RAFT_VOTER,
    ],
    ids=lambda key: key.name,
)
def test_a_client_that_speaks_as_a_broker_is_cut_off(key: ApiKey) -> None:
    """An envelope would carry a request under somebody else's name."""
    services = handler_services(clock=SystemClock(), metrics=NodeMetrics(lambda: 0))
    dispatcher = Dispatcher(services, BROKER_HANDLERS)
    version = request_class(key).LOWEST_VERSION
    pieces = encode_request(key, version, 7, "c", request_class(key)())
    frame = b"".join(bytes(piece) for piece in pieces)[4:]
    with pytest.raises(ProtocolError, match="is not served"):
        dispatcher.handle(memoryview(frame), CLIENT)
