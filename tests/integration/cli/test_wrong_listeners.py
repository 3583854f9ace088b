"""What a verb says at a listener that speaks another protocol: one sentence, at once, with what to set."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest
from click.testing import CliRunner, Result

from millstream.cli.main import main
from millstream.security.jaas import MODULES
from millstream.testing.node_runner import ThreadNode
from tests.integration.clients.security.certificates import Authority
from tests.patience import LONG_ENOUGH_S

LISTENERS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
LOGIN = ("sasl.mechanism=PLAIN", "sasl.username=alice", "sasl.password=wonder")
WAITS_LONG = ("-X", f"default.api.timeout.ms={LONG_ENOUGH_S * 1000:.0f}")


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Of a node with a listener of each kind; `ca` is the file of its authority."""
    directory = tmp_path_factory.mktemp("certificates")
    authority = Authority(directory)
    ports = {}
    taken = [socket.socket() for _ in LISTENERS]
    for name, sock in zip(LISTENERS, taken, strict=True):
        sock.bind(("127.0.0.1", 0))
        ports[name] = f"127.0.0.1:{sock.getsockname()[1]}"
    for sock in taken:
        sock.close()
    node = ThreadNode(
        {
            "listeners": ",".join(f"{name}://{at}" for name, at in ports.items()),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(authority.issue("broker")),
            "sasl.enabled.mechanisms": "PLAIN",
            **{
                f"listener.name.{name}.plain.sasl.jaas.config": f'{MODULES["PLAIN"]} required user_alice="wonder";'
                for name in ("sasl_plaintext", "sasl_ssl")
            },
            "log.dirs": str(tmp_path_factory.mktemp("data")),
        }
    )
    node.start(60)
    try:
        yield {**ports, "ca": str(authority.path)}
    finally:
        node.stop()


def run(addresses: dict[str, str], listener: str, protocol: str, *arguments: str) -> Result:
    settings = [f"security.protocol={protocol}", f"ssl.ca.location={addresses['ca']}"]
    if protocol.startswith("SASL"):
        settings += LOGIN
    options = [word for each in settings for word in ("-X", each)]
    return CliRunner().invoke(main, [*arguments, "-b", addresses[listener], *options])


@pytest.mark.parametrize(
    ("listener", "protocol", "what_to_set"),
    [
        ("SASL_PLAINTEXT", "PLAINTEXT", "try security_protocol=SASL_PLAINTEXT"),
        ("SASL_SSL", "SSL", "try security_protocol=SASL_SSL"),
        ("SSL", "PLAINTEXT", "try security_protocol=SSL or SASL_SSL"),
        ("SASL_SSL", "SASL_PLAINTEXT", "try security_protocol=SASL_SSL"),
        ("PLAINTEXT", "SSL", "try security_protocol=PLAINTEXT or SASL_PLAINTEXT"),
        ("SASL_PLAINTEXT", "SASL_SSL", "try security_protocol=PLAINTEXT or SASL_PLAINTEXT"),
        ("PLAINTEXT", "SASL_PLAINTEXT", "set security_protocol to PLAINTEXT"),
        ("SSL", "SASL_SSL", "set security_protocol to PLAINTEXT or SSL"),
    ],
)
@pytest.mark.timeout(LONG_ENOUGH_S / 2)
def test_the_wrong_protocol_is_said_at_once(
    addresses: dict[str, str], listener: str, protocol: str, what_to_set: str
) -> None:
    """The verb is told to wait for longer than this test may take."""
    done = run(addresses, listener, protocol, "topics", "list", *WAITS_LONG)
    assert done.exit_code == 4, done.output
    (told,) = done.stderr.splitlines()
    assert told.startswith(f"error: {addresses[listener]}")
    assert what_to_set in told


@pytest.mark.parametrize(
    "arguments",
    [
        ("consume", "a", "-e", *WAITS_LONG),
        ("produce", "a", "-X", f"max.block.ms={LONG_ENOUGH_S * 1000:.0f}"),
        ("offsets", "a", *WAITS_LONG),
        ("groups", "describe", "g", *WAITS_LONG),
        ("cluster", "status", *WAITS_LONG),
        ("tail", "a", *WAITS_LONG),
        ("top", "-n", "1", *WAITS_LONG),
        ("perf", "produce", "a", "-X", f"max.block.ms={LONG_ENOUGH_S * 1000:.0f}"),
        ("copy", "a", "b", *WAITS_LONG),
    ],
)
@pytest.mark.timeout(LONG_ENOUGH_S / 2)
def test_every_kind_of_verb_says_so(addresses: dict[str, str], arguments: tuple[str, ...]) -> None:
    done = run(addresses, "SASL_PLAINTEXT", "PLAINTEXT", *arguments)
    assert done.exit_code == 4, done.output
    (told,) = done.stderr.splitlines()
    assert "listeners for SASL do that: try security_protocol=SASL_PLAINTEXT" in told


def test_programs_get_its_name(addresses: dict[str, str]) -> None:
    done = run(addresses, "SSL", "PLAINTEXT", "topics", "list", "--output", "json")
    assert json.loads(done.stderr)["error"] == "WRONG_LISTENER"


@pytest.mark.timeout(LONG_ENOUGH_S / 2)
def test_what_is_no_broker_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as web:

        def answer() -> None:
            while True:
                try:
                    connection, _ = web.accept()
                except OSError:
                    return
                with closing(connection):
                    connection.recv(4_096)
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            at = f"127.0.0.1:{web.getsockname()[1]}"
            done = CliRunner().invoke(main, ["topics", "list", "-b", at, *WAITS_LONG])
        finally:
            web.shutdown(socket.SHUT_RDWR)
            thread.join()
    assert done.exit_code == 4, done.output
    assert done.stderr == f"error: {at} is an HTTP server, not a Kafka broker\n"
