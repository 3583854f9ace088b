from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from millstream.cli.cluster_options import ClusterOptions, cluster_options
from millstream.cli.command import ClientCommand
from millstream.cli.main import main
from millstream.cli.profiles.command import profile_settings, shown_settings
from millstream.cli.suggestions import SuggestingGroup
from millstream.clients.config import AdminConfig, ProducerConfig
from millstream.errors import BrokerNotAvailable

LOGIN = """\
bootstrap.servers=file:1
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="me" password="hidden";
ssl.truststore.location=ca.pem
linger.ms=7
schema.registry.basic.auth.user.info=me:hidden
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("MILLSTREAM_PROFILE", "MILLSTREAM_BOOTSTRAP_SERVERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "client.properties").write_text(LOGIN)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["profile", *arguments])


def asked(*arguments: str) -> ClusterOptions:
    """What a verb is told, with its own arguments behind it."""
    given: list[ClusterOptions] = []

    @click.command("list")
    @cluster_options
    def listing(cluster: ClusterOptions) -> None:
        given.append(cluster)

    group = SuggestingGroup("main", {"topics": SuggestingGroup("topics", {"list": listing})})
    done = CliRunner().invoke(group, arguments)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return given[0]


def bootstrap(*arguments: str) -> object:
    return asked(*arguments).settings(AdminConfig)["bootstrap_servers"]


def test_what_was_added_is_used_by_its_name(home: Path) -> None:
    assert run("add", "prod", "--config", "client.properties", "-X", "client.id=me").exit_code == 0
    (home / "client.properties").unlink()
    settings = asked("topics", "list", "-p", "prod").settings(ProducerConfig)
    assert settings["bootstrap_servers"] == "file:1"
    assert settings["client_id"] == "me"
    assert settings["linger_ms"] == "7"
    assert settings["ssl_truststore_location"] == str(home / "ca.pem")


@pytest.mark.parametrize(
    "arguments",
    [
        ("-p", "prod", "topics", "list"),
        ("-pprod", "topics", "list"),
        ("--profile=prod", "topics", "list"),
        ("topics", "-p", "prod", "list"),
        ("topics", "list", "-p", "prod"),
        ("topics", "list", "--profile", "prod"),
    ],
)
def test_it_is_named_before_or_behind_the_verb(arguments: tuple[str, ...]) -> None:
    run("add", "prod", "-b", "prod:1")
    assert bootstrap(*arguments) == "prod:1"


def test_where_a_verb_has_another_p_the_long_name_is_left() -> None:
    """`topics create -p 3` is Kafka's; before the verb `-p` is the profile all the same."""
    done = CliRunner().invoke(main, ["-p", "prod", "topics", "create", "t", "-p", "3"])
    assert done.stderr.startswith("error: there is no profile prod"), done.stderr


