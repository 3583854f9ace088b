"""CreateDelegationToken: a token with which others may log in as its owner (KIP-48).

Versions 1-3; 3 may name an owner other than who asks. Only those who have proved who they are may ask: on a plaintext
listener DELEGATION_TOKEN_REQUEST_NOT_ALLOWED. Without `delegation.token.secret.key` DELEGATION_TOKEN_AUTH_DISABLED,
with a renewer that is no user INVALID_PRINCIPAL_TYPE.
"""

from __future__ import annotations

from typing import Final

from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.failure_log import FailureLog
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.requests.token_requests import check_may_ask_for_tokens
from millstream.broker.services import ControllerClient
from millstream.controller.security.delegation_tokens import CREATE_DELEGATION_TOKEN
from millstream.errors import KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from millstream.security.acl import Operation, ResourceType
from millstream.security.principal import KafkaPrincipal

API = ApiSpec(
    ApiKey.CREATE_DELEGATION_TOKEN,
    versions=range(1, 4),
    permissions=(Permission(Operation.CREATE_TOKENS, ResourceType.USER),),
    kept_whole="one token's renewers, 1000 at most",
)

_KNOWS_REQUESTERS: Final = 3


async def handle(
    request: CreateDelegationTokenRequest,
    context: RequestContext,
    *,
    access: Access,
    controller: ControllerClient,
    failures: FailureLog,
) -> CreateDelegationTokenResponse:
    try:
        check_may_ask_for_tokens(context)
        _check_owner(request, context, access)
        response = await controller.ask(CREATE_DELEGATION_TOKEN, request, context)
    except KafkaError as error:
        failures.log_bound("CreateDelegationToken", error)
        response = _refused(request, context.principal, error)
    if context.version < _KNOWS_REQUESTERS:
        response.token_requester_principal_type = response.token_requester_principal_name = ""
    return response


def _check_owner(
    request: CreateDelegationTokenRequest, context: RequestContext, access: Access
) -> None:
    """Raises DelegationTokenAuthorizationFailed."""
    if request.owner_principal_name:
        owner = KafkaPrincipal(request.owner_principal_type or "", request.owner_principal_name)
        if owner != context.principal:
            access.check(context, Operation.CREATE_TOKENS, ResourceType.USER, owner.text)


def _refused(
    request: CreateDelegationTokenRequest, requester: KafkaPrincipal, error: KafkaError
) -> CreateDelegationTokenResponse:
    """Says whom it was asked for, and no times."""
    named = bool(request.owner_principal_name)
    return CreateDelegationTokenResponse(
        error_code=error.code,
        principal_type=(request.owner_principal_type or "") if named else requester.principal_type,
        principal_name=(request.owner_principal_name or "") if named else requester.name,
        token_requester_principal_type=requester.principal_type,
        token_requester_principal_name=requester.name,
        issue_timestamp_ms=-1,
        expiry_timestamp_ms=-1,
        max_timestamp_ms=-1,
    )
