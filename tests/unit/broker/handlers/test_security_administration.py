"""Handlers of what is stored for a cluster's protection, and what they add to the controller's answers."""

from __future__ import annotations

import pytest

from millstream.broker.handlers import (
    alter_client_quotas,
    alter_user_scram_credentials,
    create_acls,
    create_delegation_token,
    delete_acls,
    describe_acls,
    describe_client_quotas,
    describe_delegation_token,
    describe_user_scram_credentials,
    expire_delegation_token,
    renew_delegation_token,
    sasl_authenticate,
    sasl_handshake,
)
from millstream.broker.requests.registry import error_response
from millstream.controller.security import delegation_tokens
from millstream.errors import (
    DelegationTokenRequestNotAllowed,
    IllegalSaslState,
    InvalidRequest,
    KafkaError,
    PolicyViolation,
    SecurityDisabled,
    UnsupportedVersion,
)
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from millstream.protocol.generated.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from millstream.protocol.generated.create_acls import AclCreation, CreateAclsRequest
from millstream.protocol.generated.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
)
from millstream.protocol.generated.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from millstream.protocol.generated.describe_acls import DescribeAclsRequest
from millstream.protocol.generated.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from millstream.protocol.generated.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from millstream.protocol.generated.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    UserName,
)
from millstream.protocol.generated.expire_delegation_token import ExpireDelegationTokenRequest
from millstream.protocol.generated.renew_delegation_token import RenewDelegationTokenRequest
from millstream.protocol.generated.sasl_authenticate import SaslAuthenticateRequest
from millstream.protocol.generated.sasl_handshake import SaslHandshakeRequest
from millstream.security.delegation_token import concerns
from millstream.security.principal import KafkaPrincipal

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
EVERY_RULE = {
    "resource_type_filter": 1, "resource_name_filter": None, "pattern_type_filter": 1, "principal_filter": None,
    "host_filter": None, "operation": 1, "permission_type": 1,
}  # fmt: skip
RULE = AclCreation(
    resource_type=2, resource_name="t", principal="User:a", host="*", operation=3, permission_type=3
)


def test_without_an_authorizer_there_are_no_rules_to_speak_of(node: object) -> None:
    for handle, request in (
        (create_acls.handle, CreateAclsRequest(creations=[RULE])),
        (delete_acls.handle, DeleteAclsRequest(filters=[DeleteAclsFilter(**EVERY_RULE)])),
        (describe_acls.handle, DescribeAclsRequest(**EVERY_RULE)),
    ):
        with pytest.raises(SecurityDisabled, match="No Authorizer is configured"):
            node.answer(handle, request, 3)
    assert node.submitted == []


def test_rules_are_told_by_resource(node: object) -> None:
    node.configure(authorizer_class_name=AUTHORIZER)
    second = AclCreation(
        resource_type=2, resource_name="t", principal="User:b", host="*", operation=4, permission_type=2
    )  # fmt: skip
    node.answer(create_acls.handle, CreateAclsRequest(creations=[RULE, second]), 3)
    told = node.answer(describe_acls.handle, DescribeAclsRequest(**EVERY_RULE), 3)
    (resource,) = told.resources
    assert (resource.resource_type, resource.resource_name, resource.pattern_type) == (2, "t", 3)
    assert sorted((a.principal, a.operation, a.permission_type) for a in resource.acls) == [
        ("User:a", 3, 3),
        ("User:b", 4, 2),
    ]
    gone = node.answer(
        delete_acls.handle, DeleteAclsRequest(filters=[DeleteAclsFilter(**EVERY_RULE)]), 3
    )
    assert len(gone.filter_results[0].matching_acls) == 2
    assert node.answer(describe_acls.handle, DescribeAclsRequest(**EVERY_RULE), 3).resources == []


def test_unknown_in_a_filter_finds_nothing(node: object) -> None:
    node.configure(authorizer_class_name=AUTHORIZER)
    node.answer(create_acls.handle, CreateAclsRequest(creations=[RULE]), 3)
    asked = DescribeAclsRequest(**{**EVERY_RULE, "operation": 77})
    assert node.answer(describe_acls.handle, asked, 3).resources == []


def test_credentials_are_told_without_what_verifies_them(node: object) -> None:
    upsertions = [
        ScramCredentialUpsertion("a", 2, 8192, b"salt", b"secret"),
        ScramCredentialUpsertion("b", 1, 4096, b"salt", b"secret"),
    ]
    node.answer(
        alter_user_scram_credentials.handle, AlterUserScramCredentialsRequest(upsertions=upsertions), 0
    )  # fmt: skip
    everybody = node.answer(
        describe_user_scram_credentials.handle, DescribeUserScramCredentialsRequest(users=None), 0
    )
    assert [(each.user, each.credential_infos) for each in everybody.results] == [
        ("a", [CredentialInfo(2, 8192)]),
        ("b", [CredentialInfo(1, 4096)]),
    ]
    asked = DescribeUserScramCredentialsRequest(
        users=[UserName("b"), UserName("zz"), UserName("a"), UserName("a")]
    )
    told = node.answer(describe_user_scram_credentials.handle, asked, 0)
    assert {each.user: each.error_code for each in told.results} == {"b": 0, "zz": 91, "a": 92}


