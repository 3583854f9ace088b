"""Who may come to the console, decided before it listens: nothing is open by accident."""

from __future__ import annotations

import pytest

from millstream.clients.config import ClientConfig
from millstream.clients.config.settings import parse_settings
from millstream.console.entrance.door import Door, DoorOptions
from millstream.console.entrance.door import door_of as door_of_clients
from millstream.console.entrance.users import ClusterUsers
from millstream.errors import ConfigError, SaslAuthenticationFailed

OPEN: dict[str, str] = {"security_protocol": "PLAINTEXT"}
WITH_LOGINS = {"security_protocol": "SASL_SSL", "sasl_mechanism": "SCRAM-SHA-512"}


def door_of(options: DoorOptions, settings: dict[str, str]) -> Door:
    return door_of_clients(options, parse_settings(ClientConfig, settings))


def test_on_this_machine_a_cluster_without_logins_is_shown_to_who_asks_for_this_machine() -> None:
    assert door_of(DoorOptions(is_loopback=True), {}) == Door(
        asks_for_login=False,
        has_secure_cookies=False,
        admins=frozenset(),
        allowed_hosts=("localhost", "127.0.0.1", "::1", "[::1]"),
    )


def test_where_the_cluster_has_logins_users_log_in_also_on_this_machine() -> None:
    assert door_of(DoorOptions(is_loopback=True), WITH_LOGINS).asks_for_login
    assert door_of(
        DoorOptions(is_loopback=True), {"security_protocol": "SASL_PLAINTEXT"}
    ).asks_for_login
    open_to_all = DoorOptions(is_loopback=True, lets_everybody_in=True)
    assert not door_of(open_to_all, WITH_LOGINS).asks_for_login


def test_a_proxy_is_asked_by_its_own_name() -> None:
    door = door_of(DoorOptions(is_loopback=True, hosts=("console.example",)), {})
    assert "console.example" in door.allowed_hosts
    assert "localhost" in door.allowed_hosts
    outside = DoorOptions(is_loopback=False, has_tls=True, hosts=("console.example",))
    assert door_of(outside, WITH_LOGINS).allowed_hosts == ("console.example",)


@pytest.mark.parametrize(
    ("options", "settings", "told"),
    [
        (DoorOptions(is_loopback=False), OPEN, "there is no login because the cluster has none"),
        (DoorOptions(is_loopback=False, has_tls=True), OPEN, "there is no login"),
        (DoorOptions(is_loopback=False), WITH_LOGINS, "passwords would cross the network in clear"),
        (DoorOptions(is_loopback=True, admins=frozenset({"a"})), OPEN, "nobody logs in"),
        (
            DoorOptions(is_loopback=True, admins=frozenset({"a"}), lets_everybody_in=True),
            WITH_LOGINS,
            "nobody logs in",
        ),
        (
            DoorOptions(is_loopback=True),
            {"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER"},
            "cannot log in with a name and a password by OAUTHBEARER",
        ),
    ],
)
def test_what_would_be_open_by_accident_is_refused_with_a_sentence(
    options: DoorOptions, settings: dict[str, str], told: str
) -> None:
    with pytest.raises(ConfigError, match=told):
        door_of(options, settings)


@pytest.mark.parametrize(
    ("options", "settings", "asks_for_login", "has_secure_cookies"),
    [
        (DoorOptions(is_loopback=False, has_tls=True), WITH_LOGINS, True, True),
        (DoorOptions(is_loopback=False, is_behind_tls=True), WITH_LOGINS, True, True),
        (DoorOptions(is_loopback=False, lets_everybody_in=True), OPEN, False, False),
        (DoorOptions(is_loopback=True), WITH_LOGINS, True, False),
    ],
)
def test_what_is_asked_for_in_so_many_words_is_done(
    options: DoorOptions,
    settings: dict[str, str],
    *,
    asks_for_login: bool,
    has_secure_cookies: bool,
) -> None:
    door = door_of(options, settings)
    assert (door.asks_for_login, door.has_secure_cookies) == (asks_for_login, has_secure_cookies)


@pytest.mark.parametrize("protocol", ["sasl_ssl", "Sasl_Plaintext", "SASL_SSL"])
@pytest.mark.parametrize("mechanism", ["plain", "scram-sha-256", "Scram-Sha-512", "PLAIN"])
@pytest.mark.parametrize("is_kafka_s", [True, False])
def test_a_login_is_asked_for_however_its_settings_are_written(
    protocol: str, mechanism: str, *, is_kafka_s: bool
) -> None:
    names = ("security.protocol", "sasl.mechanism")
    settings = dict(zip(names, (protocol, mechanism), strict=True))
    if not is_kafka_s:
        settings = {name.replace(".", "_"): value for name, value in settings.items()}
    assert door_of(DoorOptions(is_loopback=True), settings).asks_for_login
    with pytest.raises(ConfigError, match="passwords would cross the network"):
        door_of(DoorOptions(is_loopback=False), settings)


@pytest.mark.parametrize("mechanism", ["OAUTHBEARER", "oauthbearer"])
def test_who_has_no_password_cannot_log_in_however_that_is_written(mechanism: str) -> None:
    settings = {"security_protocol": "sasl_ssl", "sasl_mechanism": mechanism}
    with pytest.raises(ConfigError, match="name and a password by OAUTHBEARER"):
        door_of(DoorOptions(is_loopback=True), settings)


@pytest.mark.parametrize(
    ("user", "password"),
    [
        ("", "x"),
        ("alice", ""),
        ("alice\0bob", "x"),
        ("alice", "x\0"),
        ("a" * 1025, "x"),
        ("a\n", "x"),
    ],
)
async def test_a_name_that_no_user_can_have_is_not_taken_to_the_cluster(
    user: str, password: str
) -> None:
    """NUL would part the fields of PLAIN elsewhere, and another user would log in."""
    users = ClusterUsers(
        {"bootstrap_servers": "127.0.0.1:1", "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN"},
        timeout_ms=1000,
    )  # fmt: skip
    with pytest.raises(SaslAuthenticationFailed, match="No user has such a name or password"):
        await users.log_in(user, password)


def test_settings_without_a_mechanism_are_refused_before_anybody_logs_in() -> None:
    with pytest.raises(ConfigError, match="sasl_mechanism"):
        ClusterUsers({"security_protocol": "SASL_SSL"}, timeout_ms=1000)
