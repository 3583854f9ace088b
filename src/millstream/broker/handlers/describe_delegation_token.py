"""DescribeDelegationToken: the tokens a client may know of, with their secrets (KIP-48).

Versions 1-3; 3 tells who asked for a token besides its owner. Null owners: all tokens; an empty list: none. A client
sees tokens it owns, asked for or may renew, and with an authorizer those that it may describe, or whose owners' tokens
it may describe. Refused as CreateDelegationToken is.
"""

from __future__ import annotations

from typing import Final

from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.long_work import LongWork
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.requests.token_requests import check_may_ask_for_tokens
from millstream.broker.services import Metadata
from millstream.errors import DelegationTokenAuthDisabled
from millstream.metadata.stored_security import TokenInformation
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from millstream.security.acl import Operation, ResourceType
from millstream.security.delegation_token import (
    concerns,
    principal_parts,
    principal_text,
    token_hmac,
)

API = ApiSpec(
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
    versions=range(1, 4),
    permissions=(
        Permission(Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN),
        Permission(Operation.DESCRIBE_TOKENS, ResourceType.USER),
    ),
    kept_whole="its owners, made a set, in turns",
)

_KNOWS_REQUESTERS: Final = 3


async def handle(
    request: DescribeDelegationTokenRequest,
    context: RequestContext,
    *,
    access: Access,
    config: DynamicConfig,
    long_work: LongWork,
    metadata: Metadata,
) -> DescribeDelegationTokenResponse:
    """Describes the tokens that the asker may see.

    Raises DelegationTokenRequestNotAllowed, DelegationTokenAuthDisabled.
    """
    check_may_ask_for_tokens(context)
    secret_key = config.current.delegation_token_secret_key
    if secret_key is None:
        raise DelegationTokenAuthDisabled
    owners = None if request.owners is None else await _texts_of(request.owners, long_work)
    tokens = metadata.image.delegation_tokens.values()
    return DescribeDelegationTokenResponse(
        tokens=[
            _described(token, secret_key, context.version)
            async for token in long_work.in_turns(tokens)
            if (owners is None or _concerns_any(token, owners)) and _may_see(token, context, access)
        ]
    )


async def _texts_of(
    owners: list[DescribeDelegationTokenOwner], long_work: LongWork
) -> frozenset[str]:
    return frozenset(
        [
            principal_text(owner.principal_type, owner.principal_name)
            async for owner in long_work.in_turns(owners)
        ]
    )


def _concerns_any(token: TokenInformation, principals: frozenset[str]) -> bool:
    """Whether it concerns one of them, as `concerns` does, however many there are."""
    return not principals.isdisjoint((token.owner, token.requester, *token.renewers))


def _may_see(token: TokenInformation, context: RequestContext, access: Access) -> bool:
    """Those whom a token concerns may, and who may describe the token, or the tokens of its owner.

    Without an authorizer Kafka tells everybody the secrets of all tokens; here nobody else learns them.
    """
    if concerns(token, context.principal.text):
        return True
    return not access.is_open and (
        access.allows(context, Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token.token_id)
        or access.allows(context, Operation.DESCRIBE_TOKENS, ResourceType.USER, token.owner)
    )


def _described(token: TokenInformation, secret_key: str, version: int) -> DescribedDelegationToken:
    owner_type, owner_name = principal_parts(token.owner)
    requester_type, requester_name = (
        principal_parts(token.requester) if version >= _KNOWS_REQUESTERS else ("", "")
    )
    return DescribedDelegationToken(
        principal_type=owner_type,
        principal_name=owner_name,
        token_requester_principal_type=requester_type,
        token_requester_principal_name=requester_name,
        issue_timestamp=token.issue_timestamp_ms,
        expiry_timestamp=token.expiration_timestamp_ms,
        max_timestamp=token.max_timestamp_ms,
        token_id=token.token_id,
        hmac=token_hmac(secret_key, token.token_id),
        renewers=[
            DescribedDelegationTokenRenewer(*principal_parts(renewer)) for renewer in token.renewers
        ],
    )
