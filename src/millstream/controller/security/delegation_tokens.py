"""Delegation tokens (KIP-48): created, renewed, expired and swept, as records. Who may ask at all is decided before."""

from __future__ import annotations

from typing import Final

from millstream.controller.operation import ControllerApi, ControllerContext, ControllerResult
from millstream.controller.settings import DelegationTokenSettings
from millstream.errors import (
    DelegationTokenAuthDisabled,
    DelegationTokenExpired,
    DelegationTokenNotFound,
    DelegationTokenOwnerMismatch,
    InvalidPrincipalType,
    PolicyViolation,
    UnsupportedVersion,
)
from millstream.metadata.features import Capability, can
from millstream.metadata.image import MetadataImage
from millstream.metadata.stored_security import TokenInformation
from millstream.model import uuid_from_random, uuid_text
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from millstream.protocol.generated.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from millstream.protocol.generated.metadata_records import (
    DelegationTokenRecord,
    RemoveDelegationTokenRecord,
)
from millstream.protocol.generated.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from millstream.runtime.interfaces import Random
from millstream.security.delegation_token import (
    may_change,
    principal_parts,
    principal_text,
    token_hmac,
)
from millstream.security.principal import USER_TYPE

_TOKENS_PER_OWNER_MAX: Final = 1_000
"""Everybody who has logged in may create some for himself, and all nodes remember them for
a week. Kafka has no such bound."""
_RENEWERS_MAX: Final = 1_000
"""Of a token: its record is written and told in one piece. Kafka has no such bound."""


def plan_create_token(
    context: ControllerContext, request: CreateDelegationTokenRequest
) -> ControllerResult[CreateDelegationTokenResponse]:
    """Creates a token.

    Raises DelegationTokenAuthDisabled, UnsupportedVersion, InvalidPrincipalType, PolicyViolation.
    """
    check_renewers(request)
    image, settings = context.image, context.settings.delegation_tokens
    secret_key = _secret_key(settings, image)
    now_ms, requester = context.now.wall_ms, context.principal
    owner = requester.text
    if request.owner_principal_name:
        owner = principal_text(request.owner_principal_type or "", request.owner_principal_name)
    room = _make_room(owner, image, now_ms)
    lifetime_ms = _limit_period_ms(request.max_lifetime_ms, settings.max_lifetime_ms)
    token_id = new_token_id(context.random)
    record = DelegationTokenRecord(
        owner=owner,
        requester=requester.text,
        renewers=[principal_text(r.principal_type, r.principal_name) for r in request.renewers],
        issue_timestamp=now_ms,
        max_timestamp=now_ms + lifetime_ms,
        expiration_timestamp=now_ms + min(lifetime_ms, settings.expiry_time_ms),
        token_id=token_id,
    )
    owner_type, owner_name = principal_parts(owner)
    response = CreateDelegationTokenResponse(
        principal_type=owner_type,
        principal_name=owner_name,
        token_requester_principal_type=requester.principal_type,
        token_requester_principal_name=requester.name,
        issue_timestamp_ms=record.issue_timestamp,
        expiry_timestamp_ms=record.expiration_timestamp,
        max_timestamp_ms=record.max_timestamp,
        token_id=token_id,
        hmac=token_hmac(secret_key, token_id),
    )
    return ControllerResult((*room, record), response)


CREATE_DELEGATION_TOKEN: Final = ControllerApi(ApiKey.CREATE_DELEGATION_TOKEN, plan_create_token)


def _make_room(
    owner: str, image: MetadataImage, now_ms: int
) -> tuple[RemoveDelegationTokenRecord, ...]:
    """Returns what must go before an owner has another token: those of its own that have expired,
    where it has too many for the next sweep to be waited for.

    Raises PolicyViolation.
    """
    own = [token for token in image.delegation_tokens.values() if token.owner == owner]
    if len(own) < _TOKENS_PER_OWNER_MAX:
        return ()
    expired = [token for token in own if _is_expired(token, now_ms)]
    if not expired:
        raise PolicyViolation(
            f"{owner} has {_TOKENS_PER_OWNER_MAX} delegation tokens already; expire some of them, or let them end sooner (delegation.token.max.lifetime.ms)",
            bound="delegation tokens",
        )
    return tuple(RemoveDelegationTokenRecord(token_id=token.token_id) for token in expired)


def new_token_id(random: Random) -> str:
    """Returns an id that does not look like an option of a command, as Kafka's do."""
    while (text := uuid_text(uuid_from_random(random.randbytes(16)))).startswith("-"):
        pass
    return text


