"""When a broker asks a controller again, and which answers it hands on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from millstream.broker.forwarding.controller_channel import ControllerChannel
from millstream.broker.metadata_log.controller_runner import ControllerRunner
from millstream.controller.brokers.registration import UNREGISTER_BROKER
from millstream.controller.operation import ControllerApi
from millstream.controller.topics.create_topics import CREATE_TOPICS
from millstream.errors import (
    BrokerIdNotRegistered,
    MillstreamError,
    NetworkException,
    NotController,
    RequestTimedOut,
)
from millstream.net.client.connections import Connections
from millstream.net.client.core.addresses import Address
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.generated.create_topics import CreateTopicsRequest, CreateTopicsResponse
from millstream.protocol.generated.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from tests.sim.virtual_time import VirtualClock, run_in_virtual_time

LEADER = Address("leader", 9093)
UNREGISTER = UnregisterBrokerRequest(broker_id=1)
Outcome = Message | MillstreamError


class Elsewhere:
    """A controller that answers, or fails, with one outcome after the other; also the connections to it, and one of them."""

    def __init__(self, outcomes: Sequence[Outcome], *, leads: bool = False) -> None:
        self.outcomes = list(outcomes)
        self.asked = 0
        self._leads = leads

    def leads(self) -> bool:
        return self._leads

    async def get(self, _address: Address, _lane: object) -> Elsewhere:
        return self

    async def request(self, _key: ApiKey, _request: Message, _expected: object) -> Message:
        return self._next()

    async def ask(self, _api: object, _request: Message, _caller: object) -> Message:
        return self._next()

    def _next(self) -> Message:
        self.asked += 1
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, MillstreamError):
            raise outcome
        return outcome


def ask(elsewhere: Elsewhere, api: ControllerApi[Any, Any], request: Message) -> Message:
    async def story() -> Message:
        channel = ControllerChannel(
            cast("ControllerRunner", elsewhere),
            lambda: LEADER,
            lambda: VirtualClock().now().monotonic_ms,
            **dict.fromkeys(
                ("sessions", "alterations", "requests"), cast("Connections", elsewhere)
            ),
        )
        return cast("Message", await channel.ask(api, request))

    return run_in_virtual_time(story())


@pytest.mark.parametrize(
    "lost",
    [
        NetworkException("the connection was lost"),
        RequestTimedOut("no answer within 30000 ms"),
        NotController("nobody leads"),
        UnregisterBrokerResponse(error_code=NotController.code),
    ],
)
def test_a_request_that_nobody_has_answered_as_controller_is_asked_again(lost: Outcome) -> None:
    elsewhere = Elsewhere([lost, lost, UnregisterBrokerResponse()])
    assert ask(elsewhere, UNREGISTER_BROKER, UNREGISTER) == UnregisterBrokerResponse()
    assert elsewhere.asked == 3


def test_a_controller_that_does_not_answer_is_asked_for_a_minute() -> None:
    elsewhere = Elsewhere([NetworkException("the connection was lost")] * 2_000)
    with pytest.raises(RequestTimedOut, match="no controller has answered within 60000 ms"):
        ask(elsewhere, UNREGISTER_BROKER, UNREGISTER)
    assert elsewhere.asked == 1_201


@pytest.mark.parametrize("error", [RequestTimedOut, BrokerIdNotRegistered])
def test_what_a_controller_answers_is_handed_on(error: type[RequestTimedOut]) -> None:
    """A change that is not committed in time may be in the log: asked for twice it would be refused as done before."""
    elsewhere = Elsewhere([UnregisterBrokerResponse(error_code=error.code)])
    with pytest.raises(error):
        ask(elsewhere, UNREGISTER_BROKER, UNREGISTER)
    assert elsewhere.asked == 1


def test_the_controller_of_this_node_is_not_asked_twice_for_what_it_did_not_commit_in_time() -> (
    None
):
    elsewhere = Elsewhere([RequestTimedOut("not committed in time")], leads=True)
    with pytest.raises(RequestTimedOut, match="not committed in time"):
        ask(elsewhere, CREATE_TOPICS, CreateTopicsRequest())
    assert elsewhere.asked == 1


def test_the_controller_of_this_node_is_asked_again_where_it_has_moved() -> None:
    elsewhere = Elsewhere([NotController("it has moved"), CreateTopicsResponse()], leads=True)
    assert ask(elsewhere, CREATE_TOPICS, CreateTopicsRequest()) == CreateTopicsResponse()
