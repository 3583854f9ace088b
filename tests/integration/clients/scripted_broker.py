"""A broker that does what a test says: ApiVersions, SASL and Metadata, over TLS or without, in the test's own loop."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from millstream.protocol.api import VERSIONS, ApiKey, Message
from millstream.protocol.frames import decode_request, encode_response
from millstream.protocol.generated.api_versions import ApiVersion, ApiVersionsResponse
from millstream.protocol.generated.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from millstream.protocol.generated.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from millstream.protocol.generated.sasl_handshake import (
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from millstream.security.scram import (
    ScramMechanism,
    client_proof,
    salted_password,
    scram_keys,
    server_signature,
)

SPOKEN = (
    ApiKey.API_VERSIONS,
    ApiKey.METADATA,
    ApiKey.SASL_HANDSHAKE,
    ApiKey.SASL_AUTHENTICATE,
)
REQUEST_BYTES_MAX = 100 * 1024 * 1024
"""As Kafka's socket.request.max.bytes: what comes from a client that speaks TLS looks larger."""
SALT = b"sixteen bytes.."
Answer = Callable[[Message], Message | None]
"""None: hang up."""


@dataclass
class Script:
    """`answers` replace or add to what the broker says by itself."""

    mechanisms: tuple[str, ...] = ()
    passwords: Mapping[str, str] = field(default_factory=lambda: {"alice": "wonder"})
    session_lifetime_ms: int = 0
    topics: tuple[str, ...] = ("t",)
    topic_errors: dict[str, int] = field(default_factory=dict)
    answers: dict[ApiKey, Answer] = field(default_factory=dict)


@dataclass
class ScriptedBroker:
    script: Script
    tls: ssl.SSLContext | None = None
    address: str = ""
    requests: list[tuple[int, ApiKey]] = field(default_factory=list)
    """(number of the connection, API)."""
    connection_count: int = 0
    tokens: list[bytes] = field(default_factory=list)
    """What clients sent in SaslAuthenticate."""

    def keys(self) -> list[ApiKey]:
        return [key for _, key in self.requests]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connection_count += 1
        number = self.connection_count
        exchange = Exchange(self.script)
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                if size > REQUEST_BYTES_MAX:
                    return
                header, request = decode_request(memoryview(await reader.readexactly(size)))
                key = ApiKey(header.request_api_key)
                self.requests.append((number, key))
                answer = self._answer(key, request, exchange)
                if answer is None:
                    return
                pieces = encode_response(
                    key, header.request_api_version, header.correlation_id, answer
                )
                writer.writelines(pieces)  # type: ignore[arg-type]
                await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()

    def _answer(self, key: ApiKey, request: Message, exchange: Exchange) -> Message | None:
        if key in self.script.answers:
            return self.script.answers[key](request)
        if isinstance(request, SaslHandshakeRequest):
            return exchange.handshake(request)
        if isinstance(request, SaslAuthenticateRequest):
            self.tokens.append(bytes(request.auth_bytes))
            return exchange.authenticate(bytes(request.auth_bytes))
        if key is ApiKey.API_VERSIONS:
            spoken = [*SPOKEN, *(k for k in self.script.answers if k not in SPOKEN)]
            return ApiVersionsResponse(
                api_keys=[ApiVersion(k, VERSIONS[k].lowest, VERSIONS[k].highest) for k in spoken]
            )
        if self.script.mechanisms and not exchange.is_done:
            return None
        assert isinstance(request, MetadataRequest)
        return self.metadata(request)

    def metadata(self, request: MetadataRequest) -> MetadataResponse:
        host, port = self.address.rsplit(":", 1)
        names = self.script.topics
        if request.topics is not None:
            names = tuple(topic.name or "" for topic in request.topics)
        partition = MetadataResponsePartition(partition_index=0, leader_id=1, leader_epoch=1)
        topics = []
        for name in names:
            code = self.script.topic_errors.get(name, 0)
            topics.append(
                MetadataResponseTopic(
                    name=name, error_code=code, partitions=[] if code else [partition]
                )
            )
        node = MetadataResponseBroker(node_id=1, host=host, port=int(port))
        return MetadataResponse(brokers=[node], controller_id=1, topics=topics)


class Exchange:
    """SASL on one connection, with the server's side of PLAIN, SCRAM-SHA-256 and OAUTHBEARER."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._mechanism = ""
        self._scram: list[str] = []
        self.is_done = False

    def handshake(self, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
        offered = list(self._script.mechanisms)
        if not offered:
            return SaslHandshakeResponse(34, [])
        self._mechanism, self._scram = request.mechanism, []
        return SaslHandshakeResponse(0 if request.mechanism in offered else 33, offered)

    def authenticate(self, token: bytes) -> SaslAuthenticateResponse:
        if self._mechanism == "SCRAM-SHA-256":
            return self._scram_step(token.decode())
        if self._mechanism == "OAUTHBEARER":
            return self._let_in(token.startswith(b"n,,\x01auth=Bearer good"))
        _, name, password = token.decode().split("\0")
        return self._let_in(self._script.passwords.get(name) == password)

    def _let_in(self, welcome: bool, token: bytes = b"") -> SaslAuthenticateResponse:
        if not welcome:
            return SaslAuthenticateResponse(58, "Authentication failed: go away")
        self.is_done = True
        return SaslAuthenticateResponse(0, None, token, self._script.session_lifetime_ms)

    def _scram_step(self, message: str) -> SaslAuthenticateResponse:
        if not self._scram:
            bare = message.removeprefix("n,,")
            nonce = bare.split(",r=")[1] + "server"
            first = f"r={nonce},s={base64.b64encode(SALT).decode()},i=4096"
            self._scram = [bare, first]
            return SaslAuthenticateResponse(0, None, first.encode(), 0)
        bare, first = self._scram
        name = bare.split(",")[0].removeprefix("n=")
        without_proof, _, proof = message.rpartition(",p=")
        mechanism = ScramMechanism.SCRAM_SHA_256
        password = self._script.passwords[name].encode()
        salted = salted_password(mechanism, password, SALT, 4096)
        auth_message = f"{bare},{first},{without_proof}".encode()
        expected = client_proof(mechanism, salted, auth_message)
        server_key = scram_keys(mechanism, salted).server_key
        signature = server_signature(mechanism, server_key, auth_message)
        return self._let_in(
            base64.b64decode(proof) == expected, b"v=" + base64.b64encode(signature)
        )


@asynccontextmanager
async def scripted_broker(
    script: Script | None = None, tls: ssl.SSLContext | None = None
) -> AsyncIterator[ScriptedBroker]:
    broker = ScriptedBroker(script or Script(), tls)
    server = await asyncio.start_server(broker.serve, "127.0.0.1", 0, ssl=tls)
    host, port = server.sockets[0].getsockname()
    broker.address = f"{host}:{port}"
    try:
        yield broker
    finally:
        server.close()
        await server.wait_closed()
