"""TLS of listeners, over real sockets: who is let in and as whom, what is on the wire, and stores that change while the broker runs."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from millstream.clients.admin import AlterConfig, ConfigResource, ConfigResourceType
from millstream.clients.blocking import Admin, Consumer, Producer
from millstream.errors import InvalidRequest
from millstream.net.client.tls import SslAuthenticationFailed
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.api_versions import ApiVersionsRequest
from millstream.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic
from millstream.security.jaas import MODULES
from millstream.testing.node_runner import ThreadNode
from tests.floods.half_handshakes import client_hello
from tests.integration.clients.security.certificates import Authority
from tests.patience import LONG_ENOUGH_S, wait_until
from tests.support.clients.raw_client import RawClient, batch_of, request_frame

NAMES = ("PLAINTEXT", "SSL", "MUTUAL", "SASL_SSL", "NAMED")
SETTINGS = {
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:SSL,MUTUAL:SSL,SASL_SSL:SASL_SSL,NAMED:SSL,CONTROLLER:PLAINTEXT",
    "ssl.keystore.type": "PEM",
    "ssl.truststore.type": "PEM",
    "listener.name.mutual.ssl.client.auth": "required",
    "listener.name.https.ssl.client.auth": "required",
    "listener.name.named.ssl.client.auth": "requested",
    "listener.name.named.ssl.principal.mapping.rules": "RULE:^CN=(app-.*)$/$1/U",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{MODULES["PLAIN"]} required user_alice="wonder";',
    "delegation.token.secret.key": "master",
    "millstream.flush.on.ack": "never",
    "num.partitions": "1",
}


@dataclass
class SecureNode:
    """A node, and the certificates that fit it or do not."""

    directory: Path
    authority: Authority
    addresses: dict[str, str] = field(default_factory=dict)
    pages: str = ""
    """Where metrics and health are."""

    @property
    def authority_path(self) -> str:
        return str(self.authority.path)

    def client(self, listener: str, certificate: str | None = None) -> dict[str, Any]:
        """Settings of our clients."""
        settings: dict[str, Any] = {
            "bootstrap_servers": self.addresses[listener],
            "security_protocol": "SASL_SSL" if listener == "SASL_SSL" else "SSL",
            "ssl_ca_location": self.authority_path,
        }
        if certificate is not None:
            settings["ssl_keystore_location"] = self.path(certificate)
        return settings

    def path(self, certificate: str) -> str:
        return str(self.directory / f"{certificate}.pem")

    def connect(self, listener: str, certificate: str | None = None) -> RawClient:
        """A connection after its handshake."""
        client = RawClient(self.addresses[listener])
        context = ssl.create_default_context(cafile=self.authority_path)
        if certificate is not None:
            context.load_cert_chain(self.path(certificate))
        client.socket = context.wrap_socket(client.socket, server_hostname="127.0.0.1")
        return client

    def serial_number(self, listener: str = "SSL") -> str:
        """Of the certificate that a new connection sees."""
        with self.connect(listener) as client:
            assert isinstance(client.socket, ssl.SSLSocket)
            shown = client.socket.getpeercert()
            assert shown is not None
            return str(shown["serialNumber"])


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureNode]:
    directory = tmp_path_factory.mktemp("certificates")
    authority = Authority(directory)
    for name in ("broker", "client", "app-one"):
        authority.issue(name)
    authority.issue("expired", expired=True)
    Authority(directory, "another authority").issue("stranger")
    secure = SecureNode(directory, authority)
    secure.addresses = {name: f"127.0.0.1:{port}" for name, port in free_ports().items()}
    secure.pages = secure.addresses.pop("HTTPS")
    running = ThreadNode(
        {
            **SETTINGS,
            "listeners": ",".join(f"{name}://{at}" for name, at in secure.addresses.items()),
            "millstream.http.listener": f"https://{secure.pages}",
            "ssl.keystore.location": secure.path("broker"),
            "ssl.truststore.location": secure.authority_path,
            "log.dirs": str(tmp_path_factory.mktemp("data")),
        }
    )
    running.start(60)
    try:
        yield secure
    finally:
        running.stop()


def free_ports() -> dict[str, int]:
    sockets = {name: socket.socket() for name in (*NAMES, "HTTPS")}
    ports = {}
    for sock in sockets.values():
        sock.bind(("127.0.0.1", 0))
    for name, sock in sockets.items():
        with closing(sock):
            ports[name] = sock.getsockname()[1]
    return ports


# Who is let in, and as whom


def test_who_a_client_is_by_its_certificate(node: SecureNode) -> None:
    """The owner of a token is who asks for it."""
    for listener, certificate, expected in (
        ("MUTUAL", "client", "User:CN=client"),
        ("NAMED", "app-one", "User:APP-ONE"),
    ):
        with Admin(**node.client(listener, certificate)) as admin:
            assert str(admin.create_delegation_token().owner) == expected


def test_without_a_certificate_nobody_is_known(node: SecureNode) -> None:
    for listener in ("SSL", "NAMED"):
        with Admin(**node.client(listener)) as admin, pytest.raises(Exception, match="token"):
            admin.create_delegation_token()


def test_a_certificate_does_not_count_where_clients_log_in(node: SecureNode) -> None:
    settings = node.client("SASL_SSL") | {
        "sasl_mechanism": "PLAIN",
        "sasl_username": "alice",
        "sasl_password": "wonder",
    }
    with Admin(**settings) as admin:
        assert str(admin.create_delegation_token().owner) == "User:alice"


@pytest.mark.parametrize(
    ("listener", "certificate", "alert"),
    [
        ("MUTUAL", None, "CERTIFICATE_REQUIRED"),
        ("MUTUAL", "stranger", "UNKNOWN_CA"),
        ("MUTUAL", "expired", "CERTIFICATE_EXPIRED"),
        ("NAMED", "stranger", "UNKNOWN_CA"),
    ],
)
def test_who_is_not_believed_gets_an_alert_at_once(
    node: SecureNode, listener: str, certificate: str | None, alert: str
) -> None:
    """Also where its first request is on its way already: TLS 1.3 lets a client send before it knows."""
    with node.connect(listener, certificate) as client:
        with suppress(OSError):
            client.send(request_frame(ApiKey.API_VERSIONS, 3, ApiVersionsRequest("test", "1")))
        with pytest.raises(ssl.SSLError) as caught:
            client.socket.recv(1)
    assert alert in str(caught.value.reason)


def test_a_name_that_fits_no_rule_is_sent_away(node: SecureNode) -> None:
    with node.connect("NAMED", "client") as client:
        assert client.is_closed_by_broker()


def test_our_client_says_what_to_change(node: SecureNode) -> None:
    stranger = {**node.client("SSL"), "ssl_ca_location": node.path("another-authority")}
    with (
        pytest.raises(SslAuthenticationFailed, match="issued by nobody we trust"),
        Admin(**stranger) as admin,
    ):
        admin.list_topics()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_both_versions_are_spoken(node: SecureNode, version: ssl.TLSVersion) -> None:
    client = RawClient(node.addresses["SSL"])
    context = ssl.create_default_context(cafile=node.authority_path)
    context.minimum_version = context.maximum_version = version
    client.socket = context.wrap_socket(client.socket, server_hostname="127.0.0.1")
    with client:
        assert client.ask(ApiKey.API_VERSIONS, 3, ApiVersionsRequest("test", "1")).error_code == 0


def test_clear_text_is_refused(node: SecureNode) -> None:
    with RawClient(node.addresses["SSL"]) as client:
        client.send(request_frame(ApiKey.API_VERSIONS, 3, ApiVersionsRequest("test", "1")))
        client.socket.settimeout(5)
        said = client.socket.recv(100)
        assert said[:1] in {b"", b"\x15"}, "an alert, or the end"


# Records of TLS and frames of Kafka do not end together


def test_many_requests_in_one_record_are_all_answered(node: SecureNode) -> None:
    """What TLS has opened and nobody has read is told by no event loop."""
    frame = request_frame(ApiKey.API_VERSIONS, 3, ApiVersionsRequest("test", "1"))
    with node.connect("SSL") as client:
        client.send(frame * 200)
        for _ in range(200):
            assert client.read_frame()


def test_a_request_behind_a_long_one_is_answered(node: SecureNode) -> None:
    """The end of the long one and the next one are in the same record."""
    topics = [MetadataRequestTopic(name=f"{n:0200}") for n in range(1_500)]
    long = request_frame(
        ApiKey.METADATA, 9, MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    )
    short = request_frame(ApiKey.API_VERSIONS, 3, ApiVersionsRequest("test", "1"))
    assert len(long) > 256 * 1024
    with node.connect("SSL") as client:
        for rest in (0, 1, 100):
            client.send(short * 3 + long + short)
            for _ in range(5):
                assert client.read_frame()
            client.send(short[:rest])
            client.send(short[rest:])
            assert client.read_frame()


def test_a_request_in_records_of_one_byte(node: SecureNode) -> None:
    frame = request_frame(ApiKey.API_VERSIONS, 3, ApiVersionsRequest("test", "1"))
    with node.connect("SSL") as client:
        for byte in frame:
            client.send(bytes([byte]))
        assert client.read_frame()


def test_a_client_that_reads_slowly_gets_everything(node: SecureNode) -> None:
    """Pieces that TLS did not take are offered again, and the loop serves others meanwhile."""
    value = bytes(range(256)) * 4_000
    with RawClient(node.addresses["PLAINTEXT"]) as client:
        client.create_topic("slow")
        for _ in range(8):
            assert client.produce("slow", batch_of(value)).error_code == 0
    settings = node.client("SSL") | {"receive_buffer_bytes": 4096}
    with Consumer(**settings, auto_offset_reset="earliest") as consumer:
        consumer.assign([("slow", 0)])
        assert [record.value for record in read(consumer, 8)] == [value] * 8


# What is on the wire


@contextmanager
def recorded(address: str) -> Iterator[tuple[str, list[bytes]]]:
    """The address of a proxy before `address`, and all that passes it in both directions."""
    host, _, port = address.rpartition(":")
    passed: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening, ExitStack() as open_sockets:

        def pump(source: socket.socket, target: socket.socket) -> None:
            with suppress(OSError):
                while data := source.recv(1 << 16):
                    passed.append(data)
                    target.sendall(data)
            with suppress(OSError):
                target.shutdown(socket.SHUT_WR)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    near, _ = listening.accept()
                    far = socket.create_connection((host, int(port)))
                    for each in (near, far):
                        open_sockets.enter_context(each)
                    for pair in ((near, far), (far, near)):
                        threading.Thread(target=pump, args=pair, daemon=True).start()

        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}", passed
        listening.shutdown(socket.SHUT_RDWR)
        accepting.join(LONG_ENOUGH_S)


def fetched_through(address: str, context: ssl.SSLContext | None) -> tuple[bytes, bytes]:
    """What a client reads of a large fetch, and what passed on the wire."""
    from millstream.protocol.generated.fetch import FetchPartition, FetchRequest, FetchTopic

    fetch = FetchRequest(
        max_wait_ms=1_000,
        min_bytes=1,
        max_bytes=64 << 20,
        topics=[
            FetchTopic(
                topic="wire",
                partitions=[
                    FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=64 << 20)
                ],
            )
        ],
    )
    with recorded(address) as (proxy, passed):
        with RawClient(proxy) as client:
            if context is not None:
                client.socket = context.wrap_socket(client.socket, server_hostname="127.0.0.1")
            client.send(request_frame(ApiKey.FETCH, 12, fetch))
            answer = client.read_frame()
        return answer, b"".join(passed)


def test_nothing_of_a_large_fetch_is_in_clear_on_the_wire(node: SecureNode) -> None:
    """Long stretches of log files are what a plain listener sends with sendfile, past everything."""
    mark = b"nobody but the client may read this: "
    with RawClient(node.addresses["PLAINTEXT"]) as client:
        client.create_topic("wire")
        for _ in range(8):
            assert client.produce("wire", batch_of(mark * 20_000)).error_code == 0
    clear_answer, clear = fetched_through(node.addresses["PLAINTEXT"], None)
    context = ssl.create_default_context(cafile=node.authority_path)
    answer, sealed = fetched_through(node.addresses["SSL"], context)
    assert answer[4:] == clear_answer[4:]
    assert answer.count(mark) == 160_000
    assert len(sealed) > len(answer) > 5 << 20
    assert clear.count(mark) > 150_000, "this test can see it"
    assert mark[:20] not in sealed
    assert b"wire" not in sealed


# Handshakes


def test_who_stops_half_way_keeps_nobody_waiting(
    node: SecureNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More of them than may be open, who make room, and who means it is served."""
    open_max = 200  # this process has both ends of each
    monkeypatch.setattr("millstream.net.server.handshakes.OPEN_MAX", open_max)
    hello = client_hello()
    with ExitStack() as silent:
        for n in range(open_max + 60):
            half = silent.enter_context(
                socket.create_connection(split(node.addresses["SSL"]), timeout=LONG_ENOUGH_S)
            )
            half.sendall(hello[: (0, 20, len(hello))[n % 3]])
        begin = time.monotonic()
        for _ in range(5):
            with node.connect("SSL") as client:
                assert client.ask(ApiKey.API_VERSIONS, 3, ApiVersionsRequest("test", "1"))
        took_s = time.monotonic() - begin
    assert took_s < 10, "an hour of half handshakes would pass before the tenth second"


