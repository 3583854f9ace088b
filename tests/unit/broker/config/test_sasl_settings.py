"""What protects listeners, read from the settings; and every way in which they ask for what is not there."""

from __future__ import annotations

import pytest

from millstream.broker.config.broker_config import (
    broker_config,
    changed_config,
    reason_without_effect,
)
from millstream.broker.config.dynamic_config import check_broker_change
from millstream.broker.config.explanation import explanation
from millstream.broker.config.sasl_settings import VALIDATOR, OwnLogin, Protection
from millstream.broker.config.sources import gathered_settings
from millstream.errors import ConfigError
from millstream.metadata.broker_registration import SecurityProtocol
from millstream.net.server.limits import ListenerLimits
from millstream.security.jaas import KERBEROS_MODULE, MODULES

PLAIN = f'{MODULES["PLAIN"]} required username="node" password="sesame" user_node="sesame" user_alice="won\\"der";'
SCRAM = f'{MODULES["SCRAM-SHA-256"]} required username="node" password="sesame";'
OAUTH = f'{MODULES["OAUTHBEARER"]} required clientId="node" clientSecret="sesame";'
ALONE = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "inter.broker.listener.name": "SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": PLAIN,
}
"""A node without others."""
AMONG_OTHERS = {
    **ALONE,
    "process.roles": "broker",
    "controller.quorum.bootstrap.servers": "127.0.0.1:9093",
    "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.mechanism.controller.protocol": "SCRAM-SHA-256",
    "listener.name.controller.scram-sha-256.sasl.jaas.config": SCRAM,
}
BEARERS = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "inter.broker.listener.name": "SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "OAUTHBEARER",
    "listener.name.sasl_plaintext.oauthbearer.sasl.server.callback.handler.class": VALIDATOR,
    "sasl.oauthbearer.jwks.endpoint.url": "https://issuer.example/keys",
    "sasl.oauthbearer.expected.issuer": "https://issuer.example",
    "sasl.oauthbearer.expected.audience": "kafka,other",
}


def protection(settings: dict[str, str]) -> Protection:
    return broker_config(settings).protection


def test_a_listener_without_sasl_asks_for_nothing() -> None:
    assert protection({}) == Protection(protocols={"PLAINTEXT": SecurityProtocol.PLAINTEXT})


def test_a_listener_without_sasl_may_have_bounds_of_its_own() -> None:
    settings = {
        "listeners": "PLAINTEXT://127.0.0.1:0,OTHER://127.0.0.1:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT",
        "listener.name.other.max.connections": "20",
        "listener.name.other.max.connection.creation.rate": "5",
    }
    assert protection(settings).limits == {"OTHER": ListenerLimits(20, 5)}
    with pytest.raises(ConfigError, match=r"max\.connections"):
        protection({**settings, "listener.name.other.max.connections": "many"})


def test_the_users_of_plain_stand_in_the_jaas_text() -> None:
    read = protection(ALONE)
    assert read.protocols == {"SASL_PLAINTEXT": SecurityProtocol.SASL_PLAINTEXT}
    plain, scram = read.logins["SASL_PLAINTEXT"].mechanisms
    assert (plain.name, plain.passwords) == ("PLAIN", {"node": "sesame", "alice": 'won"der'})
    assert (scram.name, scram.passwords) == ("SCRAM-SHA-256", {})


def test_a_node_alone_needs_no_login_of_its_own() -> None:
    assert protection(ALONE).at_brokers == OwnLogin()


def test_a_node_among_others_logs_in_at_brokers_and_controllers() -> None:
    read = protection(AMONG_OTHERS)
    assert (read.at_brokers.mechanism, read.at_brokers.jaas_config) == ("PLAIN", PLAIN)
    assert (read.at_controllers.mechanism, read.at_controllers.jaas_config) == (
        "SCRAM-SHA-256",
        SCRAM,
    )
    assert read.at_controllers.protocol is SecurityProtocol.SASL_PLAINTEXT


