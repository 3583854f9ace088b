"""Delegation tokens: who may do what to them, and how long they live."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.controller.security import delegation_tokens
from millstream.controller.security.delegation_tokens import (
    plan_create_token,
    plan_expire_token,
    plan_renew_token,
    plan_sweep_tokens,
)
from millstream.controller.settings import DelegationTokenSettings
from millstream.errors import (
    DelegationTokenAuthDisabled,
    DelegationTokenExpired,
    DelegationTokenNotFound,
    DelegationTokenOwnerMismatch,
    InvalidPrincipalType,
    PolicyViolation,
)
from millstream.protocol.generated.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from millstream.protocol.generated.expire_delegation_token import ExpireDelegationTokenRequest
from millstream.protocol.generated.renew_delegation_token import RenewDelegationTokenRequest
from millstream.security.delegation_token import token_hmac
from millstream.security.principal import KafkaPrincipal

ALICE, BOB, CAROL, MALLORY = (
    KafkaPrincipal("User", name) for name in ("alice", "bob", "carol", "mallory")
)
NOW_MS, DAY_MS = 1_000, 86_400_000


@pytest.fixture
def world(make_world: Callable) -> object:
    made = make_world(delegation_tokens=DelegationTokenSettings(secret_key="key"))
    made.start_brokers(1)
    return made


def create(
    world: object, principal: KafkaPrincipal = ALICE, **fields: object
) -> CreateDelegationTokenResponse:
    request = CreateDelegationTokenRequest(**{"max_lifetime_ms": -1, **fields})
    return world.submit(plan_create_token, request, principal)


def renew(
    world: object, secret: bytes, principal: KafkaPrincipal = ALICE, period_ms: int = -1
) -> int:
    request = RenewDelegationTokenRequest(hmac=secret, renew_period_ms=period_ms)
    return world.submit(plan_renew_token, request, principal).expiry_timestamp_ms


def expire(
    world: object, secret: bytes, principal: KafkaPrincipal = ALICE, period_ms: int = -1
) -> int:
    request = ExpireDelegationTokenRequest(hmac=secret, expiry_time_period_ms=period_ms)
    return world.submit(plan_expire_token, request, principal).expiry_timestamp_ms


def test_a_token_lives_a_week_and_is_good_for_a_day(world: object) -> None:
    token = create(world)
    assert (token.issue_timestamp_ms, token.expiry_timestamp_ms, token.max_timestamp_ms) == (
        NOW_MS,
        NOW_MS + DAY_MS,
        NOW_MS + 7 * DAY_MS,
    )
    assert token.hmac == token_hmac("key", token.token_id)
    stored = world.image.delegation_tokens[token.token_id]
    assert (stored.owner, stored.requester, stored.renewers) == (
        "User:alice",
        "User:alice",
        (),
    )


def test_a_token_may_live_less_but_not_more(world: object) -> None:
    assert create(world, max_lifetime_ms=500).max_timestamp_ms == NOW_MS + 500
    assert create(world, max_lifetime_ms=500).expiry_timestamp_ms == NOW_MS + 500
    assert create(world, max_lifetime_ms=99 * DAY_MS).max_timestamp_ms == NOW_MS + 7 * DAY_MS


def test_a_token_can_belong_to_somebody_else(world: object) -> None:
    token = create(world, owner_principal_type="User", owner_principal_name="bob")
    assert (token.principal_name, token.token_requester_principal_name) == ("bob", "alice")
    assert world.image.delegation_tokens[token.token_id].owner == "User:bob"


def test_only_users_renew(world: object) -> None:
    """Kafka says so before it says that there are no tokens at all."""
    with pytest.raises(InvalidPrincipalType):
        create(world, renewers=[CreatableRenewers("Group", "staff")])


def test_owner_and_renewers_may_renew_and_who_asked_for_it_may_not(world: object) -> None:
    token = create(
        world, owner_principal_type="User", owner_principal_name="bob",
        renewers=[CreatableRenewers("User", "carol")],
    )  # fmt: skip
    world.now_ms = 50
    for principal in (BOB, CAROL):
        assert renew(world, token.hmac, principal) == NOW_MS + 50 + DAY_MS
    for principal in (ALICE, MALLORY):
        with pytest.raises(DelegationTokenOwnerMismatch):
            renew(world, token.hmac, principal)
        with pytest.raises(DelegationTokenOwnerMismatch):
            expire(world, token.hmac, principal)


def test_a_renewal_never_goes_beyond_the_life_of_the_token(world: object) -> None:
    token = create(world, max_lifetime_ms=2 * DAY_MS)
    world.now_ms = DAY_MS
    assert renew(world, token.hmac, period_ms=5) == NOW_MS + DAY_MS + 5
    world.now_ms = DAY_MS + 3
    assert renew(world, token.hmac) == NOW_MS + 2 * DAY_MS


def test_a_token_ends_when_it_is_told_to(world: object) -> None:
    token = create(world)
    assert expire(world, token.hmac, period_ms=10) == NOW_MS + 10
    assert expire(world, token.hmac) == NOW_MS
    assert world.image.delegation_tokens == {}
    with pytest.raises(DelegationTokenNotFound):
        renew(world, token.hmac)


def test_an_expired_token_cannot_be_renewed_and_is_swept(world: object) -> None:
    old, young = create(world, max_lifetime_ms=10), create(world)
    world.now_ms = 11
    with pytest.raises(DelegationTokenExpired):
        renew(world, old.hmac)
    world.submit(plan_sweep_tokens, None)
    assert list(world.image.delegation_tokens) == [young.token_id]


def test_without_a_secret_key_there_are_no_tokens(make_world: Callable) -> None:
    world = make_world()
    world.start_brokers(1)
    with pytest.raises(DelegationTokenAuthDisabled):
        create(world)
    with pytest.raises(DelegationTokenAuthDisabled):
        renew(world, b"x")


def test_nobody_has_more_tokens_than_a_thousand(
    world: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delegation_tokens, "_TOKENS_PER_OWNER_MAX", 2)
    first = create(world)
    create(world)
    with pytest.raises(PolicyViolation, match="User:alice has 2 delegation tokens already"):
        create(world)
    create(world, BOB)
    expire(world, first.hmac, ALICE, -1)
    create(world)


def test_tokens_that_have_expired_make_room_for_another(
    world: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are swept once an hour, and whoever makes one a minute would be refused until then."""
    monkeypatch.setattr(delegation_tokens, "_TOKENS_PER_OWNER_MAX", 2)
    create(world, max_lifetime_ms=10)
    kept = create(world)
    others = create(world, BOB, max_lifetime_ms=10)
    world.now_ms = 11
    created = create(world)
    assert set(world.image.delegation_tokens) == {kept.token_id, others.token_id, created.token_id}
    with pytest.raises(PolicyViolation, match="User:alice has 2 delegation tokens already"):
        create(world)


class Scripted:
    """Random bytes of which the first text begins with a hyphen."""

    def __init__(self) -> None:
        self._given = iter([b"\xf8" + bytes(15), b"\x01" * 16])

    def randbytes(self, _count: int) -> bytes:
        return next(self._given)


def test_an_id_does_not_look_like_an_option() -> None:
    """Whoever renews a token writes its id behind a verb. Kafka's Uuid.randomUuid leaves such ids out, too."""
    assert delegation_tokens.new_token_id(Scripted()).startswith("AQEB")  # type: ignore[arg-type]  # a part of Random
