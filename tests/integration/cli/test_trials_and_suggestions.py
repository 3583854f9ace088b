"""`--dry-run` of what destroys, names that are nearly right, and what the Tab key offers."""

from __future__ import annotations

import json
import socket
import time

import pytest
from click.testing import CliRunner

from millstream.cli.completion import VARIABLE
from millstream.cli.completion.shells import PROGRAM, BashWithColons
from millstream.cli.main import main
from millstream.clients import OffsetAndMetadata, blocking
from millstream.model import TopicPartition
from millstream.testing.broker import Broker
from tests.integration.cli.conftest import Run, eventually
from tests.patience import LONG_ENOUGH_S


@pytest.fixture
def group(topic: str, bootstrap: str, run: Run) -> str:
    """A group that has committed for one of the two partitions of the topic."""
    run("topics", "create", topic, "--partitions", "2")
    eventually(lambda: run("topics", "describe", topic), lambda done: not done.returncode)
    name = f"readers-of-{topic}"
    with blocking.Admin(bootstrap_servers=bootstrap) as admin:
        committed = {TopicPartition(topic, 0): OffsetAndMetadata(0)}
        admin.alter_consumer_group_offsets(name, committed).raise_errors()
    return name


def test_a_trial_deletes_nothing(run: Run, topic: str, group: str) -> None:
    tried = run("topics", "delete", topic, "--dry-run")
    assert (tried.returncode, tried.stdout) == (0, f"{topic} would be deleted\n")
    tried = run("groups", "delete", group, "--dry-run", "--output", "json")
    assert json.loads(tried.stdout) == [{"group": group, "result": "would be deleted"}]
    tried = run(
        "groups", "delete-offsets", group, "--topic", topic, "--dry-run", "--output", "json"
    )
    assert [row["result"] for row in json.loads(tried.stdout)] == [
        "would be deleted",
        "has no offset",
    ]
    tried = run("streams", "reset", group, "--dry-run", "--output", "json")
    assert json.loads(tried.stdout) == [
        {"kind": "group", "name": group, "result": "would be deleted"}
    ]
    assert f'"group":"{group}"' in run("groups", "describe", group, "--output", "jsonl").stdout


def test_a_trial_refuses_what_would_be_refused(
    run: Run, topic: str, group: str, bootstrap: str
) -> None:
    with blocking.Consumer(bootstrap_servers=bootstrap, group_id=group) as member:
        member.subscribe([topic])
        while not member.assignment():
            member.poll(timeout_ms=100)
        tried = run("groups", "delete", group, "--dry-run", "--output", "json")
        assert json.loads(tried.stderr)["error"] == "NON_EMPTY_GROUP"
        arguments = ("groups", "delete-offsets", group, "--topic", topic, "--output", "json")
        tried, refused = run(*arguments, "--dry-run"), run(*arguments)
        for each in (tried, refused):
            told = json.loads(each.stderr.splitlines()[0])
            assert told["error"] == "GROUP_SUBSCRIBED_TO_TOPIC"
        tried = run("streams", "reset", group, "--dry-run")
        assert "runs: end its instances first" in tried.stderr


def test_every_verb_suggests_the_topic_that_was_meant(run: Run, topic: str, group: str) -> None:
    wrong = f"{topic}x"
    silent = []
    for arguments in (
        ("topics", "describe", wrong),
        ("topics", "alter", wrong, "-p", "9"),
        ("topics", "alter", wrong, "--config", "retention.ms=1"),
        ("topics", "delete", wrong),
        ("topics", "delete", wrong, "--dry-run"),
        ("configs", "get", f"topic:{wrong}"),
        ("configs", "explain", f"topic:{wrong}", "retention.ms"),
        ("configs", "set", f"topic:{wrong}", "retention.ms=1"),
        ("consume", wrong, "-e"),
        ("offsets", wrong),
        ("records", "delete", wrong, "--before", "end"),
        ("groups", "reset-offsets", group, "--topic", wrong, "--to-latest"),
        ("groups", "delete-offsets", group, "--topic", wrong),
        ("cluster", "elect-leaders", "preferred", wrong),
        ("cluster", "reassign", "plan", wrong),
        ("cluster", "log-dirs", "--topic-list", wrong),
        ("perf", "consume", wrong),
        ("pipeline", "queries", wrong),
    ):
        done = run(*arguments)
        if done.returncode != 3 or f"; did you mean {topic}?" not in done.stderr:
            silent.append((arguments, done))
    assert silent == []