def test_the_nearest_setting_counts() -> None:
    read = protection(
        {
            **ALONE,
            "listeners": "SASL_PLAINTEXT://127.0.0.1:0,OUTSIDE://127.0.0.1:0",
            "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT,OUTSIDE:SASL_PLAINTEXT",
            "connections.max.reauth.ms": "1000",
            "sasl.server.max.receive.size": "5000",
            "listener.name.outside.sasl.enabled.mechanisms": "SCRAM-SHA-512, SCRAM-SHA-256",
            "listener.name.outside.connections.max.reauth.ms": "2000",
            "listener.name.outside.scram-sha-512.connections.max.reauth.ms": "3000",
            "listener.name.outside.sasl.server.max.receive.size": "6000",
        }
    )
    lives = {
        (name, each.name): each.session_ms_max
        for name, listener in read.logins.items()
        for each in listener.mechanisms
    }
    assert lives == {
        ("SASL_PLAINTEXT", "PLAIN"): 1000,
        ("SASL_PLAINTEXT", "SCRAM-SHA-256"): 1000,
        ("OUTSIDE", "SCRAM-SHA-512"): 3000,
        ("OUTSIDE", "SCRAM-SHA-256"): 2000,
    }
    assert [each.frame_bytes_max for each in read.logins.values()] == [5000, 6000]


def test_bearers_are_believed_by_issuer_audience_and_keys() -> None:
    (mechanism,) = protection(BEARERS).logins["SASL_PLAINTEXT"].mechanisms
    bearers = mechanism.bearers
    assert bearers is not None
    assert (bearers.jwks_url, bearers.issuer) == (
        "https://issuer.example/keys",
        "https://issuer.example",
    )
    assert (bearers.audiences, bearers.name_claim) == (("kafka", "other"), "sub")
    assert (bearers.clock_skew_s, bearers.refresh_ms) == (30, 3_600_000)


def test_mechanisms_that_no_listener_uses_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    broker_config({"sasl.enabled.mechanisms": "PLAIN"})
    assert "no listener has SASL" in caplog.text
    caplog.clear()
    broker_config(ALONE)
    assert not caplog.text


def test_no_repr_shows_a_password() -> None:
    shown = repr(broker_config(AMONG_OTHERS))
    assert "sesame" not in shown
    assert "won" not in shown


JAAS_KEY = "listener.name.sasl_plaintext.plain.sasl.jaas.config"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"sasl.enabled.mechanisms": None}, r"is GSSAPI .* does not have: set it to one or more of PLAIN, SCRAM-SHA-256"),
        ({"sasl.enabled.mechanisms": "DIGEST-MD5"}, "has DIGEST-MD5, which is none of"),
        ({"sasl.enabled.mechanisms": ""}, "SASL_PLAINTEXT has SASL and needs at least one"),
        ({JAAS_KEY: None}, rf'{JAAS_KEY} names no user.*write .*PlainLoginModule required user_NAME="PASSWORD"'),
        ({JAAS_KEY: f'{MODULES["PLAIN"]} required username="a" password="b";'}, "names no user"),
        ({JAAS_KEY: f'{MODULES["PLAIN"]} required user_a="";'}, "must not be empty"),
        ({JAAS_KEY: f'{MODULES["PLAIN"]} required user_a="b"'}, f"{JAAS_KEY}: after 1 options .* the closing ;"),
        ({JAAS_KEY: SCRAM}, "must begin with .*PlainLoginModule required: no other is known"),
        ({JAAS_KEY: f"{KERBEROS_MODULE} required;"}, "names Kerberos, which this version does not have"),
        ({JAAS_KEY: 'com.sun.security.auth.module.JndiLoginModule required a="ldap://evil";'}, "no other is known"),
        ({"listener.name.sasl_plaintext.plain.sasl.server.callback.handler.class": "com.example.Mine"}, "no class is loaded here; leave it out"),
        ({"listener.name.sasl_plaintext.ssl.keystore.location": "a.jks"}, "listener SASL_PLAINTEXT has no TLS; give it SSL or SASL_SSL"),
        ({"listener.name.sasl_plaintext.gssapi.sasl.jaas.config": "x"}, "asks for what this version does not do"),
        ({"listeners": "SASL_SSL://:9092", "inter.broker.listener.name": "SASL_SSL", "listener.name.sasl_plaintext.plain.sasl.jaas.config": None, "sasl.enabled.mechanisms": "SCRAM-SHA-256"}, "listener SASL_SSL has TLS and no key"),
        ({"listeners": "SASL_PLAINTEXT://:9092,CONTROLLER://:9093"}, "names no protocol for listener CONTROLLER"),
        ({"sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512"}, "is SCRAM-SHA-512, which sasl.enabled.mechanisms of listener SASL_PLAINTEXT lacks"),
        ({"security.inter.broker.protocol": "SASL_PLAINTEXT"}, "say the same thing: give one of them"),
        ({"connection.failed.authentication.delay.ms": "600000"}, "must be less than connections.max.idle.ms, which is 600000"),
        ({"connection.failed.authentication.delay.ms": "-1"}, "connection.failed.authentication.delay.ms"),
        ({"listener.security.protocol.map": "SASL_PLAINTEXT:KERBEROS"}, "KERBEROS of listener SASL_PLAINTEXT is none of"),
    ],
)  # fmt: skip
def test_what_a_node_alone_cannot_do_is_refused(
    changes: dict[str, str | None], sentence: str
) -> None:
    _refused(ALONE, changes, sentence)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"sasl.mechanism.inter.broker.protocol": None}, "sasl.mechanism.inter.broker.protocol is GSSAPI"),
        ({"sasl.mechanism.controller.protocol": None}, "sasl.mechanism.controller.protocol is GSSAPI"),
        ({JAAS_KEY: f'{MODULES["PLAIN"]} required user_a="b" username="a";'}, "password is missing, with which this node logs in at others"),
        ({"listener.name.controller.scram-sha-256.sasl.jaas.config": None}, "username and password is missing"),
        ({"sasl.mechanism.controller.protocol": "OAUTHBEARER", "listener.name.controller.oauthbearer.sasl.jaas.config": OAUTH}, "token.endpoint.url with https:// is missing"),
        ({"listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT"}, "names no protocol for listener CONTROLLER"),
    ],
)  # fmt: skip
def test_what_a_node_among_others_cannot_do_is_refused(
    changes: dict[str, str | None], sentence: str
) -> None:
    _refused(AMONG_OTHERS, changes, sentence)