def split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)


# Stores that change


def set_for(node: SecureNode, **changes: str) -> None:
    """Sets keys of the store of listener SSL, such as keystore_location."""
    configs = [
        AlterConfig(f"listener.name.ssl.ssl.{key.replace('_', '.')}", value)
        for key, value in changes.items()
    ]
    resource = ConfigResource(ConfigResourceType.BROKER, "1")
    with Admin(bootstrap_servers=node.addresses["PLAINTEXT"]) as admin:
        admin.incremental_alter_configs({resource: configs}).raise_errors()


def test_a_new_key_store_counts_for_new_connections(node: SecureNode) -> None:
    """A file that was written again is read when the same value is set again, as in Kafka."""
    with node.connect("SSL") as old:
        before = node.serial_number()
        again = node.authority.issue("again")
        again.write_bytes(node.authority.issue("broker").read_bytes())
        set_for(node, keystore_location=str(again))
        wait_until(lambda: node.serial_number() != before)
        second = node.serial_number()
        again.write_bytes(node.authority.issue("broker").read_bytes())
        assert node.serial_number() == second, "nobody has said so yet"
        set_for(node, keystore_location=str(again))
        wait_until(lambda: node.serial_number() not in {before, second})
        assert old.ask(ApiKey.API_VERSIONS, 3, ApiVersionsRequest("test", "1"))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"keystore_location": "{directory}/client.pem"}, "is for CN=client and not for CN=broker: ssl.allow.dn.changes=true"),
        ({"keystore_location": "{directory}/elsewhere.pem"}, "lacks 1 of the 1 alternative names"),
        ({"keystore_location": "{directory}/missing.pem"}, "No such file"),
        ({"keystore_location": "{directory}/test-authority.pem"}, "has no private keys"),
        ({"keystore_type": "JKS"}, "this version reads PEM only"),
        ({"keystore_location": ""}, "cannot be removed"),
    ],
)  # fmt: skip
def test_a_store_that_does_not_fit_is_refused_and_changes_nothing(
    node: SecureNode, changes: dict[str, str], sentence: str
) -> None:
    own = Path(node.path("broker"))
    kept = own.read_bytes()
    elsewhere = node.authority.issue("broker", host="elsewhere.example").read_bytes()
    Path(node.path("elsewhere")).write_bytes(elsewhere)
    own.write_bytes(kept)
    before = node.serial_number()
    filled = {key: value.format(directory=node.directory) for key, value in changes.items()}
    with pytest.raises(InvalidRequest, match=sentence):
        set_for(node, **filled)
    assert node.serial_number() == before