@pytest.fixture
def limited(node: object) -> object:
    """Limits of users a and x, of x with client q, of any user without one, of client c, of an address."""
    entities = [
        {"user": "a"}, {"user": "x"}, {"user": "x", "client-id": "q"}, {"user": None}, {"client-id": "c"},
    ]  # fmt: skip
    entries = [
        AlterClientQuotasRequestEntryData(
            [EntityData(kind, name) for kind, name in entity.items()],
            [OpData("producer_byte_rate", 5.0)],
        )
        for entity in entities
    ]
    address = AlterClientQuotasRequestEntryData(
        [EntityData("ip", "10.0.0.1")], [OpData("connection_creation_rate", 7.0)]
    )
    request = AlterClientQuotasRequest(entries=[*entries, address])
    answer = node.answer(alter_client_quotas.handle, request, 1)
    assert [entry.error_code for entry in answer.entries] == [0] * 6
    return node


def quotas(node: object, *components: tuple[str, int, str | None], strict: bool = False) -> list:
    request = DescribeClientQuotasRequest(
        components=[ComponentData(*component) for component in components], strict=strict
    )
    told = node.answer(describe_client_quotas.handle, request, 1)
    return [{part.entity_type: part.entity_name for part in each.entity} for each in told.entries]


EXACT, DEFAULT, ANY = 0, 1, 2


@pytest.mark.parametrize(
    ("components", "strict", "found"),
    [
        ([("user", EXACT, "x")], False, [{"user": "x"}, {"client-id": "q", "user": "x"}]),
        ([("user", EXACT, "x")], True, [{"user": "x"}]),
        ([("user", DEFAULT, None)], False, [{"user": None}]),
        ([("user", ANY, None)], True, [{"user": "a"}, {"user": "x"}, {"user": None}]),
        ([("user", ANY, None), ("client-id", ANY, None)], True, [{"client-id": "q", "user": "x"}]),
        ([("ip", ANY, None)], False, [{"ip": "10.0.0.1"}]),
        ([("ip", EXACT, "nowhere")], False, []),
        ([], True, []),
    ],
)
def test_a_filter_finds_entities_by_their_parts(
    limited: object, components: list, strict: bool, found: list
) -> None:
    assert quotas(limited, *components, strict=strict) == found


def test_no_components_find_everything(limited: object) -> None:
    assert len(quotas(limited)) == 6


