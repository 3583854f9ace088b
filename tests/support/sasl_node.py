"""A node in this process whose clients must log in, by every mechanism, and an issuer of the tokens that it believes."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

from millstream.broker.config.sasl_settings import VALIDATOR
from millstream.clients.admin import UpsertScramCredential
from millstream.clients.blocking import Admin
from millstream.security.jaas import MODULES
from millstream.security.scram import ScramMechanism
from millstream.testing.node_runner import ThreadNode

USER, PASSWORD = "alice", "wonder"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_ISSUER = "https://issuer.example"
_KEY_ID = "key-1"


@dataclass
class TokenIssuer:
    """Issues signed tokens; its public key is in a file."""

    directory: Path
    key: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )

    def __post_init__(self) -> None:
        algorithm = jwt.algorithms.ECAlgorithm(jwt.algorithms.ECAlgorithm.SHA256)
        public = json.loads(algorithm.to_jwk(self.key.public_key()))
        self.keys = self.directory / "keys.json"
        self.keys.write_text(json.dumps({"keys": [{**public, "kid": _KEY_ID, "use": "sig"}]}))

    def token(self, name: str = USER, lifetime_s: float = 600, **changes: object) -> str:
        now_s = time.time()
        claims = {
            "iss": _ISSUER, "aud": "kafka", "sub": name, "iat": now_s, "exp": now_s + lifetime_s, **changes,
        }  # fmt: skip
        return jwt.encode(claims, self.key, "ES256", {"kid": _KEY_ID})


@dataclass(frozen=True)
class SaslNode:
    bootstrap: str
    open_bootstrap: str
    """A listener of the same node where everybody is served."""
    issuer: TokenIssuer


def settings_of(listener: str, issuer: TokenIssuer, **users: str) -> dict[str, str]:
    """Returns what a listener needs to let users in by every mechanism."""
    options = " ".join(f'user_{name}="{password}"' for name, password in users.items())
    prefix = f"listener.name.{listener.lower()}"
    return {
        f"{prefix}.sasl.enabled.mechanisms": ",".join(MECHANISMS),
        f"{prefix}.plain.sasl.jaas.config": f"{MODULES['PLAIN']} required {options};",
        f"{prefix}.oauthbearer.sasl.server.callback.handler.class": VALIDATOR,
        f"{prefix}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": issuer.keys.as_uri(),
        f"{prefix}.oauthbearer.sasl.oauthbearer.expected.issuer": _ISSUER,
        f"{prefix}.oauthbearer.sasl.oauthbearer.expected.audience": "kafka",
    }


@contextmanager
def sasl_node(directory: Path, more: Mapping[str, str] | None = None) -> Iterator[SaslNode]:
    """Starts a node with the user of this module, and stops it at the end."""
    issuer = TokenIssuer(directory)
    addresses = {name: f"127.0.0.1:{port}" for name, port in free_ports("SASL_PLAINTEXT", "OPEN")}
    node = ThreadNode(
        {
            "listeners": ",".join(f"{name}://{at}" for name, at in addresses.items()),
            "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT,OPEN:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "OPEN",
            **settings_of("SASL_PLAINTEXT", issuer, **{USER: PASSWORD}),
            "delegation.token.secret.key": "master",
            "millstream.flush.on.ack": "never",
            "group.initial.rebalance.delay.ms": "0",
            "log.dirs": str(directory / "data"),
            **(more or {}),
        }
    )
    node.start(60)
    try:
        with Admin(bootstrap_servers=addresses["OPEN"]) as admin:
            for mechanism in ScramMechanism:
                credential = UpsertScramCredential(USER, mechanism, PASSWORD, 4096)
                admin.alter_user_scram_credentials([credential]).raise_errors()
        yield SaslNode(addresses["SASL_PLAINTEXT"], addresses["OPEN"], issuer)
    finally:
        node.stop()


def free_ports(*names: str) -> list[tuple[str, int]]:
    """Returns a port for each name. Somebody else may take it before it is used, which nobody does in tests."""
    sockets: list[tuple[str, Any]] = [(name, socket.socket()) for name in names]
    for _, sock in sockets:
        sock.bind(("127.0.0.1", 0))
    ports = []
    for name, sock in sockets:
        with closing(sock):
            ports.append((name, int(sock.getsockname()[1])))
    return ports
