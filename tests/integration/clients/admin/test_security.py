"""Admin: access control rules, SCRAM credentials, client quotas, delegation tokens.

Against Kafka these need a broker with an authorizer and a secret for tokens, as the fixture here starts ours:
authorizer.class.name, super.users=User:ANONYMOUS, delegation.token.secret.key.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from millstream.clients import Admin
from millstream.clients.admin import (
    ANY_ENTITY,
    DEFAULT_ENTITY,
    AclBinding,
    AclFilter,
    ClientQuotaEntity,
    ClientQuotaFilter,
    DeleteScramCredential,
    KafkaPrincipal,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UpsertScramCredential,
)
from millstream.errors import (
    ConfigError,
    DelegationTokenNotFound,
    DelegationTokenRequestNotAllowed,
    InvalidRequest,
    ResourceNotFound,
    UnacceptableCredential,
)
from millstream.testing.broker import Broker
from tests.patience import eventually

NewName = Callable[[], str]

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "allow.everyone.if.no.acl.found": "true",
    "delegation.token.secret.key": "secret",
}


@pytest.fixture(scope="module")
def guarded() -> Iterator[str]:
    kafka = os.environ.get("MILLSTREAM_KAFKA_BOOTSTRAP")
    if kafka:
        yield kafka
        return
    with Broker(in_process=False, settings=SETTINGS) as broker:
        yield broker.bootstrap_servers


@pytest.fixture
async def admin(guarded: str) -> AsyncIterator[Admin]:
    async with Admin(bootstrap_servers=guarded) as client:
        yield client


async def test_rules_are_created_described_and_deleted(admin: Admin, new_topic: NewName) -> None:
    name = new_topic()
    may_read = AclBinding(
        resource_type=ResourceType.TOPIC,
        resource_name=name,
        principal="User:ann",
        operation=Operation.READ,
    )
    may_not = AclBinding(
        resource_type=ResourceType.TOPIC,
        resource_name=name[:-1],
        pattern_type=PatternType.PREFIXED,
        principal="User:bob",
        host="10.0.0.1",
        operation=Operation.ALL,
        permission_type=PermissionType.DENY,
    )
    broken = AclBinding(
        resource_type=ResourceType.CLUSTER,
        resource_name="not-the-cluster",
        principal="User:ann",
        operation=Operation.ALTER,
    )
    created = await admin.create_acls([may_read, may_not, broken])
    assert (created[may_read], created[may_not]) == (None, None)
    assert isinstance(created[broken], InvalidRequest)

    literal = AclFilter(resource_type=ResourceType.TOPIC, resource_name=name)
    matching = AclFilter(resource_name=name, pattern_type=PatternType.MATCH)

    async def are_known() -> bool:
        return set(await admin.describe_acls(matching)) == {may_read, may_not}

    await eventually(are_known)
    assert await admin.describe_acls(literal) == [may_read]
    assert {may_read, may_not} <= set(await admin.describe_acls())
    nobodys = AclFilter(principal=f"User:{name}")
    deleted = await admin.delete_acls([matching, nobodys])
    assert deleted == {matching: {may_read: None, may_not: None}, nobodys: {}}

    async def are_gone() -> bool:
        return await admin.describe_acls(matching) == []

    await eventually(are_gone)


async def test_scram_credentials_are_set_described_and_deleted(
    admin: Admin, new_topic: NewName
) -> None:
    ann, bob = new_topic(), new_topic()
    small, large = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512
    altered = await admin.alter_user_scram_credentials(
        [
            UpsertScramCredential(ann, small, "secret", 4096),
            UpsertScramCredential(bob, small, "secret", 1),
        ]
    )
    assert altered[ann] is None
    (
        await admin.alter_user_scram_credentials([UpsertScramCredential(ann, large, "secret")])
    ).raise_errors()
    assert isinstance(altered[bob], UnacceptableCredential)

    async def known() -> object:
        return (await admin.describe_user_scram_credentials([ann])).get(ann)

    expected = [ScramCredentialInfo(small, 4096), ScramCredentialInfo(large, 8192)]

    async def are_known() -> bool:
        return await known() == expected

    await eventually(are_known)
    every = await admin.describe_user_scram_credentials()
    assert (every.result(ann), bob in every) == (expected, False)
    described = await admin.describe_user_scram_credentials([ann, bob])
    assert isinstance(described[bob], ResourceNotFound)
    deleted = await admin.alter_user_scram_credentials(
        [DeleteScramCredential(ann, small), DeleteScramCredential(bob, large)]
    )
    assert deleted[ann] is None
    assert isinstance(deleted[bob], ResourceNotFound)
    with pytest.raises(ConfigError, match="the password is empty"):
        await admin.alter_user_scram_credentials([UpsertScramCredential(ann, small, "")])


async def test_quotas_are_set_described_and_removed(admin: Admin, new_topic: NewName) -> None:
    name = new_topic()
    user = ClientQuotaEntity(user=name)
    client = ClientQuotaEntity(user=name, client_id="app")
    default = ClientQuotaEntity(user=name, client_id=DEFAULT_ENTITY)
    wrong = ClientQuotaEntity(user=name, client_id="wrong")
    altered = await admin.alter_client_quotas(
        {
            user: {"producer_byte_rate": 1000.0, "consumer_byte_rate": 2000.0},
            client: {"request_percentage": 50.0},
            default: {"producer_byte_rate": 10.0},
            wrong: {"no_such_rate": 1.0},
        }
    )
    assert [altered[each] for each in (user, client, default)] == [None, None, None]
    assert isinstance(altered[wrong], InvalidRequest)

    async def described(**match: object) -> dict[ClientQuotaEntity, dict[str, float]]:
        return await admin.describe_client_quotas(ClientQuotaFilter(user=name, **match))

    async def are_known() -> bool:
        return len(await described()) == 3

    await eventually(are_known)
    assert await described(strict=True) == {
        user: {"producer_byte_rate": 1000.0, "consumer_byte_rate": 2000.0}
    }
    assert await described(client_id=ANY_ENTITY) == {
        client: {"request_percentage": 50.0},
        default: {"producer_byte_rate": 10.0},
    }
    assert await described(client_id=DEFAULT_ENTITY) == {default: {"producer_byte_rate": 10.0}}
    assert await described(client_id="app") == {client: {"request_percentage": 50.0}}
    assert user in await admin.describe_client_quotas()
    changes = {user: {"producer_byte_rate": None}, client: {"request_percentage": None}}
    (await admin.alter_client_quotas(changes, validate_only=True)).raise_errors()
    (await admin.alter_client_quotas(changes)).raise_errors()

    async def are_removed() -> bool:
        return await described() == {
            user: {"consumer_byte_rate": 2000.0},
            default: {"producer_byte_rate": 10.0},
        }

    await eventually(are_removed)


async def test_nobody_has_tokens_over_a_connection_that_is_not_authenticated(admin: Admin) -> None:
    with pytest.raises(DelegationTokenRequestNotAllowed):
        await admin.create_delegation_token()
    with pytest.raises(DelegationTokenRequestNotAllowed):
        await admin.describe_delegation_token([KafkaPrincipal("User", "ann")])
    for ask in (admin.renew_delegation_token, admin.expire_delegation_token):
        with pytest.raises((DelegationTokenRequestNotAllowed, DelegationTokenNotFound)):
            await ask(b"nothing")