def read(consumer: Consumer, count: int) -> list[Any]:
    found: list[Any] = []
    deadline = time.monotonic() + LONG_ENOUGH_S
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} records came"
        found += consumer.poll(timeout_ms=500)
    return found


# Clients of others


VALUES = [bytes([n]) * 100_000 for n in range(20)]


@pytest.mark.parametrize("certificate", [None, "client"])
def test_our_clients(node: SecureNode, certificate: str | None) -> None:
    listener = "MUTUAL" if certificate else "SSL"
    topic = f"ours-{listener}"
    settings = node.client(listener, certificate)
    with Producer(**settings) as producer:
        for value in VALUES:
            producer.send(topic, value)
        producer.flush()
    with Consumer(**settings, auto_offset_reset="earliest", group_id=topic) as consumer:
        consumer.subscribe([topic])
        assert [record.value for record in read(consumer, len(VALUES))] == VALUES


@pytest.mark.parametrize("certificate", [None, "client"])
def test_librdkafka(node: SecureNode, certificate: str | None) -> None:
    confluent = pytest.importorskip("confluent_kafka")
    listener = "MUTUAL" if certificate else "SSL"
    settings = {
        "bootstrap.servers": node.addresses[listener],
        "security.protocol": "SSL",
        "ssl.ca.location": node.authority_path,
    }
    if certificate:
        settings |= {
            "ssl.certificate.location": node.path(certificate),
            "ssl.key.location": node.path(certificate),
        }
    topic = f"librdkafka-{listener}"
    producer = confluent.Producer(settings)
    for value in VALUES:
        producer.produce(topic, value)
    assert producer.flush(LONG_ENOUGH_S) == 0
    consumer = confluent.Consumer({**settings, "group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    found = []
    deadline = time.monotonic() + LONG_ENOUGH_S
    while len(found) < len(VALUES) and time.monotonic() < deadline:
        message = consumer.poll(0.5)
        if message is not None and message.error() is None:
            found.append(message.value())
    consumer.close()
    assert found == VALUES


@pytest.mark.parametrize("certificate", [None, "client"])
def test_kafka_python(node: SecureNode, certificate: str | None) -> None:
    kafka = pytest.importorskip("kafka")
    listener = "MUTUAL" if certificate else "SSL"
    settings: dict[str, Any] = {
        "bootstrap_servers": node.addresses[listener],
        "security_protocol": "SSL",
        "ssl_cafile": node.authority_path,
    }
    if certificate:
        settings |= dict.fromkeys(("ssl_certfile", "ssl_keyfile"), node.path(certificate))
    topic = f"kafka-python-{listener}"
    with closing(kafka.KafkaProducer(**settings)) as producer:
        for value in VALUES:
            producer.send(topic, value)
        producer.flush(LONG_ENOUGH_S)
    consumer = kafka.KafkaConsumer(topic, **settings, auto_offset_reset="earliest")
    with closing(consumer):
        assert [next(consumer).value for _ in VALUES] == VALUES


@pytest.mark.parametrize("certificate", [None, "client"])
async def test_aiokafka(node: SecureNode, certificate: str | None) -> None:
    aiokafka = pytest.importorskip("aiokafka")
    listener = "MUTUAL" if certificate else "SSL"
    context = ssl.create_default_context(cafile=node.authority_path)
    if certificate:
        context.load_cert_chain(node.path(certificate))
    settings = {
        "bootstrap_servers": node.addresses[listener],
        "security_protocol": "SSL",
        "ssl_context": context,
    }
    topic = f"aiokafka-{listener}"
    async with aiokafka.AIOKafkaProducer(**settings) as producer:
        for value in VALUES:
            await producer.send_and_wait(topic, value)
    async with aiokafka.AIOKafkaConsumer(
        topic, **settings, auto_offset_reset="earliest"
    ) as consumer:
        assert [(await consumer.getone()).value for _ in VALUES] == VALUES


def test_a_size_that_no_frame_has_ends_the_connection(node: SecureNode) -> None:
    with node.connect("SSL") as client:
        client.send(struct.pack(">i", -1))
        assert client.is_closed_by_broker()


def test_the_pages_are_for_who_shows_a_certificate(node: SecureNode) -> None:
    context = ssl.create_default_context(cafile=node.authority_path)
    context.check_hostname = False
    with pytest.raises((ssl.SSLError, ConnectionError, HTTPException)):
        asked(f"https://{node.pages}/livez", context)
    context.load_cert_chain(node.path("client"))
    assert asked(f"https://{node.pages}/livez", context) == b'{"status": "alive"}\n'
    with pytest.raises((OSError, HTTPException)):
        asked(f"http://{node.pages}/livez", None)


def asked(url: str, context: ssl.SSLContext | None) -> bytes:
    try:
        with urlopen(url, timeout=LONG_ENOUGH_S, context=context) as response:
            content: bytes = response.read()
            return content
    except URLError as error:
        if isinstance(error.reason, Exception):
            raise error.reason from error
        raise