def test_records_for_a_topic_that_nobody_makes_are_told_the_one_that_was_meant() -> None:
    """The broker may make topics by itself, so it is waited for; then it is not a time limit that is told."""
    with Broker(settings={"auto.create.topics.enable": "false"}) as broker:
        at = ("-b", broker.bootstrap_servers)
        CliRunner().invoke(main, ["topics", "create", "orders", *at])
        done = CliRunner().invoke(main, ["produce", "ordres", "-X", "max.block.ms=100", *at], input="a\n")  # fmt: skip
    assert done.exit_code == 3
    assert done.stderr.splitlines()[-1].endswith("; did you mean orders?")


def test_a_setting_that_brokers_do_not_have_is_told(run: Run) -> None:
    """Brokers keep it, as Kafka's do: a plug-in may read it."""
    told = run("configs", "set", "broker:1", "log.cleaner.thread=2", "--dry-run")
    assert (told.returncode, told.stderr) == (0, "warning: brokers have no setting log.cleaner.thread; did you mean log.cleaner.threads?\n")  # fmt: skip
    known = run("configs", "set", "broker", "log.cleaner.threads=2", "--dry-run")
    assert (known.returncode, known.stderr) == (0, "")


def test_a_group_that_waits_for_a_misspelt_topic_says_so(run: Run, topic: str, group: str) -> None:
    done = run("consume", f"{topic}x", "-G", group, "--timeout-ms", "1")
    (told,) = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert told.endswith(f"; did you mean {topic}? (waiting for it)")
    assert done.returncode == 0


def test_every_verb_suggests_the_group_that_was_meant(run: Run, topic: str, group: str) -> None:
    wrong = f"{group}x"
    silent = []
    for arguments in (
        ("groups", "describe", wrong),
        ("groups", "delete", wrong),
        ("groups", "delete", wrong, "--dry-run"),
        ("groups", "delete-offsets", wrong, "--topic", topic),
        ("streams", "reset", wrong),
        ("pipeline", "pause", wrong),
    ):
        done = run(*arguments)
        if done.returncode != 3 or f"; did you mean {group}?" not in done.stderr:
            silent.append((arguments, done))
    assert silent == []
    new = run("groups", "reset-offsets", wrong, "--topic", topic, "--to-latest")
    assert (new.returncode, f"there is no group {wrong} yet; did you mean {group}?" in new.stderr) == (0, True)  # fmt: skip


def pressed(line: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COMP_LINE", line)
    monkeypatch.setenv("COMP_POINT", str(len(line)))
    return BashWithColons(main, {}, PROGRAM, VARIABLE).complete().splitlines()


def test_the_tab_key_offers_what_the_cluster_has(
    bootstrap: str, topic: str, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = f"millstream -b {bootstrap}"
    for line, offered in (
        (f"{at} consume {topic[:-1]}", topic),
        (f"{at} groups describe {group[:-1]}", group),
        (f"{at} topics describe other {topic[:-1]}", topic),
        (f"{at} consume -G {group[:-1]}", group),
        (f"{at} configs get topic:{topic[:-1]}", topic),
        (f"{at} configs get topic:{topic} retention.m", "retention.ms"),
        (f"{at} configs set topic:{topic} retention.m", "retention.ms="),
    ):
        assert f"plain,{offered}" in pressed(line, monkeypatch), line


def test_the_tab_key_waits_for_nobody_long_and_says_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Neither for one that refuses, nor for one that takes the connection and is silent."""
    monkeypatch.setattr("millstream.cli.completion.names.LIMIT_MS", 300)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        begun = time.monotonic()
        assert pressed(f"millstream consume -b {address} a", monkeypatch) == []
        assert time.monotonic() - begun < LONG_ENOUGH_S / 2
    assert pressed(f"millstream consume -b {address} a", monkeypatch) == []
    assert pressed("millstream consume -b no.such.host:1 a", monkeypatch) == []
    assert pressed("millstream consume --config /nowhere a", monkeypatch) == []
    assert capfd.readouterr() == ("", "")
