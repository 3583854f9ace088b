"""What lists nothing says so, and how to get something, on standard error: what reads standard output is not disturbed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
import pytest
from click.testing import CliRunner, Result

from millstream.cli.main import VERBS, main
from millstream.testing.broker import Broker
from tests.integration.clients.serdes.fake_schema_registry import FakeSchemaRegistry

SAID: Final = {
    ("acls", "list"): "there are no rules: millstream acls add makes one",
    ("acls", "list", "--topic", "a"): "no rule",
    ("cluster", "reassign", "list"): "no partition moves",
    ("configs", "list", "client-metrics"): "nothing of that kind has settings: millstream configs set KIND:NAME KEY=VALUE gives it some",
    ("groups", "describe", "--all-groups"): "there are no groups that you may see: millstream consume TOPIC --group NAME begins one",
    ("groups", "list"): "there are no groups that you may see: millstream consume TOPIC --group NAME begins one",
    ("groups", "list", "--state", "dead"): "no group is like that",
    ("profile", "list"): "there are no profiles yet: millstream profile add NAME -b HOST:PORT makes one",
    ("quotas", "list"): "there are no such quotas: millstream quotas set makes some",
    ("registry", "list"): "there are no subjects yet: millstream registry register SUBJECT FILE makes one",
    ("registry", "list", "a"): "no subject has a name that begins with a",
    ("topics", "describe"): "there are no topics that you may see: millstream topics create NAME makes one",
    ("topics", "list"): "there are no topics that you may see: millstream topics create NAME makes one",
    ("transactions", "find-hanging"): "no transaction hangs",
    ("transactions", "list"): "there are no transactional ids that you may see",
    ("transactions", "list", "--prefix", "a"): "no transactional id is like that",
    ("users", "list"): "there are no users who log in by SCRAM: millstream users add NAME makes one",
}  # fmt: skip


_WITH_RULES: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with Broker(settings=_WITH_RULES) as broker, FakeSchemaRegistry() as registry:
        yield {
            "MILLSTREAM_BOOTSTRAP_SERVERS": broker.bootstrap_servers,
            "MILLSTREAM_SCHEMA_REGISTRY": registry.url,
            "XDG_CONFIG_HOME": str(tmp_path_factory.mktemp("configuration")),
        }


def listed(environment: dict[str, str], arguments: tuple[str, ...], *more: str) -> Result:
    return CliRunner().invoke(main, [*arguments, *more], env=environment)


@pytest.mark.parametrize("arguments", SAID)
def test_a_list_without_rows_says_so_beside_it(
    environment: dict[str, str], arguments: tuple[str, ...]
) -> None:
    done = listed(environment, arguments)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", f"{SAID[arguments]}\n")
    as_json = listed(environment, arguments, "--output", "json")
    assert (as_json.exit_code, as_json.stdout, as_json.stderr) == (0, "[]\n", "")


def test_what_a_broker_was_not_told_to_do_is_said_with_the_setting() -> None:
    with Broker() as broker:
        at = {"MILLSTREAM_BOOTSTRAP_SERVERS": broker.bootstrap_servers}
        rules, tokens = listed(at, ("acls", "list")), listed(at, ("tokens", "list"))
    assert rules.stderr.endswith("; its nodes have no access rules without authorizer.class.name\n")
    assert tokens.stderr.endswith("; name a listener that asks for a login, and log in with a user's own password\n")  # fmt: skip


def test_who_may_see_nothing_is_not_told_that_there_is_nothing(tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text("long-enough")
    with Broker(secure=True) as broker:
        own = ("--config", str(broker.client_properties))
        listed({}, ("topics", "create", "orders"), "--command-config", own[1])
        listed({}, ("users", "add", "ann"), "--password-file", str(password), *own)
        ann = tmp_path / "ann.properties"
        login = re.sub(r"username=.*", 'username="ann" password="long-enough";', broker.client_properties.read_text())  # fmt: skip
        ann.write_text(login)
        seen, disks = listed({}, ("topics", "list"), "--config", str(ann)), listed({}, ("cluster", "log-dirs"), "--config", str(ann))  # fmt: skip
    assert (seen.exit_code, seen.stderr[:38]) == (0, "there are no topics that you may see: ")
    assert disks.exit_code == 4


def test_tokens_need_a_login() -> None:
    with Broker(secure=True) as broker:
        done = listed({}, ("tokens", "list"), "--config", str(broker.client_properties))
    assert (done.stdout, done.stderr) == ("", "there are no tokens that you may see: millstream tokens create makes one\n")  # fmt: skip


def test_every_verb_that_lists_is_looked_at() -> None:
    context = click.Context(main)
    lists = set()
    for name in VERBS:
        command = main.get_command(context, name)
        if isinstance(command, click.Group):
            lists |= {(name, each) for each in command.list_commands(context) if each == "list"}
    assert lists == {each[:2] for each in SAID if each[1] == "list"} | {("tokens", "list")}
