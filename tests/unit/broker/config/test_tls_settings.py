"""The TLS of listeners, read from the settings; and every way in which they ask for what is not there."""

from __future__ import annotations

import re

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.broker.config.sasl_settings import OwnLogin, Protection
from millstream.broker.config.tls_settings import changed_stores
from millstream.errors import ConfigError
from millstream.metadata.broker_registration import SecurityProtocol
from millstream.security.jaas import MODULES
from millstream.security.tls.principal_mapping import MappingRule
from millstream.security.tls.tls_settings import ClientAuth

ALONE = {
    "listeners": "SSL://127.0.0.1:0,INSIDE://127.0.0.1:0",
    "listener.security.protocol.map": "SSL:SSL,INSIDE:SSL",
    "inter.broker.listener.name": "INSIDE",
    "ssl.keystore.type": "PEM",
    "ssl.keystore.location": "node.pem",
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": "authorities.pem",
}


def protection(changes: dict[str, str | None]) -> Protection:
    settings = {**ALONE, **changes}
    return broker_config({k: v for k, v in settings.items() if v is not None}).protection


def test_listeners_share_what_is_written_for_all_and_differ_in_their_own() -> None:
    read = protection(
        {
            "listener.name.inside.ssl.client.auth": "required",
            "listener.name.inside.ssl.keystore.location": "inside.pem",
            "listener.name.inside.ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/,DEFAULT",
            "listener.name.inside.ssl.enabled.protocols": "TLSv1.3",
        }
    )
    assert read.protocols == {"SSL": SecurityProtocol.SSL, "INSIDE": SecurityProtocol.SSL}
    common, inside = read.tls["SSL"], read.tls["INSIDE"]
    assert (common.stores.keystore_location, inside.stores.keystore_location) == (
        "node.pem",
        "inside.pem",
    )
    assert inside.stores.truststore_location == "authorities.pem"
    assert (common.client_auth, inside.client_auth) == (ClientAuth.NONE, ClientAuth.REQUIRED)
    assert common.versions == ("TLSv1.2", "TLSv1.3")
    assert inside.versions == ("TLSv1.3",)
    assert inside.rules == (MappingRule("^CN=(.*)$", "$1"), MappingRule(None))
    assert read.at_brokers == OwnLogin(protocol=SecurityProtocol.SSL, tls_of="INSIDE")


def test_clients_that_log_in_show_certificates_only_where_their_listener_says_so() -> None:
    """As in Kafka: unprefixed `ssl.client.auth` does not count there."""
    sasl: dict[str, str | None] = {
        "listener.security.protocol.map": "SSL:SASL_SSL,INSIDE:SSL",
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "ssl.client.auth": "required",
    }
    assert protection(sasl).tls["SSL"].client_auth is ClientAuth.NONE
    assert protection(sasl).tls["INSIDE"].client_auth is ClientAuth.REQUIRED
    prefixed = {**sasl, "listener.name.ssl.ssl.client.auth": "requested"}
    assert protection(prefixed).tls["SSL"].client_auth is ClientAuth.REQUESTED


def test_a_node_connects_to_others_with_the_stores_of_their_listener() -> None:
    read = protection(
        {
            "process.roles": "broker",
            "controller.quorum.bootstrap.servers": "127.0.0.1:9093",
            "listener.security.protocol.map": "SSL:SSL,INSIDE:SASL_SSL,CONTROLLER:SSL",
            "sasl.enabled.mechanisms": "SCRAM-SHA-256",
            "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-256",
            "listener.name.inside.scram-sha-256.sasl.jaas.config": (
                f'{MODULES["SCRAM-SHA-256"]} required username="node" password="sesame";'
            ),
            "listener.name.controller.ssl.truststore.location": "controllers.pem",
            "ssl.endpoint.identification.algorithm": "",
        }
    )
    assert read.at_controllers == OwnLogin(protocol=SecurityProtocol.SSL, tls_of="CONTROLLER")
    assert read.at_brokers.protocol is SecurityProtocol.SASL_SSL
    assert (read.at_brokers.tls_of, read.at_brokers.mechanism) == ("INSIDE", "SCRAM-SHA-256")
    controller = read.tls["CONTROLLER"]
    assert controller.stores.truststore_location == "controllers.pem"
    assert not controller.checks_host


