"""`millstream users`, `acls`, `tokens` and `quotas` over a secure node: what they change is what clients then meet."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from millstream.cli.main import main
from millstream.clients import read_client_properties
from millstream.clients.blocking import Admin
from millstream.errors import SaslAuthenticationFailed
from millstream.properties_text import parse_properties
from millstream.streams import KafkaStreams, StreamsBuilder, StreamsConfig
from millstream.testing import Broker
from tests.integration.cli.conftest import Done, eventually

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def admin() -> Iterator[Path]:
    with Broker(secure=True) as broker:
        yield broker.client_properties


@pytest.fixture
def user() -> str:
    return f"user-{next(_numbers)}"


def run(file: Path, *arguments: str, given: str = "") -> Done:
    result = CliRunner().invoke(main, [*arguments, "--command-config", str(file)], input=given)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Done(result.exit_code, result.stdout, result.stderr)


def rows(done: Done) -> list[dict[str, Any]]:
    assert done.returncode == 0, done
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def test_a_user_from_the_first_login_to_the_last(admin: Path, user: str, tmp_path: Path) -> None:
    file = tmp_path / "user.properties"
    could = run(admin, "users", "add", user, "--dry-run")
    assert could.stdout.split()[-3:] == [user, "SCRAM-SHA-512", "would", "be", "added"][-3:]
    assert run(admin, "users", "list", user).returncode == 3
    added = run(admin, "users", "add", user, "--generate", "--client-properties", str(file))
    assert (added.returncode, added.stderr) == (0, f"{file}: the login of {user}\n")
    assert rows(run(admin, "users", "list", user, "--output", "json")) == [
        {"user": user, "mechanism": "SCRAM-SHA-512", "iterations": 8192}
    ]
    again = run(admin, "users", "add", user, given="wonder\n")
    assert (again.returncode, again.stderr) == (
        1, f"error: {user} is there already: `millstream users password {user}` changes the password\n",
    )  # fmt: skip
    assert run(file, "topics", "list").returncode == 0
    changed = run(admin, "users", "password", user, given="wonder\n")
    assert changed.stdout.endswith("changed\n")
    refused = run(file, "topics", "list")
    assert refused.returncode == 4
    assert refused.stderr.count("\n") == 1
    assert f"refused the login of user '{user}' (SCRAM-SHA-512)" in refused.stderr
    assert run(admin, "users", "remove", user, "--dry-run").stdout.endswith("would be removed\n")
    assert run(admin, "users", "remove", user, "--yes").stdout.endswith("removed\n")
    assert run(admin, "users", "remove", user).returncode == 3


def test_a_user_of_both_mechanisms(admin: Path, user: str) -> None:
    both = ("--mechanism", "SCRAM-SHA-256", "--mechanism", "scram-sha-512")
    added = run(admin, "users", "add", user, *both, "--iterations", "4096", given="wonder\n")
    assert added.stdout.count("added") == 2
    eventually(lambda: run(admin, "users", "list", user), lambda done: done.stdout.count(user) == 2)
    run(admin, "users", "remove", user, "--mechanism", "SCRAM-SHA-256")
    assert "SCRAM-SHA-256" not in run(admin, "users", "list", user).stdout
    made = run(admin, "users", "password", user, "--generate")
    assert made.stderr.startswith(f"password of {user}: ")


def test_rules_decide_and_are_explained(admin: Path, user: str, tmp_path: Path) -> None:
    file = tmp_path / "user.properties"
    run(admin, "users", "add", user, "--generate", "--client-properties", str(file))
    topic = f"{user}-orders"
    run(admin, "topics", "create", topic)
    asked = ("acls", "explain", user, "Write", f"topic:{topic}")
    denied = run(admin, *asked)
    assert (denied.returncode, denied.stdout.splitlines()[:2]) == (
        1, [f"denied: User:{user} Write Topic {topic}", "  because no rule allows it"],
    )  # fmt: skip
    assert run(file, "produce", topic, given="one\n").returncode == 4
    rule = (
        "acls",
        "add",
        "--allow-principal",
        user,
        "--producer",
        "--topic",
        user,
        "--pattern",
        "prefixed",
    )
    assert run(admin, *rule, "--dry-run").stdout.count("would be added") == 3
    assert run(admin, *rule).stdout.count("added") == 3
    assert run(admin, *rule, "--dry-run").stdout.count("exists already") == 3
    allowed = run(admin, *asked)
    assert allowed.returncode == 0
    assert (
        f"the rule ALLOW User:{user} Write on Topic names that begin with {user}" in allowed.stdout
    )
    written = eventually(
        lambda: run(file, "produce", topic, given="one\n"), lambda done: done.returncode == 0
    )
    assert written.stderr == f"1 record written to {topic}\n"
    run(
        admin, "acls", "add", "--deny-principal", "User:*", "--operation", "Write", "--topic", topic
    )
    (told,) = rows_of_denial(run(admin, *asked, "--output", "json"))
    assert (told["by"], told["rule"]["permission"]) == ("MatchingAcl", "DENY")
    listed = rows(run(admin, "acls", "list", "--topic", topic, "--output", "json"))
    assert {each["permission"] for each in listed} == {"ALLOW", "DENY"}
    assert run(admin, "acls", "list", "--topic", topic, "--pattern", "any").stdout.count(topic) == 1
    assert (
        run(admin, "acls", "remove", "--principal", user, "--dry-run").stdout.count(
            "would be removed"
        )
        == 3
    )
    assert run(admin, "acls", "remove", "--principal", user, "--yes").stdout.count("removed") == 3
    run(admin, "acls", "remove", "--topic", topic, "--yes")
    assert run(admin, "acls", "list", "--topic", topic).stderr == "no rule\n"


def rows_of_denial(done: Done) -> list[dict[str, Any]]:
    assert done.returncode == 1, done
    return rows(done._replace(returncode=0))


def test_a_super_user_is_known_from_the_settings_of_the_node(admin: Path) -> None:
    asked = ("acls", "explain", "admin", "Alter", "cluster")
    assert "unless super.users" in run(admin, *asked).stdout
    settings = str(admin.with_name("secure.properties"))
    known = run(admin, *asked, "--server-config", settings)
    assert (known.returncode, known.stdout.splitlines()[-1]) == (
        0, "  because it is one of super.users, whatever the rules say",
    )  # fmt: skip


def test_a_token_logs_in_until_it_is_ended(admin: Path) -> None:
    assert run(admin, "tokens", "create", "--dry-run").stderr == (
        "a token of yours would be created; whether you may is asked only when it is done\n"
    )
    (token,) = rows(run(admin, "tokens", "create", "--max-life", "1d", "--output", "json"))
    listed = eventually(
        lambda: run(admin, "tokens", "list", "--owner", "admin", "--output", "json"),
        lambda done: token["token_id"] in done.stdout,
    )
    assert token["hmac"] not in listed.stdout
    settings = parse_properties(admin.read_text()) | {
        "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        f'username="{token["token_id"]}" password="{token["hmac"]}" tokenauth="true";'
    }
    with Admin(**settings) as by_token:  # type: ignore[arg-type]  # all are texts
        by_token.describe_cluster()
    assert run(admin, "tokens", "renew", token["token_id"], "--for", "1h").stdout.endswith(
        "renewed\n"
    )
    assert run(admin, "tokens", "expire", token["token_id"], "--dry-run").stdout.endswith(
        "would be ended\n"
    )
    assert run(admin, "tokens", "expire", token["token_id"], "--yes").stdout.endswith("ended\n")
    gone = eventually(
        lambda: run(admin, "tokens", "renew", token["token_id"]), lambda done: done.returncode != 0
    )
    assert (gone.returncode, gone.stderr.count("\n")) == (3, 1)


def test_quotas_are_set_listed_and_removed(admin: Path, user: str) -> None:
    whom = ("--user", user, "--client-id", "app")
    given = ("producer_byte_rate=1048576", "request_percentage=12.5")
    assert run(admin, "quotas", "set", *whom, *given, "--dry-run").stdout.count("could be set") == 2
    assert "no such quotas" in run(admin, "quotas", "list", *whom).stderr
    assert run(admin, "quotas", "set", *whom, *given).stdout.count(" set") == 2
    listed = eventually(
        lambda: run(admin, "quotas", "list", "--user", user, "--output", "json"),
        lambda done: done.stdout.count("quota") == 2,
    )
    assert rows(listed)[0] == {
        "user": user, "client_id": "app", "ip": None, "quota": "producer_byte_rate", "value": 1048576.0,
    }  # fmt: skip
    assert run(admin, "quotas", "remove", *whom, "request_percentage").stdout.count("removed") == 1
    unset = run(admin, "quotas", "remove", *whom, "request_percentage")
    assert (unset.returncode, unset.stderr) == (0, "request_percentage was not set\n")
    assert run(admin, "quotas", "remove", *whom).stdout.count("removed") == 1
    run(admin, "quotas", "set", "--ip-defaults", "connection_creation_rate=1000")
    defaults = run(admin, "quotas", "list", "--ip-defaults")
    assert "<default>" in defaults.stdout
    assert run(admin, "quotas", "remove", "--ip-defaults").stdout.count("removed") == 1


@pytest.mark.parametrize(
    "verb",
    [
        ("topics", "list"),
        ("produce", "t"),
        ("consume", "t", "-e"),
        ("consume", "t", "-G", "g", "-e"),
        ("groups", "list"),
        ("transactions", "list"),
        ("acls", "list"),
        ("users", "list"),
        ("tokens", "list"),
        ("quotas", "list"),
        ("cluster", "status"),
        ("perf", "produce", "t", "--num-records", "10", "--record-size", "10"),
        ("perf", "consume", "t", "--num-records", "1"),
        ("perf", "latency", "t", "--num-records", "1"),
        ("streams", "reset", "app", "--yes"),
        ("pipeline", "status", "app"),
    ],
)
def test_a_wrong_password_is_one_sentence_at_once(
    verb: tuple[str, ...], admin: Path, tmp_path: Path
) -> None:
    """Not after the time-outs of clients, of which the shortest is 15 s."""
    wrong = tmp_path / "wrong.properties"
    text = admin.read_text()
    start = text.index('password="') + len('password="')
    wrong.write_text(text[:start] + "not-" + text[start:])
    done = run(wrong, *verb, given="one\n")
    assert done.returncode == 4, done
    assert done.stderr.count("\n") == 1, done
    assert "refused the login of user 'admin' (SCRAM-SHA-512)" in done.stderr


async def test_an_application_with_a_wrong_password_does_not_start(
    admin: Path, tmp_path: Path
) -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    config = StreamsConfig(application_id="app", state_dir=str(tmp_path))
    settings = read_client_properties(admin) | {"sasl_username": "admin", "sasl_password": "guess"}
    with pytest.raises(SaslAuthenticationFailed, match="refused the login of user 'admin'"):
        await KafkaStreams(builder.build(), config, settings).start()
