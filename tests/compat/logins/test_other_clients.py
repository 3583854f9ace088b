"""Clients of other people log in at our broker and at Apache Kafka, by every mechanism that they have, and are told the same when they may not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.compat.logins import refusals
from tests.compat.logins.clients import OtherClient
from tests.compat.logins.secured_node import (
    ITS_CERTIFICATE,
    OLD,
    SASL_LISTENERS,
    STRANGER,
    WRITER,
    SecuredNode,
)
from tests.support.sasl_node import MECHANISMS, PASSWORD, USER

pytestmark = pytest.mark.compat
BY_PASSWORD: Final = MECHANISMS[:3]
DONE: Final = ["written", "read"]


def login(mechanism: str, user: str = USER, password: str = PASSWORD) -> dict[str, Any]:
    return {"mechanism": mechanism, "user": user, "password": password}


# By password


@pytest.mark.parametrize("listener", SASL_LISTENERS)
@pytest.mark.parametrize("mechanism", BY_PASSWORD)
def test_a_password_lets_in(
    node: SecuredNode, client: OtherClient, topic: str, listener: str, mechanism: str
) -> None:
    assert client.says(node.settings(listener, topic, **login(mechanism))) == DONE


@pytest.mark.parametrize("listener", SASL_LISTENERS)
@pytest.mark.parametrize("changes", [{"password": "wrong"}, {"user": "nobody"}], ids=str)
@pytest.mark.parametrize("mechanism", BY_PASSWORD)
def test_a_wrong_password_and_an_unknown_user_are_refused(
    node: SecuredNode, client: OtherClient, listener: str, mechanism: str, changes: dict[str, str]
) -> None:
    settings = node.settings(listener, "topic-any", **{**login(mechanism), **changes})
    refusals.check(client.says(settings), refusals.of_login(client, mechanism))


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
    said = client.says(node.settings("SASL_SSL", topic, **shown))
    refusals.check(said, refusals.of_login(client, "OAUTHBEARER"))


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
    refusals.check(franz_go.says(settings), refusals.of_login(franz_go, mechanism))


@pytest.mark.parametrize("mechanism", BY_PASSWORD[1:])
def test_the_code_of_another_delegation_token_is_refused(
    node: SecuredNode, franz_go: OtherClient, mechanism: str
) -> None:
    (name, _), (_, code) = node.delegation_token(), node.delegation_token()
    settings = node.settings(
        "SASL_SSL", "topic-any", **login(mechanism, name, code), isDelegated=True
    )
    refusals.check(franz_go.says(settings), refusals.of_login(franz_go, mechanism))


# By certificate


def test_a_certificate_lets_in(node: SecuredNode, client: OtherClient, topic: str) -> None:
    settings = node.settings("SSL", topic, certificate=node.path(ITS_CERTIFICATE))
    assert client.says(settings) == DONE


@pytest.mark.parametrize("certificate", ["of another authority", "expired", None])
def test_a_certificate_that_is_not_believed_is_refused(
    node: SecuredNode, client: OtherClient, certificate: str | None
) -> None:
    shown = {} if certificate is None else {"certificate": node.path(certificate)}
    said = client.says(node.settings("SSL", "topic-any", **shown))
    refusals.check(said, refusals.OF[client].certificate)


def test_a_certificate_whose_name_no_rule_maps_is_refused(
    node: SecuredNode, client: OtherClient
) -> None:
    settings = node.settings("SSL", "topic-any", certificate=node.path("unmapped"))
    refusals.check(client.says(settings), refusals.OF[client].unmapped)


def test_a_client_that_believes_another_authority_does_not_log_in(
    node: SecuredNode, client: OtherClient
) -> None:
    settings = node.settings("SASL_SSL", "topic-any", **login("PLAIN"))
    said = client.says({**settings, "authority": node.path("another-authority")})
    refusals.check(said, refusals.OF[client].another_authority)


def test_a_client_that_reaches_another_host_than_the_certificate_names_does_not_log_in(
    node: SecuredNode, client: OtherClient
) -> None:
    settings = node.settings("SASL_SSL", "topic-any", **login("PLAIN"))
    port = settings["servers"].rpartition(":")[2]
    said = client.says({**settings, "servers": f"localhost:{port}"})
    refusals.check(said, refusals.OF[client].another_host)


def test_a_client_that_is_shown_an_expired_certificate_does_not_log_in(
    node: SecuredNode, client: OtherClient
) -> None:
    said = client.says(node.settings(OLD, "topic-any"))
    refusals.check(said, refusals.OF[client].expired_server)


# Rights


@pytest.mark.parametrize("listener", SASL_LISTENERS)
def test_a_user_without_a_rule_is_told_that_it_may_not(
    node: SecuredNode, client: OtherClient, topic: str, listener: str
) -> None:
    settings = node.settings(listener, topic, **login("PLAIN", STRANGER))
    refusals.check(client.says(settings), refusals.OF[client].write)


def test_a_user_who_may_write_alone_is_told_that_it_may_not_read(
    node: SecuredNode, client: OtherClient, topic: str
) -> None:
    settings = node.settings("SASL_SSL", topic, **login("PLAIN", WRITER))
    refusals.check(client.says(settings), "written", refusals.OF[client].read)
