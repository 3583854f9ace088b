"""A broker that passes on a client's request hears that the controller has moved, so that the client never does."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import cast

import pytest

from millstream.broker.controller_handlers import envelope
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient
from millstream.errors import NotController, TopicAlreadyExists
from millstream.net.server.client_connection import ClientConnection
from millstream.net.server.request_handler import Response
from millstream.protocol.api import ApiKey
from millstream.protocol.frames import decode_response, encode_request, encode_response
from millstream.protocol.generated.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from millstream.protocol.generated.envelope import EnvelopeRequest, EnvelopeResponse
from millstream.protocol.generated.headers import RequestHeader
from millstream.runtime import Instant
from millstream.security.principal import ANONYMOUS
from millstream.security.principal_data import encode_principal

VERSION = 7
BROKER = ClientConnection(1, "127.0.0.1", 5000, "CONTROLLER")


class Controller:
    """`leads`: what it says each time that it is asked."""

    def __init__(self, *leads: bool) -> None:
        self._leads = list(leads)

    def leads(self) -> bool:
        return self._leads.pop(0) if len(self._leads) > 1 else self._leads[0]


class Answering:
    def __init__(self, error_code: int) -> None:
        self._error_code = error_code

    def handle(
        self, frame: memoryview, connection: ClientConnection
    ) -> Response | Awaitable[Response | None] | None:
        del frame, connection
        result = CreatableTopicResult(name="orders", error_code=self._error_code)
        return encode_response(
            ApiKey.CREATE_TOPICS, VERSION, 7, CreateTopicsResponse(topics=[result])
        )


async def passed_on(controller: Controller, error_code: int) -> EnvelopeResponse:
    pieces = encode_request(ApiKey.CREATE_TOPICS, VERSION, 7, "c", CreateTopicsRequest())
    request = EnvelopeRequest(
        request_data=b"".join(bytes(piece) for piece in pieces)[4:],
        request_principal=encode_principal(ANONYMOUS),
        client_host_address=bytes([10, 0, 0, 9]),
    )
    header = RequestHeader(request_api_key=ApiKey.ENVELOPE, request_api_version=0)
    return await envelope.handle(
        request,
        RequestContext(header, BROKER, Instant(0, 0)),
        controller=cast("ControllerClient", controller),
        enveloped_requests=Answering(error_code),
    )


@pytest.mark.parametrize(
    "leads",
    [
        pytest.param((True, False), id="it has moved meanwhile"),
        pytest.param((True,), id="it leads again, or has told nobody yet that it does not"),
    ],
)
async def test_an_answer_of_no_controller_is_the_brokers_to_ask_again_for(
    leads: tuple[bool, ...],
) -> None:
    """As Kafka's controllers answer, whoever leads by then (`RequestChannel.buildResponseSend`)."""
    with pytest.raises(NotController):
        await passed_on(Controller(*leads), NotController.code)


@pytest.mark.parametrize("error_code", [0, TopicAlreadyExists.code])
async def test_any_other_answer_is_the_clients(error_code: int) -> None:
    answered = await passed_on(Controller(True, False), error_code)
    assert answered.response_data is not None
    _, response = decode_response(ApiKey.CREATE_TOPICS, VERSION, memoryview(answered.response_data))
    assert isinstance(response, CreateTopicsResponse)
    assert [each.error_code for each in response.topics] == [error_code]
