"""Envelope: a client's request that a broker passes on, with the principal and the address of the client (KIP-590).

Version 0. The request inside has its own header, and is answered as if the client had asked here: its errors stand in
the answer inside. The error of the envelope is NOT_CONTROLLER where this controller does not lead, or no longer: the
broker then finds out who does and asks again; INVALID_REQUEST for an API that brokers do not pass on or a request that
cannot be read, UNSUPPORTED_VERSION for its version, PRINCIPAL_DESERIALIZATION_FAILURE for a principal that cannot be
read. All of them but the first end the client's connection.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Sequence
from typing import Final, cast

from millstream.broker.requests.api_spec import ApiSpec, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient, EnvelopedRequests
from millstream.errors import (
    InvalidRequest,
    MalformedMessage,
    NotController,
    ProtocolError,
    UnsupportedVersion,
)
from millstream.net.server.client_connection import ClientConnection
from millstream.protocol.api import VERSIONS, ApiKey
from millstream.protocol.frames import decode_request_header, decode_response
from millstream.protocol.generated.envelope import EnvelopeRequest, EnvelopeResponse
from millstream.protocol.message_values import error_codes
from millstream.security.acl import Operation
from millstream.security.principal import host_text
from millstream.security.principal_data import decode_principal

API = ApiSpec(
    ApiKey.ENVELOPE,
    versions=range(1),
    permissions=(cluster_permission(Operation.CLUSTER_ACTION),),
)

FORWARDABLE: Final = frozenset(
    {
        ApiKey.ADD_RAFT_VOTER,
        ApiKey.ALTER_CLIENT_QUOTAS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        ApiKey.CREATE_ACLS,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_ACLS,
        ApiKey.DELETE_TOPICS,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.ELECT_LEADERS,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.REMOVE_RAFT_VOTER,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.UPDATE_FEATURES,
    }
)
"""The APIs that brokers pass on to the active controller (`forwardable` in Kafka's ApiKeys)."""
_SIZE_BYTES: Final = 4
_NOT_CONTROLLER: Final = NotController.code.to_bytes(2, "big")
"""As it stands in an answer. Hardly one has these bytes otherwise, and only one that does is decoded."""


async def handle(
    request: EnvelopeRequest,
    context: RequestContext,
    *,
    controller: ControllerClient,
    enveloped_requests: EnvelopedRequests,
) -> EnvelopeResponse:
    """Answers the request inside.

    Raises NotController, InvalidRequest, PrincipalDeserializationFailure, UnsupportedVersion.
    """
    frame = memoryview(request.request_data)
    key, version = _forwarded_api(frame)
    connection = ClientConnection(
        context.connection_id,
        _address(request.client_host_address),
        0,
        context.listener_name,
        decode_principal(request.request_principal),
        context.connection.security_protocol,
        is_forwarded=True,
    )
    if not controller.leads():
        raise NotController("the controller of this cluster is another one; ask it")
    try:
        handled = enveloped_requests.handle(frame, connection)
        if isinstance(handled, Awaitable):
            handled = await handled
    except ProtocolError as error:
        raise InvalidRequest(f"the request inside cannot be read: {error}") from error
    assert handled is not None, "only a Produce may want no answer, and none is passed on"
    # Only a Fetch is answered from a file.
    answer = b"".join(cast("Sequence[bytes]", handled))[_SIZE_BYTES:]
    # What the answer says counts, not who leads now. A replica that learns of a newer epoch says it to nobody before that
    # is on its disk, and refuses what it is asked until then; and it may lead again by the time of this line.
    if _NOT_CONTROLLER in answer and _says_not_controller(key, version, answer):
        raise NotController("the controller of this cluster has moved; ask the new one")
    return EnvelopeResponse(response_data=answer)


def _forwarded_api(frame: memoryview) -> tuple[ApiKey, int]:
    try:
        header, _ = decode_request_header(frame)
        key, version = ApiKey(header.request_api_key), header.request_api_version
    except (MalformedMessage, UnsupportedVersion, ValueError) as error:
        raise InvalidRequest(f"the header of the request inside cannot be read: {error}") from error
    if key not in FORWARDABLE:
        raise InvalidRequest(f"{key.name} is not an API that brokers pass on")
    if not VERSIONS[key].supports(version):
        raise UnsupportedVersion(f"{key.name} version {version} is not served")
    return key, version


def _address(address: bytes) -> str:
    try:
        return host_text(str(ipaddress.ip_address(bytes(address))))
    except ValueError as error:
        raise InvalidRequest("the client's address has neither 4 nor 16 bytes") from error


def _says_not_controller(key: ApiKey, version: int, answer: bytes) -> bool:
    _, message = decode_response(key, version, memoryview(answer))
    return any(code == NotController.code for code in error_codes(message))
