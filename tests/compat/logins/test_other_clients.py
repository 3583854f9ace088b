"""franz-go and kafkajs log in at our broker and at Apache Kafka, by every mechanism that they have, and are told the same when they may not."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.compat.logins.clients import FRANZ_GO, KAFKAJS, OtherClient
from tests.compat.logins.secured_node import (
    ITS_CERTIFICATE,
    SASL_LISTENERS,
    STRANGER,
    WRITER,
    SecuredNode,
)
from tests.support.sasl_node import MECHANISMS, PASSWORD, USER

pytestmark = pytest.mark.compat
BY_PASSWORD: Final = MECHANISMS[:3]
DONE: Final = ["written", "read"]
NO_RIGHT: Final = {
    FRANZ_GO: "refused TOPIC_AUTHORIZATION_FAILED: Not authorized to access topics: [Topic authorization failed.]",
    KAFKAJS: "refused KafkaJSNonRetriableError: Not authorized to access topics: [Topic authorization failed]",
}
REFUSED_TOKEN: Final = {
    FRANZ_GO: 'refused SASL_AUTHENTICATION_FAILED: SASL Authentication failed.: {"status":"invalid_token"}',
    KAFKAJS: "refused KafkaJSNonRetriableError: Request is not valid given the current SASL state",
}
"""kafkajs does not look at the refusal and asks for metadata."""
REFUSED_CERTIFICATE: Final = {
    FRANZ_GO: "refused remote error: tls: .*certificate",
    KAFKAJS: "refused KafkaJSNumberOfRetriesExceeded: Connection error: .*SSL alert number (42|45|46|48|116)$",
}
"""Java says bad or unknown certificate (42, 46) of all of them, OpenSSL which: expired, of an unknown authority, missing."""
UNMAPPED: Final = {
    FRANZ_GO: "refused broker closed the connection immediately during api versions negotiation",
    KAFKAJS: "refused KafkaJSNumberOfRetriesExceeded: Closed connection",
}
ANOTHER_AUTHORITY: Final = {
    FRANZ_GO: "refused unable to dial: tls: failed to verify certificate: x509: certificate signed by unknown authority",
    KAFKAJS: "refused KafkaJSNumberOfRetriesExceeded: Connection error: "
    "(unable to verify the first certificate|self-signed certificate in certificate chain)",
}
"""Kafka shows the certificates of its key store, OpenSSL that of their authority as well."""


def login(mechanism: str, user: str = USER, password: str = PASSWORD) -> dict[str, Any]:
    return {"mechanism": mechanism, "user": user, "password": password}


def refusal(client: OtherClient, mechanism: str) -> str:
    """What a client tells its user of wrong credentials: Kafka's sentence behind its own words."""
    sentence = (
        "Authentication failed: Invalid username or password"
        if mechanism == "PLAIN"
        else f"Authentication failed during authentication due to invalid credentials with SASL mechanism {mechanism}"
    )
    if client is FRANZ_GO:
        return f"refused SASL_AUTHENTICATION_FAILED: SASL Authentication failed.: {sentence}"
    name = mechanism.replace("SCRAM-SHA-", "SCRAM SHA")
    return f"refused KafkaJSSASLAuthenticationError: SASL {name} authentication failed: {sentence}"


# By password


@pytest.mark.parametrize("listener", SASL_LISTENERS)
@pytest.mark.parametrize("mechanism", BY_PASSWORD)
def test_a_password_lets_in(
    node: SecuredNode, client: OtherClient, topic: str, listener: str, mechanism: str
) -> None:
    assert client.says(node.settings(listener, topic, **login(mechanism))) == DONE


@pytest.mark.parametrize(
    ("listener", "changes"),
    [("SASL_PLAINTEXT", {"password": "wrong"}), ("SASL_SSL", {"user": "nobody"})],
)
@pytest.mark.parametrize("mechanism", BY_PASSWORD)
def test_a_wrong_password_and_an_unknown_user_are_refused(
    node: SecuredNode, client: OtherClient, listener: str, mechanism: str, changes: dict[str, str]
) -> None:
    settings = node.settings(listener, "topic-any", **{**login(mechanism), **changes})
    assert client.says(settings) == [refusal(client, mechanism)]


# By token


@pytest.mark.parametrize("listener", SASL_LISTENERS)
def test_a_bearer_token_lets_in(
    node: SecuredNode, client: OtherClient, topic: str, listener: str
) -> None:
    shown = {"mechanism": "OAUTHBEARER", "token": node.issuer.token()}
    assert client.says(node.settings(listener, topic, **shown)) == DONE


