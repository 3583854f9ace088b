"""What the command line says of a cluster that is not there."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result

from millstream.cli.main import main
from tests.patience import LONG_ENOUGH_S


@pytest.fixture
def refusing() -> Iterator[str]:
    """An address that refuses: the port is taken, and nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


def run(bootstrap: str, *arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "-b", bootstrap], input="one\n")


WAITS_LONG = ("-X", f"default.api.timeout.ms={LONG_ENOUGH_S * 1000:.0f}")


@pytest.mark.parametrize(
    "arguments",
    [
        ("consume", "a", *WAITS_LONG),
        ("consume", "a", "-G", "g", *WAITS_LONG),
        ("produce", "a", "-X", f"max.block.ms={LONG_ENOUGH_S * 1000:.0f}"),
        ("topics", "list", *WAITS_LONG),
        ("topics", "create", "a", *WAITS_LONG),
        ("topics", "describe", "a", *WAITS_LONG),
        ("configs", "get", "topic:a", *WAITS_LONG),
        ("offsets", "a", *WAITS_LONG),
        ("records", "delete", "a", "--before", "3", *WAITS_LONG),
        ("groups", "list", *WAITS_LONG),
        ("groups", "describe", "g", *WAITS_LONG),
        ("groups", "reset-offsets", "g", "--topic", "a", "--to-latest", *WAITS_LONG),
        ("perf", "produce", "a", "-X", f"max.block.ms={LONG_ENOUGH_S * 1000:.0f}"),
        ("perf", "consume", "a", *WAITS_LONG),
        ("perf", "consume", "a", "-G", "g", *WAITS_LONG),
        ("perf", "latency", "a"),
        ("copy", "a", "b", *WAITS_LONG),
        ("transactions", "find-hanging", *WAITS_LONG),
        ("transactions", "producers", "a", *WAITS_LONG),
    ],
)
@pytest.mark.timeout(LONG_ENOUGH_S / 2)
def test_an_address_that_refuses_ends_every_verb_at_once(
    refusing: str, arguments: tuple[str, ...]
) -> None:
    """Each is told to wait for longer than this test may take."""
    done = run(refusing, *arguments)
    assert done.exit_code == 5, done.output
    *_, told = done.stderr.splitlines()
    assert told.startswith("error: ")
    assert f"cannot connect to {refusing}: refused; nothing listens there" in told
    assert "warning" not in done.stderr


def test_one_of_several_addresses_is_enough(refusing: str, bootstrap: str) -> None:
    done = run(f"{refusing},{bootstrap}", "topics", "list")
    assert done.exit_code == 0, done.stderr
    assert refusing not in done.stderr


def test_silence_is_told_while_it_lasts(topic: str) -> None:
    """An address that takes connections and says nothing; nobody knows yet that it never will."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        done = run(address, "topics", "list", "-X", "default.api.timeout.ms=2500")
    assert done.exit_code == 5
    assert f": no answer from {address} since 1.0 s; still waiting\n" in done.stderr
    assert done.stderr.count("warning: ") == 1


def test_a_topic_that_is_made_because_of_its_name_is_told(bootstrap: str, topic: str) -> None:
    done = run(bootstrap, "produce", topic)
    told, count = done.stderr.splitlines()
    assert told.startswith(
        f"warning: topic '{topic}' did not exist and was created, because this client"
    )
    assert count == f"1 record written to {topic}"
    assert run(bootstrap, "produce", topic).stderr == f"1 record written to {topic}\n"