@pytest.mark.parametrize(
    ("names", "suites", "versions"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", ("ECDHE-RSA-AES256-GCM-SHA384",), ("TLSv1.2",)),
        ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", ("ECDHE-ECDSA-CHACHA20-POLY1305",), ("TLSv1.2",)),
        ("TLS_RSA_WITH_AES_128_CBC_SHA256", ("AES128-SHA256",), ("TLSv1.2",)),
        ("ECDHE-RSA-AES128-GCM-SHA256", ("ECDHE-RSA-AES128-GCM-SHA256",), ("TLSv1.2",)),
        ("TLS_AES_256_GCM_SHA384,TLS_AES_128_GCM_SHA256,TLS_CHACHA20_POLY1305_SHA256", (), ("TLSv1.3",)),
    ],
)  # fmt: skip
def test_a_version_without_a_suite_is_not_spoken(
    names: str, suites: tuple[str, ...], versions: tuple[str, ...]
) -> None:
    read = protection({"ssl.cipher.suites": names}).tls["SSL"]
    assert (read.suites, read.versions) == (suites, versions)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"ssl.keystore.location": None}, "listener SSL has TLS and no key: give ssl.keystore.location"),
        ({"ssl.keystore.type": None}, "ssl.keystore.type is JKS: this version reads PEM only: .* set ssl.keystore.type=PEM"),
        ({"ssl.keystore.type": "PKCS12"}, "ssl.keystore.type is PKCS12: this version reads PEM only"),
        ({"ssl.truststore.type": "JKS"}, "ssl.truststore.type is JKS"),
        ({"ssl.keystore.key": "x", "ssl.keystore.certificate.chain": "y"}, "give ssl.keystore.location or ssl.keystore.key, not both"),
        ({"ssl.keystore.location": None, "ssl.keystore.key": "x"}, "ssl.keystore.key and ssl.keystore.certificate.chain belong together"),
        ({"ssl.truststore.certificates": "x"}, "give ssl.truststore.location or ssl.truststore.certificates, not both"),
        ({"ssl.keystore.password": "sesame"}, "ssl.keystore.password: a PEM store has none"),
        ({"ssl.truststore.location": None, "ssl.truststore.password": "sesame"}, "ssl.truststore.password is given, and no truststore"),
        ({"ssl.client.auth": "required", "ssl.truststore.location": None}, "asks for certificates of clients .* say whose certificates count"),
        ({"ssl.client.auth": "maybe"}, "ssl.client.auth"),
        ({"ssl.enabled.protocols": "TLSv1.1"}, "TLSv1.1 is none of TLSv1.2, TLSv1.3"),
        ({"ssl.enabled.protocols": ""}, "ssl.enabled.protocols of listener SSL: nothing"),
        ({"ssl.cipher.suites": "TLS_AES_256_GCM_SHA384"}, "cannot choose among the suites of TLS 1.3; name all"),
        ({"ssl.cipher.suites": "ECDHE-RSA-AES128-GCM-SHA256", "ssl.enabled.protocols": "TLSv1.3"}, "has no suite for ssl.enabled.protocols"),
        ({"ssl.principal.mapping.rules": "default"}, "default is no rule"),
        ({"ssl.endpoint.identification.algorithm": "ldaps"}, "write https, or nothing"),
        ({"ssl.engine.factory.class": "com.example.Mine"}, "no class is loaded here"),
        ({"listener.security.protocol.map": "SSL:SSL,INSIDE:PLAINTEXT", "listener.name.inside.ssl.client.auth": "required"}, "listener INSIDE has no TLS"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_at_the_start(
    changes: dict[str, str | None], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence) as caught:
        protection(changes)
    assert "sesame" not in str(caught.value)


def test_stores_that_are_set_while_a_broker_runs_count_for_their_listener() -> None:
    settings = protection({}).tls["SSL"]
    overrides = {
        "listener.name.ssl.ssl.keystore.location": "new.pem",
        "listener.name.ssl.ssl.key.password": "sesame",
        "listener.name.inside.ssl.keystore.location": "other.pem",
        "num.io.threads": "3",
    }
    changed = changed_stores(settings, overrides)
    assert changed.stores.keystore_location == "new.pem"
    assert changed.stores.key_password == "sesame"
    assert changed.stores.truststore_location == "authorities.pem"
    assert "sesame" not in repr(changed)
    assert changed_stores(settings, {"num.io.threads": "3"}) is settings


def test_the_pages_of_a_node_have_the_tls_of_a_listener_called_https() -> None:
    read = protection(
        {
            "millstream.http.listener": "https://0.0.0.0:9404",
            "listener.name.https.ssl.keystore.location": "pages.pem",
            "listener.name.https.ssl.client.auth": "required",
        }
    )
    assert read.tls["HTTPS"].stores.keystore_location == "pages.pem"
    assert read.tls["HTTPS"].client_auth is ClientAuth.REQUIRED
    assert read.tls["SSL"].client_auth is ClientAuth.NONE


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"millstream.http.listener": "https://0.0.0.0:9404", "ssl.keystore.location": None},
            "listener HTTPS has TLS and no key",
        ),
        (
            {
                "millstream.http.listener": "http://0.0.0.0:9404",
                "listener.name.https.ssl.keystore.location": "pages.pem",
            },
            "this node has no such listener",
        ),
        ({"millstream.http.listener": "ftp://0.0.0.0:21"}, "http://HOST:PORT or https://HOST:PORT"),
        (
            {
                "millstream.http.listener": "https://0.0.0.0:9404",
                "listeners": "HTTPS://127.0.0.1:0",
                "listener.security.protocol.map": "HTTPS:SSL",
                "inter.broker.listener.name": "HTTPS",
            },
            "another listener is called HTTPS",
        ),
        (
            {
                "millstream.http.listener": "http://0.0.0.0:9404",
                "listeners": "HTTP://127.0.0.1:0",
                "listener.security.protocol.map": "HTTP:SSL",
                "inter.broker.listener.name": "HTTP",
            },
            "another listener is called HTTP;",
        ),
        (
            {
                "millstream.http.listener": "https://0.0.0.0:9404",
                "listener.name.https.ssl.keystore.location": "pages.pem",
                "listener.name.https.max.connections": "5",
            },
            "listener.name.https.max.connections: connections to millstream.http.listener are not counted",
        ),
        (
            {
                "millstream.http.listener": "https://0.0.0.0:9404",
                "listener.name.https.max.connection.creation.rate": "5",
            },
            "have a bound of their own",
        ),
    ],
)
def test_pages_without_what_their_tls_needs_are_refused(
    changes: dict[str, str | None], told: str
) -> None:
    alone: dict[str, str | None] = {
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT",
        "inter.broker.listener.name": None,
    }
    with pytest.raises(ConfigError, match=re.escape(told)):
        protection(alone | changes)
