from __future__ import annotations

from pathlib import Path

import click
import pytest

from millstream.cli.cluster_options import (
    ENVIRONMENT,
    ClusterOptions,
    admin_beside,
    beneath,
    read_client_file,
)
from millstream.clients.config import AdminConfig, ConsumerConfig, ProducerConfig
from millstream.errors import ConfigError


@pytest.fixture
def properties(tmp_path: Path) -> str:
    file = tmp_path / "client.properties"
    file.write_text(
        "bootstrap.servers=file:1\nclient.id=from-file\nlinger.ms=7\n"
        "key.serializer=org.apache.kafka.common.serialization.StringSerializer\n"
    )
    return str(file)


def test_an_option_beats_a_property_which_beats_the_file(properties: str) -> None:
    file = read_client_file(properties)
    given = ClusterOptions("option:1", file, ("bootstrap.servers=property:1", "client_id=p"))
    settings = given.settings(ProducerConfig, acks="1")
    assert settings["bootstrap_servers"] == "option:1"
    assert settings["client_id"] == "p"
    assert settings["linger_ms"] == "7"
    assert settings["acks"] == "1"
    fewer = ClusterOptions(None, file, ("bootstrap.servers=property:1",))
    assert fewer.settings(ProducerConfig)["bootstrap_servers"] == "property:1"
    assert ClusterOptions(None, file).settings(ProducerConfig)["client_id"] == "from-file"


JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";'


@pytest.mark.parametrize("name", ["sasl.username", "sasl_plain_username", "sasl.plain.username"])
def test_a_login_of_a_higher_level_is_the_whole_login(name: str) -> None:
    """The client would take sasl.jaas.config of the profile before a name and a password, in silence."""
    below = {"sasl.jaas.config": JAAS, "sasl.mechanism": "PLAIN", "client.id": "kept"}
    given = ClusterOptions("here:1", below, (f"{name}=me", "sasl.password=mine"))
    settings = given.settings(AdminConfig)
    assert "sasl_jaas_config" not in settings
    assert (settings["sasl_username"], settings["sasl_password"]) == ("me", "mine")
    assert (settings["sasl_mechanism"], settings["client_id"]) == ("PLAIN", "kept")
    assert ClusterOptions("here:1", below).settings(AdminConfig)["sasl_jaas_config"] == JAAS


def test_a_login_of_a_file_takes_that_of_a_profile_out() -> None:
    profile = {"sasl_jaas_config": JAAS, "client.id": "kept"}
    assert beneath({"sasl.plain.password": "mine"}, profile) == {"client.id": "kept"}
    assert beneath({"client.id": "mine"}, profile) == profile
    other_way = {"sasl.username": "a", "sasl.plain.password": "b"}
    assert beneath({"sasl.jaas.config": JAAS}, other_way) == {}


def test_a_file_serves_all_clients(properties: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is another client's is left out; what no client has is said once, however many clients there are."""
    with Path(properties).open("a") as file:
        file.write("liinger.ms=5\n" + "".join(f"zz{number}=1\n" for number in range(300)))
    cluster = ClusterOptions(None, read_client_file(properties))
    assert "linger_ms" not in cluster.settings(ConsumerConfig)
    assert cluster.settings(ProducerConfig)["linger_ms"] == "7"
    told = capsys.readouterr().err
    assert told.startswith(
        f"warning: {properties}: no client has a setting named liinger.ms, zz0, "
    )
    assert told.endswith(" and 291 more\n")
    assert told.count("\n") == 1


def test_a_file_that_is_no_text_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "client.properties").write_bytes(b"client.id=\xff\n")
    with pytest.raises(click.BadParameter, match="is not a text in UTF-8"):
        read_client_file(str(tmp_path / "client.properties"))


def test_an_admin_beside_another_client_gets_what_they_share() -> None:
    """A consumer's auto.offset.reset is nothing to an admin client, which does not refuse it."""
    cluster = ClusterOptions("here:1", {}, ("auto.offset.reset=earliest", "client.id=mine"))
    settings = cluster.settings(ConsumerConfig)
    with admin_beside(settings) as admin:
        assert admin._client.config.client_id == "mine"
        assert admin._client.config.bootstrap_servers == (("here", 1),)


def test_an_unknown_property_is_left_for_the_client_to_refuse() -> None:
    assert ClusterOptions(None, {}, ("liinger.ms=5",)).settings(ProducerConfig)["liinger.ms"] == "5"


def test_verbs_of_the_admin_client_refuse_an_unknown_property_and_suggest() -> None:
    """So does a property of another client: it would change nothing, in silence."""
    with pytest.raises(ConfigError, match=r"no setting clientt\.id; did you mean client_id"):
        ClusterOptions(None, {}, ("clientt.id=5",)).admin()
    with pytest.raises(ConfigError, match=r"no setting linger\.ms"):
        ClusterOptions(None, {}, ("linger.ms=5",)).admin()


def test_a_verb_with_two_clients_gives_each_its_own() -> None:
    given = ClusterOptions(None, {}, ("linger.ms=5", "fetch.min.bytes=1", "liinger.ms=5"))
    reading = given.settings(ConsumerConfig, ProducerConfig)
    assert (reading["fetch_min_bytes"], reading["liinger.ms"]) == ("1", "5")
    assert "linger.ms" not in reading
    assert "linger_ms" not in reading


def test_the_environment_names_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    assert ClusterOptions().settings(AdminConfig)["bootstrap_servers"] == "localhost:9092"
    monkeypatch.setenv(ENVIRONMENT, "there:1")
    assert ClusterOptions().settings(AdminConfig)["bootstrap_servers"] == "there:1"
    assert ClusterOptions("here:1").settings(AdminConfig)["bootstrap_servers"] == "here:1"


def test_what_was_not_chosen_stays_the_clients_own() -> None:
    assert "acks" not in ClusterOptions().settings(ProducerConfig, acks=None)


def test_a_property_is_a_key_and_a_value() -> None:
    with pytest.raises(click.BadParameter, match="'acks' is not KEY=VALUE"):
        ClusterOptions(None, {}, ("acks",)).settings(ProducerConfig)