@pytest.mark.parametrize(
    "token",
    [
        pytest.param(lambda node: node.issuer.token(lifetime_s=-100), id="expired"),
        pytest.param(lambda node: node.issuer.token(aud="somebody"), id="audience"),
        pytest.param(lambda node: node.issuer.token(iss="https://evil.example"), id="issuer"),
        pytest.param(lambda node: node.another_issuer.token(), id="key"),
    ],
)
def test_a_wrong_bearer_token_is_refused(
    node: SecuredNode, client: OtherClient, topic: str, token: Callable[[SecuredNode], str]
) -> None:
    shown = {"mechanism": "OAUTHBEARER", "token": token(node)}
    assert client.says(node.settings("SASL_SSL", topic, **shown)) == [REFUSED_TOKEN[client]]


@pytest.mark.parametrize("listener", SASL_LISTENERS)
@pytest.mark.parametrize("mechanism", BY_PASSWORD[1:])
def test_a_delegation_token_lets_in(
    node: SecuredNode, franz_go: OtherClient, topic: str, listener: str, mechanism: str
) -> None:
    shown = login(mechanism, *node.delegation_token())
    assert franz_go.says(node.settings(listener, topic, **shown, isDelegated=True)) == DONE


@pytest.mark.parametrize("mechanism", BY_PASSWORD[1:])
def test_an_expired_delegation_token_is_refused(
    node: SecuredNode, franz_go: OtherClient, mechanism: str
) -> None:
    shown = login(mechanism, *node.delegation_token(expired=True))
    settings = node.settings("SASL_SSL", "topic-any", **shown, isDelegated=True)
    assert franz_go.says(settings) == [refusal(franz_go, mechanism)]


@pytest.mark.parametrize("mechanism", BY_PASSWORD[1:])
def test_the_code_of_another_delegation_token_is_refused(
    node: SecuredNode, franz_go: OtherClient, mechanism: str
) -> None:
    (name, _), (_, code) = node.delegation_token(), node.delegation_token()
    settings = node.settings(
        "SASL_SSL", "topic-any", **login(mechanism, name, code), isDelegated=True
    )
    assert franz_go.says(settings) == [refusal(franz_go, mechanism)]


# By certificate


def test_a_certificate_lets_in(node: SecuredNode, client: OtherClient, topic: str) -> None:
    settings = node.settings("SSL", topic, certificate=node.path(ITS_CERTIFICATE))
    assert client.says(settings) == DONE


@pytest.mark.parametrize("certificate", ["of another authority", "expired", None])
def test_a_certificate_that_is_not_believed_is_refused(
    node: SecuredNode, client: OtherClient, certificate: str | None
) -> None:
    shown = {} if certificate is None else {"certificate": node.path(certificate)}
    said, *_ = client.says(node.settings("SSL", "topic-any", **shown))
    assert re.match(REFUSED_CERTIFICATE[client], said), said


def test_a_certificate_whose_name_no_rule_maps_is_refused(
    node: SecuredNode, client: OtherClient
) -> None:
    settings = node.settings("SSL", "topic-any", certificate=node.path("unmapped"))
    (said,) = client.says(settings)
    assert re.match(UNMAPPED[client], said), said


def test_a_client_that_believes_another_authority_does_not_log_in(
    node: SecuredNode, client: OtherClient
) -> None:
    settings = node.settings("SASL_SSL", "topic-any", **login("PLAIN"))
    (said,) = client.says({**settings, "authority": node.path("another-authority")})
    assert re.match(ANOTHER_AUTHORITY[client], said), said


# Rights


@pytest.mark.parametrize("listener", SASL_LISTENERS)
def test_a_user_without_a_rule_is_told_that_it_may_not(
    node: SecuredNode, client: OtherClient, topic: str, listener: str
) -> None:
    settings = node.settings(listener, topic, **login("PLAIN", STRANGER))
    assert client.says(settings) == [NO_RIGHT[client]]


def test_a_user_who_may_write_alone_is_told_that_it_may_not_read(
    node: SecuredNode, client: OtherClient, topic: str
) -> None:
    settings = node.settings("SASL_SSL", topic, **login("PLAIN", WRITER))
    assert client.says(settings) == ["written", NO_RIGHT[client]]