def check_renewers(request: CreateDelegationTokenRequest) -> None:
    """Raises PolicyViolation, InvalidPrincipalType."""
    if len(request.renewers) > _RENEWERS_MAX:
        raise PolicyViolation(
            f"a delegation token has {_RENEWERS_MAX} renewers at most; name fewer, or create several tokens",
            bound="renewers of delegation tokens",
        )
    if any(renewer.principal_type != USER_TYPE for renewer in request.renewers):
        raise InvalidPrincipalType(
            f"A token can be renewed by principals of type {USER_TYPE} only."
        )


def plan_renew_token(
    context: ControllerContext, request: RenewDelegationTokenRequest
) -> ControllerResult[RenewDelegationTokenResponse]:
    """Gives a token a later expiry.

    Raises DelegationTokenAuthDisabled, UnsupportedVersion, -NotFound, -Expired, -OwnerMismatch.
    """
    now_ms, settings = context.now.wall_ms, context.settings.delegation_tokens
    token = _token_with(bytes(request.hmac), context)
    _check_alive(token, now_ms)
    _check_owner(token, context.principal.text)
    period_ms = _limit_period_ms(request.renew_period_ms, settings.expiry_time_ms)
    expiry_ms = min(token.max_timestamp_ms, now_ms + period_ms)
    return ControllerResult(
        (_record(token, expiry_ms),), RenewDelegationTokenResponse(expiry_timestamp_ms=expiry_ms)
    )


RENEW_DELEGATION_TOKEN: Final = ControllerApi(ApiKey.RENEW_DELEGATION_TOKEN, plan_renew_token)


def plan_expire_token(
    context: ControllerContext, request: ExpireDelegationTokenRequest
) -> ControllerResult[ExpireDelegationTokenResponse]:
    """Changes when a token expires; a negative period removes it now. Raises as `plan_renew_token`."""
    now_ms, period_ms = context.now.wall_ms, request.expiry_time_period_ms
    token = _token_with(bytes(request.hmac), context)
    _check_owner(token, context.principal.text)
    if period_ms < 0:
        removal = RemoveDelegationTokenRecord(token_id=token.token_id)
        return ControllerResult(
            (removal,), ExpireDelegationTokenResponse(expiry_timestamp_ms=now_ms)
        )
    _check_alive(token, now_ms)
    expiry_ms = min(token.max_timestamp_ms, now_ms + period_ms)
    return ControllerResult(
        (_record(token, expiry_ms),), ExpireDelegationTokenResponse(expiry_timestamp_ms=expiry_ms)
    )


EXPIRE_DELEGATION_TOKEN: Final = ControllerApi(ApiKey.EXPIRE_DELEGATION_TOKEN, plan_expire_token)


def plan_sweep_tokens(context: ControllerContext, _request: None) -> ControllerResult[None]:
    """Removes tokens that have expired and cannot be used any more."""
    expired = tuple(
        RemoveDelegationTokenRecord(token_id=token.token_id)
        for token in context.image.delegation_tokens.values()
        if _is_expired(token, context.now.wall_ms)
    )
    return ControllerResult(expired, None)


def _secret_key(settings: DelegationTokenSettings, image: MetadataImage) -> str:
    if settings.secret_key is None:
        raise DelegationTokenAuthDisabled
    if not can(image, Capability.DELEGATION_TOKENS):
        raise UnsupportedVersion("the level of metadata.version has no delegation tokens: raise it")
    return settings.secret_key


def _limit_period_ms(asked_ms: int, largest_ms: int) -> int:
    """The period asked for where it is positive and allowed, else the longest one allowed."""
    return min(asked_ms, largest_ms) if asked_ms > 0 else largest_ms


def _token_with(secret: bytes, context: ControllerContext) -> TokenInformation:
    image = context.image
    _secret_key(context.settings.delegation_tokens, image)
    assert context.token_ids is not None, "there is a secret key"
    token_id = context.token_ids.find(secret, image.delegation_tokens)
    if token_id is None:
        raise DelegationTokenNotFound
    return image.delegation_tokens[token_id]


def _is_expired(token: TokenInformation, now_ms: int) -> bool:
    return token.max_timestamp_ms < now_ms or token.expiration_timestamp_ms < now_ms


def _check_alive(token: TokenInformation, now_ms: int) -> None:
    if _is_expired(token, now_ms):
        raise DelegationTokenExpired


def _check_owner(token: TokenInformation, principal: str) -> None:
    if not may_change(token, principal):
        raise DelegationTokenOwnerMismatch


def _record(token: TokenInformation, expiration_timestamp_ms: int) -> DelegationTokenRecord:
    return DelegationTokenRecord(
        owner=token.owner,
        requester=token.requester,
        renewers=list(token.renewers),
        issue_timestamp=token.issue_timestamp_ms,
        max_timestamp=token.max_timestamp_ms,
        expiration_timestamp=expiration_timestamp_ms,
        token_id=token.token_id,
    )
