"""The clients of other people that every installation for tests has: what `make test` has time for. test_other_clients.py has the rest."""

from __future__ import annotations

from typing import Any

import pytest

from tests.compat.logins import refusals
from tests.compat.logins.clients import IN_PYTHON, OtherClient
from tests.compat.logins.secured_node import ITS_CERTIFICATE, SecuredNode
from tests.support.sasl_node import MECHANISMS, PASSWORD, USER

pytestmark = [
    pytest.mark.compat,
    pytest.mark.parametrize("client", IN_PYTHON, ids=lambda client: client.name),
]


def credentials(mechanism: str, password: str, token: str) -> dict[str, Any]:
    if mechanism == "OAUTHBEARER":
        return {"mechanism": mechanism, "token": token}
    return {"mechanism": mechanism, "user": USER, "password": password}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_login_over_tls_lets_in(
    node: SecuredNode, client: OtherClient, topic: str, mechanism: str
) -> None:
    shown = credentials(mechanism, PASSWORD, node.issuer.token())
    assert client.says(node.settings("SASL_SSL", topic, **shown)) == ["written", "read"]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_wrong_credentials_are_refused(
    node: SecuredNode, client: OtherClient, mechanism: str
) -> None:
    shown = credentials(mechanism, "wrong", node.issuer.token(lifetime_s=-100))
    said = client.says(node.settings("SASL_PLAINTEXT", "topic-any", **shown))
    refusals.check(said, refusals.of_login(client, mechanism))


def test_a_certificate_lets_in(node: SecuredNode, client: OtherClient, topic: str) -> None:
    settings = node.settings("SSL", topic, certificate=node.path(ITS_CERTIFICATE))
    assert client.says(settings) == ["written", "read"]


def test_without_a_certificate_nobody_comes_in(node: SecuredNode, client: OtherClient) -> None:
    said = client.says(node.settings("SSL", "topic-any"))
    refusals.check(said, refusals.OF[client].certificate)
