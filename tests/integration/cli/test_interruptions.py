"""Ctrl-C and SIGTERM, whatever a verb waits for: it ends at once, says what was done, and never that it ended well."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from millstream.clients import blocking
from millstream.testing.broker import Broker
from tests.integration.cli.conftest import MILLSTREAM, Run
from tests.patience import LONG_ENOUGH_S

HOUR_MS = 3_600_000
SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
PATIENT = (
    "-X", f"default.api.timeout.ms={HOUR_MS}", "-X", f"socket.connection.setup.timeout.ms={HOUR_MS}",
    "-X", f"socket.connection.setup.timeout.max.ms={HOUR_MS}",
)  # fmt: skip
"""A verb that does not heed the signal outlives its test."""


@pytest.fixture
def silent() -> Iterator[str]:
    """An address that takes connections and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def started(bootstrap: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*MILLSTREAM, *arguments],
        env=os.environ | {"MILLSTREAM_BOOTSTRAP_SERVERS": bootstrap},
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def told_line(verb: subprocess.Popen[str]) -> str:
    assert verb.stderr is not None
    return verb.stderr.readline()


@pytest.mark.parametrize(("asking", "code"), SIGNALS)
@pytest.mark.parametrize(
    "arguments",
    [
        ("consume", "t"),
        ("consume", "t", "-G", "g"),
        ("perf", "consume", "t"),
        ("topics", "list"),
        ("copy", "a", "b"),
    ],
)
def test_a_cluster_that_does_not_answer_keeps_nobody(
    silent: str, arguments: tuple[str, ...], asking: signal.Signals, code: int
) -> None:
    with started(silent, *arguments, *PATIENT) as verb:
        assert "no answer from" in told_line(verb)
        verb.send_signal(asking)
        verb.communicate(timeout=LONG_ENOUGH_S)
    assert verb.returncode == code


@pytest.mark.parametrize("asking", [signal.SIGINT, signal.SIGTERM])
def test_the_console_can_be_ended_before_it_has_found_the_cluster(
    silent: str, asking: signal.Signals
) -> None:
    with started(silent, "console", "--port", "0") as verb:
        assert "no answer from" in told_line(verb)
        verb.send_signal(asking)
        verb.communicate(timeout=LONG_ENOUGH_S)
    assert verb.returncode == 0


@pytest.mark.parametrize(("asking", "code"), SIGNALS)
def test_a_broker_that_stops_answering_does_not_hold_an_interrupted_transaction(
    asking: signal.Signals, code: int
) -> None:
    """It is left to its time limit. The abort would be waited for for an hour."""
    with Broker(in_process=False) as broker:
        assert broker.pid is not None
        limits = ("-X", f"max.block.ms={HOUR_MS}", "-X", f"request.timeout.ms={HOUR_MS}",
                  "-X", f"delivery.timeout.ms={2 * HOUR_MS}", "-X", "linger.ms=0")  # fmt: skip
        arguments = ("produce", "t", "--transactional-id", "id", *limits)
        with started(broker.bootstrap_servers, *arguments) as verb:
            assert verb.stdin is not None
            verb.stdin.write("one\n")
            verb.stdin.flush()
            assert "did not exist and was created" in told_line(verb)
            os.kill(broker.pid, signal.SIGSTOP)
            try:
                verb.send_signal(asking)
                told = verb.communicate(timeout=LONG_ENOUGH_S)[1].splitlines()
            finally:
                os.kill(broker.pid, signal.SIGCONT)
    assert verb.returncode == code
    assert told[-1].startswith("0 records written to t, 1 in a transaction that was not committed")


@pytest.mark.parametrize(("asking", "code"), SIGNALS)
def test_an_interrupted_measurement_prints_what_it_has(
    run: Run, topic: str, bootstrap: str, asking: signal.Signals, code: int
) -> None:
    run("produce", topic, given="1\n2\n3\n")
    arguments = ("perf", "consume", topic, "-n", "10", "--timeout", str(HOUR_MS))
    reports = ("--show-detailed-stats", "--reporting-interval", "1")
    with started(bootstrap, *arguments, *reports) as verb:
        while ", 3, " not in told_line(verb):
            assert verb.poll() is None
        verb.send_signal(asking)
        out, told = verb.communicate(timeout=LONG_ENOUGH_S)
    assert verb.returncode == code
    assert told.splitlines()[-1] == "interrupted: 3 of 10 records read"
    assert ", 3, " in out.splitlines()[-1]


def test_a_measurement_that_read_a_part_of_what_it_should_has_not_ended_well(
    run: Run, topic: str
) -> None:
    run("produce", topic, given="1\n2\n3\n")
    part = run("perf", "consume", topic, "-n", "10", "--timeout", "1")
    assert part.returncode == 5
    assert re.fullmatch(
        r"error: [0-3] of 10 records read: none came for 1 ms \(--timeout\)\n", part.stderr
    )
    assert len(part.stdout.splitlines()) == 2


def test_a_group_that_cannot_be_left_is_told_of_at_once_and_kept_for_a_second() -> None:
    """The coordinator is asked to let the member go, and does not answer."""
    with Broker(in_process=False) as broker:
        assert broker.pid is not None
        with blocking.Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
            producer.send("t", b"one").result()
        arguments = ("consume", "t", "-G", "g", "-o", "beginning")
        with started(broker.bootstrap_servers, *arguments) as verb:
            assert verb.stdout is not None
            assert verb.stdout.readline() == "one\n"
            os.kill(broker.pid, signal.SIGSTOP)
            try:
                verb.send_signal(signal.SIGINT)
                assert told_line(verb) == "ending, within a second; Ctrl-C again ends at once\n"
                told = verb.communicate(timeout=LONG_ENOUGH_S)[1]
            finally:
                os.kill(broker.pid, signal.SIGCONT)
    assert verb.returncode == 130
    assert told.splitlines()[-1] == "1 record read"


_WITHOUT_A_RESOLVER = """
import socket, threading
socket.getaddrinfo = lambda *_, **__: threading.Event().wait()
from millstream.cli.main import main
main()
"""


@pytest.mark.parametrize("arguments", [("topics", "list"), ("consume", "t", "-G", "g"), ("top",)])
def test_a_resolver_that_does_not_answer_keeps_nobody(arguments: tuple[str, ...]) -> None:
    """As where the network is down: it would be waited for at the end of the process."""
    command = [sys.executable, "-c", _WITHOUT_A_RESOLVER, *arguments, "-b", "some.host:9092"]
    with subprocess.Popen(command, text=True, stderr=subprocess.PIPE) as verb:
        assert "no answer from some.host:9092" in told_line(verb)
        verb.send_signal(signal.SIGINT)
        verb.communicate(timeout=LONG_ENOUGH_S)
    assert verb.returncode == 130