HANDLER = "listener.name.sasl_plaintext.oauthbearer.sasl.server.callback.handler.class"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({HANDLER: None}, "Kafka takes unsigned tokens, which anybody can make; set it to .*OAuthBearerValidatorCallbackHandler"),
        ({HANDLER: "org.example.Mine"}, "no class is loaded here; leave it out, or set it to .*Validator"),
        ({"sasl.oauthbearer.jwks.endpoint.url": None}, "must be an https:// or file:/// URL"),
        ({"sasl.oauthbearer.jwks.endpoint.url": "http://issuer.example/keys"}, "must be an https:// or file:/// URL"),
        ({"sasl.oauthbearer.expected.issuer": None}, "needs sasl.oauthbearer.expected.issuer and"),
        ({"sasl.oauthbearer.expected.audience": None}, "needs sasl.oauthbearer.expected.issuer and"),
    ],
)  # fmt: skip
def test_bearers_that_nobody_checks_are_refused(
    changes: dict[str, str | None], sentence: str
) -> None:
    _refused(BEARERS, changes, sentence)


def _refused(settings: dict[str, str], changes: dict[str, str | None], sentence: str) -> None:
    changed = {**settings, **{key: value for key, value in changes.items() if value is not None}}
    for key, value in changes.items():
        if value is None:
            changed.pop(key, None)
    with pytest.raises(ConfigError, match=sentence) as caught:
        broker_config(changed)
    assert "sesame" not in str(caught.value)


def test_what_protects_a_running_broker_does_not_change() -> None:
    static = broker_config(ALONE)
    changed = changed_config(
        static, {"sasl.enabled.mechanisms": "PLAIN", "log.cleaner.threads": "2"}
    )
    assert changed.protection == static.protection
    before = dict(static.settings)
    with pytest.raises(ConfigError, match="cannot be changed while a broker runs"):
        check_broker_change(before, {**before, "sasl.enabled.mechanisms": "PLAIN"})
    check_broker_change(before, {**before, "log.cleaner.threads": "2"})


def test_what_is_explained_of_a_listener_hides_its_value() -> None:
    settings = gathered_settings(ALONE, "server.properties", {}, ())
    told = explanation(JAAS_KEY, settings)
    assert told is not None
    assert told["value"] == "[hidden]"
    assert told["effect"] == "a setting of one listener, which is read when a node starts"
    assert reason_without_effect(JAAS_KEY) is None


def test_the_environment_may_give_a_setting_of_a_listener() -> None:
    variable = "KAFKA_LISTENER_NAME_SASL__PLAINTEXT_SCRAM___SHA___256_SASL_JAAS_CONFIG"
    settings = gathered_settings({}, "server.properties", {variable: SCRAM}, ())
    assert settings.values == {"listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config": SCRAM}
