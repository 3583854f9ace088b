"""Delegation tokens (KIP-48): create, renew, expire, describe. Only authenticated connections may ask for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from millstream.clients.admin.core.call import Asked, Call
from millstream.clients.admin.core.results import check
from millstream.clients.admin.core.routes import AnyBroker
from millstream.clients.admin.driver import AdminCalls
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from millstream.protocol.generated.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from millstream.protocol.generated.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from millstream.protocol.generated.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from millstream.security.principal import KafkaPrincipal

BROKER_DECIDES = -1
"""In place of a lifetime or period: what the broker is configured for."""


@dataclass(frozen=True, slots=True)
class DelegationToken:
    """Log in with SCRAM: `token_id` is the user, `hmac` in base64 the password. Times in ms since 1970."""

    token_id: str
    hmac: bytes = field(repr=False)
    owner: KafkaPrincipal
    requester: KafkaPrincipal | None
    """None before Kafka 3.3."""
    renewers: tuple[KafkaPrincipal, ...]
    issue_timestamp_ms: int
    expiry_timestamp_ms: int
    max_timestamp_ms: int


async def create_delegation_token(
    admin: AdminCalls,
    *,
    renewers: Iterable[KafkaPrincipal] = (),
    owner: KafkaPrincipal | None = None,
    max_lifetime_ms: int = BROKER_DECIDES,
    timeout_ms: int | None = None,
) -> DelegationToken:
    """Creates a token for oneself, or for another `owner` (Kafka 3.3)."""
    allowed = tuple(renewers)

    def build(_: Asked[None]) -> CreateDelegationTokenRequest:
        request = CreateDelegationTokenRequest(
            renewers=[CreatableRenewers(each.principal_type, each.name) for each in allowed],
            max_lifetime_ms=max_lifetime_ms,
        )
        if owner is not None:
            request.owner_principal_type = owner.principal_type
            request.owner_principal_name = owner.name
        return request

    def read(
        response: CreateDelegationTokenResponse, asked: Asked[None]
    ) -> dict[None, DelegationToken]:
        check(response.error_code, "create_delegation_token")
        token = DelegationToken(
            response.token_id,
            bytes(response.hmac),
            KafkaPrincipal(response.principal_type, response.principal_name),
            _requester(
                response.token_requester_principal_type, response.token_requester_principal_name
            ),
            allowed,
            response.issue_timestamp_ms,
            response.expiry_timestamp_ms,
            response.max_timestamp_ms,
        )
        return dict.fromkeys(asked.keys, token)

    call = Call(
        api=ApiKey.CREATE_DELEGATION_TOKEN,
        response=CreateDelegationTokenResponse,
        route=AnyBroker(),
        build=build,
        read=read,
    )
    return await admin._driver.one(call, None, admin._driver.deadline(timeout_ms))


async def renew_delegation_token(
    admin: AdminCalls,
    hmac: bytes,
    *,
    renew_period_ms: int = BROKER_DECIDES,
    timeout_ms: int | None = None,
) -> int:
    """Gives back when it expires now (ms since 1970)."""

    def read(response: RenewDelegationTokenResponse, asked: Asked[None]) -> dict[None, int]:
        check(response.error_code, "renew_delegation_token")
        return dict.fromkeys(asked.keys, response.expiry_timestamp_ms)

    call = Call[None, int, RenewDelegationTokenResponse](
        api=ApiKey.RENEW_DELEGATION_TOKEN,
        response=RenewDelegationTokenResponse,
        route=AnyBroker(),
        build=lambda _: RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=renew_period_ms),
        read=read,
    )
    return await admin._driver.one(call, None, admin._driver.deadline(timeout_ms))


async def expire_delegation_token(
    admin: AdminCalls,
    hmac: bytes,
    *,
    expiry_period_ms: int = BROKER_DECIDES,
    timeout_ms: int | None = None,
) -> int:
    """Expires a token, at once unless a period is given. Returns when it expires (ms since 1970)."""

    def read(response: ExpireDelegationTokenResponse, asked: Asked[None]) -> dict[None, int]:
        check(response.error_code, "expire_delegation_token")
        return dict.fromkeys(asked.keys, response.expiry_timestamp_ms)

    call = Call[None, int, ExpireDelegationTokenResponse](
        api=ApiKey.EXPIRE_DELEGATION_TOKEN,
        response=ExpireDelegationTokenResponse,
        route=AnyBroker(),
        build=lambda _: ExpireDelegationTokenRequest(
            hmac=hmac, expiry_time_period_ms=expiry_period_ms
        ),
        read=read,
    )
    return await admin._driver.one(call, None, admin._driver.deadline(timeout_ms))


async def describe_delegation_token(
    admin: AdminCalls,
    owners: Iterable[KafkaPrincipal] | None = None,
    *,
    timeout_ms: int | None = None,
) -> list[DelegationToken]:
    """Tokens that the asker may see: those that one of `owners` owns or may renew, or all."""
    named = None
    if owners is not None:
        named = [DescribeDelegationTokenOwner(each.principal_type, each.name) for each in owners]

    def read(
        response: DescribeDelegationTokenResponse, asked: Asked[None]
    ) -> dict[None, list[DelegationToken]]:
        check(response.error_code, "describe_delegation_token")
        tokens = [
            DelegationToken(
                each.token_id,
                bytes(each.hmac),
                KafkaPrincipal(each.principal_type, each.principal_name),
                _requester(
                    each.token_requester_principal_type, each.token_requester_principal_name
                ),
                tuple(KafkaPrincipal(r.principal_type, r.principal_name) for r in each.renewers),
                each.issue_timestamp,
                each.expiry_timestamp,
                each.max_timestamp,
            )
            for each in response.tokens
        ]
        return dict.fromkeys(asked.keys, tokens)

    call = Call(
        api=ApiKey.DESCRIBE_DELEGATION_TOKEN,
        response=DescribeDelegationTokenResponse,
        route=AnyBroker(),
        build=lambda _: DescribeDelegationTokenRequest(owners=named),
        read=read,
    )
    return await admin._driver.one(call, None, admin._driver.deadline(timeout_ms))


def _requester(kind: str, name: str) -> KafkaPrincipal | None:
    return KafkaPrincipal(kind, name) if kind else None
