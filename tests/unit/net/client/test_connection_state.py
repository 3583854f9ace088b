"""Versions are agreed on, answers belong to the oldest request, and what does not fit is refused."""

from __future__ import annotations

import pytest

from millstream.errors import EncodeError, MalformedMessage, UnsupportedVersion
from millstream.net.client.core.api_versions import ApiVersionTable, next_api_versions_attempt
from millstream.net.client.core.connection_state import ConnectionState
from millstream.protocol.api import ApiKey
from millstream.protocol.frames import encode_response
from millstream.protocol.generated.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from millstream.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse

KAFKA_2_1 = {
    ApiKey.PRODUCE: (0, 7),
    ApiKey.FETCH: (0, 10),
    ApiKey.METADATA: (0, 7),
    ApiKey.HEARTBEAT: (0, 2),
}


def frame(
    key: ApiKey, version: int, correlation_id: int, message: HeartbeatResponse | ApiVersionsResponse
) -> memoryview:
    pieces = encode_response(key, version, correlation_id, message)
    return memoryview(b"".join(bytes(piece) for piece in pieces))[4:]  # type: ignore[arg-type]


def test_the_highest_version_that_both_know_is_spoken() -> None:
    old = ApiVersionTable(KAFKA_2_1)
    assert [old.choose(key) for key in KAFKA_2_1] == [7, 10, 7, 2]
    new = ApiVersionTable({ApiKey.FETCH: (4, 99)})
    assert (new.choose(ApiKey.FETCH), new.choose(ApiKey.FETCH, at_most=12)) == (18, 12)


def test_no_common_version_is_an_error_that_names_both_ranges() -> None:
    ancient = ApiVersionTable({ApiKey.PRODUCE: (0, 2)})
    with pytest.raises(
        UnsupportedVersion, match="PRODUCE: this client speaks 3-13, the broker serves 0-2"
    ):
        ancient.choose(ApiKey.PRODUCE)
    with pytest.raises(UnsupportedVersion, match=r"FETCH: .* does not serve it"):
        ancient.choose(ApiKey.FETCH)
    assert not ancient.supports(ApiKey.PRODUCE)


def test_an_old_broker_answers_api_versions_in_version_0_and_says_what_to_try() -> None:
    """KIP-511."""
    state = ConnectionState("me")
    correlation_id, _ = state.send(ApiKey.API_VERSIONS, ApiVersionsRequest("m", "1"), 4)
    answer = ApiVersionsResponse(error_code=35, api_keys=[ApiVersion(18, 0, 2)])
    _, response = state.receive(frame(ApiKey.API_VERSIONS, 0, correlation_id, answer))
    assert isinstance(response, ApiVersionsResponse)
    assert next_api_versions_attempt(response) == 2
    assert next_api_versions_attempt(ApiVersionsResponse(error_code=35)) == 0


def test_answers_belong_to_requests_in_order() -> None:
    state = ConnectionState("me")
    first, _ = state.send(ApiKey.HEARTBEAT, HeartbeatRequest(), 4)
    second, _ = state.send(ApiKey.HEARTBEAT, HeartbeatRequest(), 4)
    assert (first, second, state.in_flight_count) == (0, 1, 2)
    with pytest.raises(MalformedMessage, match="answered request 1; 0 was next"):
        state.receive(frame(ApiKey.HEARTBEAT, 4, second, HeartbeatResponse()))


def test_an_answer_to_nothing_is_refused() -> None:
    with pytest.raises(MalformedMessage, match="nothing was asked"):
        ConnectionState("me").receive(memoryview(bytes(8)))


def test_a_request_without_response_is_not_waited_for() -> None:
    state = ConnectionState("me")
    state.send(ApiKey.HEARTBEAT, HeartbeatRequest(), 4, expects_response=False)
    assert state.in_flight_count == 0


def test_what_the_version_agreed_on_cannot_carry_is_told_by_name() -> None:
    state = ConnectionState("me")
    with pytest.raises(
        UnsupportedVersion, match=r"too old .*HEARTBEAT .* version 2 .*group_instance_id"
    ):
        state.send(ApiKey.HEARTBEAT, HeartbeatRequest(group_instance_id="i"), 2)
    assert state.in_flight_count == 0


def test_what_no_version_can_carry_is_not_blamed_on_the_broker() -> None:
    """Also where the caller speaks an older version than there is, as who names topics by their names does."""
    with pytest.raises(EncodeError, match="is no int32"):
        ConnectionState("me").send(ApiKey.HEARTBEAT, HeartbeatRequest(generation_id=2**31), 2)