def test_what_is_nearer_counts_more(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Options, -X, the file, the profile, the address in the environment, the profile in use, localhost."""
    run("add", "prod", "-b", "profile:1", "--use")
    (home / "client.properties").write_text("bootstrap.servers=file:1\n")
    verb = ("topics", "list")
    assert bootstrap(*verb) == "profile:1"
    monkeypatch.setenv("MILLSTREAM_BOOTSTRAP_SERVERS", "environment:1")
    assert bootstrap(*verb) == "environment:1"
    assert bootstrap(*verb, "-p", "prod") == "profile:1"
    monkeypatch.setenv("MILLSTREAM_PROFILE", "prod")
    assert bootstrap(*verb) == "profile:1"
    file = (*verb, "--config", "client.properties")
    assert bootstrap(*file) == "file:1"
    assert bootstrap(*file, "-X", "bootstrap.servers=property:1") == "property:1"
    assert bootstrap(*file, "-X", "bootstrap.servers=property:1", "-b", "option:1") == "option:1"


def test_the_login_of_a_profile_of_the_environment_does_not_go_where_a_file_leads(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("add", "prod", "--config", "client.properties")
    monkeypatch.setenv("MILLSTREAM_PROFILE", "prod")
    verb = ("topics", "list", "--config", "own.properties")
    (home / "own.properties").write_text("bootstrap.servers=other:1\n")
    assert "sasl_jaas_config" not in asked(*verb).settings(AdminConfig)
    assert "sasl_jaas_config" in asked(*verb, "-p", "prod").settings(AdminConfig)
    (home / "own.properties").write_text("client.id=me\n")
    assert "sasl_jaas_config" in asked(*verb).settings(AdminConfig)


def test_a_login_that_is_given_takes_that_of_the_file_out_of_the_profile() -> None:
    run("add", "prod", "--config", "client.properties", "-X", "sasl.username=a", "-X", "sasl.password=b")  # fmt: skip
    settings = asked("topics", "list", "-p", "prod").settings(AdminConfig)
    assert settings["sasl_username"] == "a"
    assert "sasl_jaas_config" not in settings


@pytest.mark.parametrize(
    "named",
    [
        ("-b", "other:1"),
        ("-X", "bootstrap.servers=other:1"),
        ("-X", "bootstrap_controllers=other:1"),
        ("--config", "/dev/null"),
    ],
)
def test_the_login_of_the_profile_in_use_goes_to_no_other_cluster(named: tuple[str, ...]) -> None:
    run("add", "prod", "--config", "client.properties", "--use")
    settings = asked("topics", "list", *named).settings(AdminConfig)
    assert "sasl_jaas_config" not in settings
    assert settings["bootstrap_servers"] != "file:1"


def test_a_setting_of_ones_own_goes_with_the_profile_in_use() -> None:
    run("add", "prod", "-b", "prod:1", "--use")
    assert bootstrap("topics", "list", "-X", "client.id=me") == "prod:1"
    run("use", "--none")
    assert bootstrap("topics", "list", "-X", "client.id=me") == "localhost:9092"


def test_no_secret_is_shown(home: Path) -> None:
    run("add", "prod", "--config", "client.properties")
    for output in ("table", "json", "jsonl"):
        done = run("show", "prod", "--output", output)
        assert done.exit_code == 0
        assert "hidden" not in done.output
        assert "SCRAM-SHA-512" in done.output
    assert "hidden" not in run("list", "--output", "json").output
    assert "hidden" in (home / "config/millstream/profiles/prod.properties").read_text()


def test_what_nobody_knows_may_be_a_secret() -> None:
    given = {"sasl.password": "x", "sasl_password": "x", "my.token": "x", "client.id": "me"}
    assert shown_settings(given) == dict.fromkeys(given, "(secret)") | {"client.id": "me"}


def test_the_list_tells_which_one_is_in_use() -> None:
    run("add", "prod", "--config", "client.properties", "--use")
    run("add", "dev", "-b", "localhost:1")
    assert json.loads(run("list", "--output", "json").stdout) == [
        {
            "profile": "dev",
            "in_use": "no",
            "bootstrap_servers": "localhost:1",
            "security_protocol": None,
        },
        {
            "profile": "prod",
            "in_use": "yes",
            "bootstrap_servers": "file:1",
            "security_protocol": "SASL_SSL",
        },
    ]


def test_one_that_cannot_be_read_hides_no_other(home: Path) -> None:
    run("add", "dev", "-b", "localhost:1")
    run("add", "prod", "-b", "prod:1")
    (home / "config/millstream/profiles/prod.properties").chmod(0o644)
    done = run("list")
    assert done.exit_code == 1
    assert "localhost:1" in done.stdout
    assert done.stderr.startswith("error: other users can open profile prod (-rw-r--r--)")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("add", "prod"), "there is nothing to keep: give -b HOST:PORT"),
        (("add", "prod", "-b", "host:port"), "host:port"),
        (("add", "prod", "-X", "clientt.id=me"), "did you mean client_id?"),
        (("add", "prod", "-X", "security.protocol=TLS"), "must be one of"),
        (("add", "../prod", "-b", "a:1"), "is no name of a profile"),
        (
            ("add", "there", "-b", "a:1"),
            "there is a profile there already: --replace overwrites it",
        ),
        (("show", "ther"), "there is no profile ther; did you mean there?"),
        (("use", "ther"), "there is no profile ther; did you mean there?"),
        (("remove", "ther"), "there is no profile ther; did you mean there?"),
        (("use",), "name a PROFILE, or give --none"),
        (("use", "there", "--none"), "name a PROFILE, or give --none"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_kept(
    arguments: tuple[str, ...], told: str
) -> None:
    run("add", "there", "-b", "there:1")
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert told in done.stderr
    assert len(json.loads(run("list", "--output", "json").stdout)) == 1


def test_an_address_beats_the_files_however_that_is_written() -> None:
    given = {"bootstrap_servers": "file:1", "client.id": "me"}
    assert profile_settings("option:1", given, {}) == {
        "client.id": "me",
        "bootstrap.servers": "option:1",
    }


def test_a_profile_is_overwritten_and_removed_on_purpose() -> None:
    run("add", "prod", "-b", "old:1")
    assert run("add", "prod", "-b", "new:1", "--replace").exit_code == 0
    assert bootstrap("topics", "list", "-p", "prod") == "new:1"
    assert "would be removed" in run("remove", "prod", "--dry-run").output
    assert bootstrap("topics", "list", "-p", "prod") == "new:1"
    assert run("remove", "prod", "--yes").exit_code == 0
    assert json.loads(run("list", "--output", "json").stdout) == []


@pytest.mark.parametrize(
    ("arguments", "is_told"),
    [((), True), (("-X", "client.id=me"), True), (("-b", "h:1"), False), (("-p", "prod"), False)],
)
def test_whoever_has_named_no_cluster_is_told_how_to(
    arguments: tuple[str, ...], is_told: bool
) -> None:
    @click.command(cls=ClientCommand)
    @cluster_options
    def verb(cluster: ClusterOptions) -> None:
        raise BrokerNotAvailable(f"{cluster.settings(AdminConfig)['bootstrap_servers']} refuses")

    run("add", "prod", "-b", "prod:1")
    done = CliRunner().invoke(verb, arguments)
    assert done.exit_code == 5
    assert (
        "; name the cluster with -b HOST:PORT, or start one: millstream server\n" in done.stderr
    ) is is_told
