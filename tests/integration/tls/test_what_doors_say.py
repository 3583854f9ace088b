"""Whoever may not come in is told so by each of our doors, at once and in one sentence that says what to change."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from millstream.cli.main import main
from millstream.clients import Admin, Consumer, Producer, RangeReader, ShareConsumer
from millstream.clients.cluster.cluster import require_listener
from millstream.clients.config import ClientConfig
from millstream.clients.config.settings import parse_settings
from millstream.errors import KafkaError
from millstream.security.jaas import MODULES
from millstream.testing.node_runner import ThreadNode
from tests.integration.clients.refusals import refusal
from tests.integration.clients.security.certificates import Authority
from tests.patience import LONG_ENOUGH_MS
from tests.support.sasl_node import free_ports

NAMES: Final = ("SASL_SSL", "MUTUAL")
ALICE: Final = {"sasl_mechanism": "PLAIN", "sasl_username": "alice", "sasl_password": "wonder"}
CLIENT_NONE: Final = "lets nobody in without a certificate; name ours in ssl_keystore_location"
CLIENT_EXPIRED: Final = (
    "refused our certificate, which has expired; name a new one in ssl_keystore_location"
)
CLIENT_OF_ANOTHER: Final = "refused our certificate, whose authority is not in its trust store; name one in ssl_keystore_location"
SERVER_OF_ANOTHER: Final = (
    "issued by nobody we trust .*; name the authority's certificate in ssl_ca_location"
)
SERVER_ELSEWHERE: Final = "is for another host than localhost .*; connect by the name in it"
SERVER_EXPIRED: Final = "its certificate has expired .*; whoever runs it must renew it"
WRONG_PASSWORD: Final = "refused the login of user 'alice' \\(PLAIN\\): Authentication failed: Invalid username or password"


@dataclass(frozen=True)
class SecureNode:
    directory: Path
    addresses: dict[str, str]

    def settings(self, listener: str, certificate: str | None = None) -> dict[str, str]:
        settings = {
            "bootstrap_servers": self.addresses[listener],
            "security_protocol": "SASL_SSL" if listener == "SASL_SSL" else "SSL",
            "ssl_ca_location": self.path("test-authority"),
        }
        if listener == "SASL_SSL":
            settings |= ALICE
        if certificate is not None:
            settings["ssl_keystore_location"] = self.path(certificate)
        return settings

    def path(self, certificate: str) -> str:
        return str(self.directory / f"{certificate}.pem")


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureNode]:
    directory = tmp_path_factory.mktemp("certificates")
    authority = Authority(directory)
    for name in ("broker", "client"):
        authority.issue(name)
    authority.issue("expired", expired=True)
    Authority(directory, "another authority").issue("stranger")
    ports = dict(free_ports(*NAMES, "PLAINTEXT", "OLD"))
    addresses = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
    protocols = "PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,MUTUAL:SSL,OLD:SSL,CONTROLLER:PLAINTEXT"
    running = ThreadNode(
        {
            "listeners": ",".join(f"{name}://{at}" for name, at in addresses.items()),
            "listener.security.protocol.map": protocols,
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(directory / "broker.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(authority.path),
            "listener.name.mutual.ssl.client.auth": "required",
            "listener.name.mutual.ssl.principal.mapping.rules": "RULE:^CN=app-(.*)$/$1/",
            "listener.name.old.ssl.keystore.location": str(directory / "expired.pem"),
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{MODULES["PLAIN"]} required user_alice="wonder";',
            "millstream.flush.on.ack": "never",
            "log.dirs": str(tmp_path_factory.mktemp("data")),
        }
    )
    running.start(60)
    try:
        yield SecureNode(directory, addresses)
    finally:
        running.stop()


def refused(node: SecureNode) -> dict[str, tuple[dict[str, str], str]]:
    """Settings with which nobody comes in, and what is said of them."""
    login = node.settings("SASL_SSL")
    elsewhere = login["bootstrap_servers"].replace("127.0.0.1", "localhost")
    return {
        "wrong password": ({**login, "sasl_password": "guess"}, WRONG_PASSWORD),
        "server of another authority": (
            {**login, "ssl_ca_location": node.path("another-authority")},
            SERVER_OF_ANOTHER,
        ),
        "server elsewhere": ({**login, "bootstrap_servers": elsewhere}, SERVER_ELSEWHERE),
        "server expired": (node.settings("OLD"), SERVER_EXPIRED),
        "client without": (node.settings("MUTUAL"), CLIENT_NONE),
        "client expired": (node.settings("MUTUAL", "expired"), CLIENT_EXPIRED),
        "client of another authority": (node.settings("MUTUAL", "stranger"), CLIENT_OF_ANOTHER),
    }


CASES: Final = tuple(refused(SecureNode(Path(), dict.fromkeys((*NAMES, "OLD"), ""))))


# Clients


async def write(settings: Any) -> None:
    async with Producer(**settings) as producer:
        await producer.send("t", b"x")


async def poll_in_a_group(settings: Any) -> None:
    async with Consumer(group_id="g", **settings) as consumer:
        consumer.subscribe(["t"])
        await consumer.poll(timeout_ms=LONG_ENOUGH_MS)


async def poll_in_a_share_group(settings: Any) -> None:
    async with ShareConsumer(group_id="g", **settings) as consumer:
        consumer.subscribe(["t"])
        await consumer.poll(timeout_ms=LONG_ENOUGH_MS)


async def read_a_range(settings: Any) -> None:
    async with RangeReader(**settings) as reader:
        await reader.offsets("t", -1)


async def list_topics(settings: Any) -> None:
    async with Admin(**settings) as admin:
        await admin.list_topics()


async def begin_on_spark_or_in_streams(settings: Any) -> None:
    """What a query, a write and an application ask before they begin."""
    await require_listener(parse_settings(ClientConfig, settings))


DOORS: Final = (
    write,
    poll_in_a_group,
    poll_in_a_share_group,
    read_a_range,
    list_topics,
    begin_on_spark_or_in_streams,
)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("use", DOORS)
async def test_clients_raise_it(
    node: SecureNode, use: Callable[[Any], Awaitable[None]], case: str
) -> None:
    settings, sentence = refused(node)[case]
    with pytest.raises(KafkaError, match=sentence) as caught:
        await use(settings)
    assert str(caught.value).startswith(settings["bootstrap_servers"])
    assert not caught.value.retriable


async def test_a_name_that_no_rule_maps_is_told_while_the_client_goes_on_trying(
    node: SecureNode,
) -> None:
    """The broker closes the connection, as Kafka does; so do those that restart."""
    settings = {**node.settings("MUTUAL", "client"), "default_api_timeout_ms": 500}
    await refusal(lambda: list_topics(settings), "a name that its ssl.principal.mapping.rules know")


# Verbs


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("verb", [("topics", "list"), ("produce", "t"), ("consume", "t")], ids=str)
def test_verbs_print_it(node: SecureNode, verb: tuple[str, ...], case: str, tmp_path: Path) -> None:
    settings, sentence = refused(node)[case]
    file = tmp_path / "client.properties"
    file.write_text(
        "".join(f"{key.replace('_', '.')}={value}\n" for key, value in settings.items())
    )
    done = CliRunner().invoke(main, [*verb, "--command-config", str(file)], input="x\n")
    assert done.exit_code in {1, 4}, done
    assert done.stdout == ""
    assert re.fullmatch(f"error: {settings['bootstrap_servers']} .*{sentence}.*\n", done.stderr)