@pytest.mark.parametrize(
    ("components", "error", "sentence"),
    [
        ([("group", EXACT, "a")], UnsupportedVersion, "Unsupported entity type group"),
        ([("", EXACT, "a")], InvalidRequest, "Invalid empty entity type"),
        ([("user", 3, None)], InvalidRequest, "Unknown match type 3"),
        ([("user", EXACT, "a"), ("user", EXACT, "b")], InvalidRequest, "more than once"),
        ([("user", EXACT, None)], InvalidRequest, "MATCH_TYPE_EXACT"),
        ([("user", DEFAULT, "a")], InvalidRequest, "MATCH_TYPE_DEFAULT"),
        ([("user", ANY, "a")], InvalidRequest, "MATCH_TYPE_SPECIFIED"),
        ([("ip", ANY, None), ("user", ANY, None)], InvalidRequest, "IP filter component"),
    ],
)
def test_filters_that_mean_nothing(
    node: object, components: list, error: type[KafkaError], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        quotas(node, *components)


def test_a_client_that_proved_nothing_gets_no_token(node: object) -> None:
    request = CreateDelegationTokenRequest(owner_principal_type="User", owner_principal_name="bob")
    answer = node.answer(create_delegation_token.handle, request, 3)
    assert (answer.error_code, answer.principal_name, answer.token_requester_principal_name) == (
        DelegationTokenRequestNotAllowed.code,
        "bob",
        "ANONYMOUS",
    )
    old = node.answer(create_delegation_token.handle, CreateDelegationTokenRequest(), 2)
    assert (old.principal_name, old.token_requester_principal_name) == ("ANONYMOUS", "")
    for handle, other in (
        (renew_delegation_token.handle, RenewDelegationTokenRequest()),
        (expire_delegation_token.handle, ExpireDelegationTokenRequest()),
        (describe_delegation_token.handle, DescribeDelegationTokenRequest()),
    ):
        with pytest.raises(DelegationTokenRequestNotAllowed):
            node.answer(handle, other, 2)


def test_an_owner_with_too_many_tokens_is_told_of_in_the_log(
    make_node: type, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(delegation_tokens, "_TOKENS_PER_OWNER_MAX", 1)
    node = make_node(delegation_token_secret_key="key")
    node.principal = KafkaPrincipal("User", "alice")
    request = CreateDelegationTokenRequest(max_lifetime_ms=-1)
    codes = [node.answer(create_delegation_token.handle, request, 3).error_code for _ in range(3)]
    assert codes == [0, PolicyViolation.code, PolicyViolation.code]
    (line,) = caplog.messages
    assert "User:alice has 1 delegation tokens already" in line


def test_a_token_has_so_many_renewers_at_most(
    make_node: type, caplog: pytest.LogCaptureFixture
) -> None:
    node = make_node(delegation_token_secret_key="key")
    node.principal = KafkaPrincipal("User", "alice")
    for count, code in ((1_000, 0), (1_001, PolicyViolation.code)):
        renewers = [CreatableRenewers("User", f"carol-{number}") for number in range(count)]
        request = CreateDelegationTokenRequest(renewers=renewers, max_lifetime_ms=-1)
        assert node.answer(create_delegation_token.handle, request, 3).error_code == code
    (line,) = caplog.messages
    assert "a delegation token has 1000 renewers at most" in line


def test_tokens_are_told_to_those_they_concern(make_node: type) -> None:
    node = make_node(delegation_token_secret_key="key")
    node.principal = KafkaPrincipal("User", "alice")
    request = CreateDelegationTokenRequest(
        renewers=[CreatableRenewers("User", "carol")], max_lifetime_ms=-1
    )
    token = node.answer(create_delegation_token.handle, request, 3)
    assert token.error_code == 0

    def seen_by(name: str, owners: list[str] | None = None) -> list[str]:
        node.principal = KafkaPrincipal("User", name)
        named = (
            None if owners is None else [DescribeDelegationTokenOwner("User", o) for o in owners]
        )
        told = node.answer(
            describe_delegation_token.handle, DescribeDelegationTokenRequest(owners=named), 3
        )
        assert all(each.hmac == token.hmac for each in told.tokens)
        return [each.token_id for each in told.tokens]

    assert seen_by("alice") == seen_by("carol") == [token.token_id]
    assert seen_by("bob") == seen_by("alice", []) == seen_by("alice", ["bob"]) == []
    assert seen_by("alice", ["alice"]) == [token.token_id]


def test_a_long_list_of_owners_is_compared_with_no_token_one_by_one(
    make_node: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It becomes a set, in turns. An owner is told of by a token that it owns, asked for, or may renew."""
    node = make_node(delegation_token_secret_key="key")
    node.principal = KafkaPrincipal("User", "alice")
    request = CreateDelegationTokenRequest(
        renewers=[CreatableRenewers("User", "carol")], max_lifetime_ms=-1
    )
    token = node.answer(create_delegation_token.handle, request, 3)
    compared = []

    def concerns_counted(token: object, principal: str) -> bool:
        compared.append(principal)
        return concerns(token, principal)

    monkeypatch.setattr(describe_delegation_token, "concerns", concerns_counted)
    turns = []

    def items_counted(items: list) -> object:
        turns.append(len(items))
        return in_turns(items)

    long_work = node.services.long_work
    in_turns = long_work.in_turns
    monkeypatch.setattr(type(long_work), "in_turns", lambda _self, items: items_counted(items))
    strangers = [DescribeDelegationTokenOwner("User", f"stranger-{n}") for n in range(1_000)]
    for last, found in (("dave", []), ("carol", [token.token_id]), ("alice", [token.token_id])):
        owners = [*strangers, DescribeDelegationTokenOwner("User", last)]
        told = node.answer(
            describe_delegation_token.handle, DescribeDelegationTokenRequest(owners=owners), 3
        )
        assert [each.token_id for each in told.tokens] == found
    assert set(compared) == {"User:alice"}, "who asks, and no owner"
    assert turns == [1_001, 1] * 3


def test_nobody_logs_in_on_a_plaintext_listener(node: object) -> None:
    handshake = node.answer(sasl_handshake.handle, SaslHandshakeRequest(mechanism="PLAIN"), 1)
    assert (handshake.error_code, handshake.mechanisms) == (IllegalSaslState.code, [])
    with pytest.raises(IllegalSaslState, match="after successful authentication"):
        node.answer(sasl_authenticate.handle, SaslAuthenticateRequest(auth_bytes=b"x"), 2)


def test_a_refusal_of_all_rules_or_limits_names_each() -> None:
    refusal = SecurityDisabled("No Authorizer is configured.")
    rules = error_response(
        ApiKey.CREATE_ACLS, 3, CreateAclsRequest(creations=[RULE, RULE]), refusal
    )
    assert [(r.error_code, r.error_message) for r in rules.results] == [
        (54, "No Authorizer is configured.")
    ] * 2
    filters = error_response(
        ApiKey.DELETE_ACLS, 3, DeleteAclsRequest(filters=[DeleteAclsFilter()]), refusal
    )
    assert filters.filter_results[0].error_code == 54
    limits = error_response(
        ApiKey.DESCRIBE_CLIENT_QUOTAS, 1, DescribeClientQuotasRequest(), InvalidRequest("no")
    )
    assert (limits.error_code, limits.entries) == (42, None)
