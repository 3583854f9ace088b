"""SCRAM from the server's side (RFC 5802, 7677; KIP-84), with delegation tokens (KIP-48).

The arithmetic is in `security.scram`. The grammar of messages is Kafka's: 7-bit text, the header `n,` only, unknown
extensions ignored. Two things are stricter than in Kafka, for which neither is a reason to refuse: what the client says
of channel binding is compared with its header (RFC 5802, section 7), and a name that nobody has gets a salt too and is
refused for its proof, so that names cannot be found out.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from millstream.security.login.mechanism import (
    SaslAccepted,
    SaslChallenge,
    SaslRefused,
    SaslStep,
    SaslWork,
)
from millstream.security.scram import ITERATIONS_MIN, ScramMechanism, server_signature

_NAME_TOLD_MAX: Final = 64
_MESSAGE_BYTES_MAX: Final = 4096
"""A name, two nonces and extensions. Expressions over longer text would keep the loop from others."""
_VALUE: Final = r"[\x01-\x2b\x2d-\x7f]+"
_SASL_NAME: Final = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_NONCE: Final = r"[\x21-\x2b\x2d-\x7e]+"
_EXTENSIONS: Final = rf"(?:,[A-Za-z]+={_VALUE})*"
_BASE64: Final = r"[a-zA-Z0-9/+]*={0,2}"
_CLIENT_FIRST: Final = re.compile(
    rf"(?P<header>n,(?:a=(?P<authzid>{_SASL_NAME}))?,)"
    rf"(?P<bare>(?:m={_VALUE},)?n=(?P<name>{_SASL_NAME}),r=(?P<nonce>{_NONCE})(?P<extensions>{_EXTENSIONS}))"
)
_CLIENT_FINAL: Final = re.compile(
    rf"(?P<without_proof>c=(?P<channel>{_BASE64}),r=(?P<nonce>{_NONCE}){_EXTENSIONS}),p=(?P<proof>{_BASE64})"
)
_TOKEN_AUTH: Final = "tokenauth=true"  # noqa: S105 - an extension of SCRAM, no password


@dataclass(frozen=True, slots=True)
class ScramVerifier:
    """The keys that verify a password, and the user they stand for. `repr` hides the secrets."""

    name: str
    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int
    token_authenticated: bool = False
    expires_at_ms: int | None = None
    is_decoy: bool = False
    """Nobody has this name; whatever the proof is, it is wrong."""


class ScramVerifiers(Protocol):
    """The credentials of a cluster, as this node knows them now."""

    def of_user(self, mechanism: ScramMechanism, name: str) -> ScramVerifier | None: ...
    def of_anybody(self, mechanism: ScramMechanism) -> ScramVerifier | None:
        """Returns the credential of some user, always the same while users stay: names that
        nobody has are to look like it.
        """
        ...

    def of_token(
        self, mechanism: ScramMechanism, token_id: str
    ) -> ScramVerifier | Callable[[], ScramVerifier] | None:
        """A function where it must be computed first, which takes milliseconds."""
        ...


class ScramServer:
    """One exchange. `nonce` is printable, has no comma, and must be unpredictable."""

    def __init__(
        self,
        mechanism: ScramMechanism,
        verifiers: ScramVerifiers,
        nonce: str,
        decoy_secret: bytes,
    ) -> None:
        """`decoy_secret`: what the salts of names are made of that nobody has; it must stay the
        same, and be known to nobody.
        """
        self._mechanism = mechanism
        self._verifiers = verifiers
        self._nonce = nonce
        self._decoy_secret = decoy_secret
        self._verifier: ScramVerifier | None = None
        self._channel = ""
        self._client_first_bare = ""
        self._server_first = ""

    def answer(self, token: bytes) -> SaslStep:
        if len(token) > _MESSAGE_BYTES_MAX:
            return SaslRefused(f"a SCRAM message of {len(token)} bytes")
        try:
            message = token.decode("ascii")
        except UnicodeDecodeError:
            return SaslRefused("a SCRAM message that is not 7-bit text")
        return self._begin(message) if self._verifier is None else self._finish(message)

    def _begin(self, message: str) -> SaslStep:
        found = _CLIENT_FIRST.fullmatch(message)
        if found is None:
            return SaslRefused("the first SCRAM message is none")
        name = found["name"].replace("=2C", ",").replace("=3D", "=")
        if found["authzid"] not in {None, name}:
            return SaslRefused(
                f"user {name[:_NAME_TOLD_MAX]!r} asks to act as another one",
                "Authentication failed: Client requested an authorization id that is different from username",
            )
        self._channel = base64.b64encode(found["header"].encode()).decode()
        self._client_first_bare = found["bare"]
        self._server_first = f"r={found['nonce']}{self._nonce}"
        if _TOKEN_AUTH not in found["extensions"].lower().split(","):
            verifier = self._verifiers.of_user(self._mechanism, name)
            return self._challenge(
                verifier or self._decoy(name, self._verifiers.of_anybody(self._mechanism))
            )
        of_token = self._verifiers.of_token(self._mechanism, name)
        if of_token is None:
            return self._challenge(self._decoy(name, None))
        if isinstance(of_token, ScramVerifier):
            return self._challenge(of_token)
        compute = of_token
        return SaslWork(lambda: self._challenge(compute()))

    def _challenge(self, verifier: ScramVerifier) -> SaslChallenge:
        self._verifier = verifier
        salt = base64.b64encode(verifier.salt).decode()
        self._server_first += f",s={salt},i={verifier.iterations}"
        return SaslChallenge(self._server_first.encode())

    def _finish(self, message: str) -> SaslStep:
        verifier = self._verifier
        assert verifier is not None, "the first message was answered"
        found = _CLIENT_FINAL.fullmatch(message)
        if found is None:
            return SaslRefused("the last SCRAM message is none")
        whole_nonce = self._server_first[2 : self._server_first.index(",")]
        if not hmac.compare_digest(found["nonce"], whole_nonce):
            return SaslRefused(f"user {verifier.name!r} answers another exchange")
        if found["channel"] != self._channel:
            return SaslRefused(f"user {verifier.name!r} tells of another channel binding")
        auth_message = (
            f"{self._client_first_bare},{self._server_first},{found['without_proof']}".encode()
        )
        if not self._proves(verifier, auth_message, found["proof"]):
            return SaslRefused(f"wrong user name or password for {verifier.name!r}")
        signature = server_signature(self._mechanism, verifier.server_key, auth_message)
        return SaslAccepted(
            verifier.name,
            b"v=" + base64.b64encode(signature),
            verifier.token_authenticated,
            verifier.expires_at_ms,
        )

    def _proves(self, verifier: ScramVerifier, auth_message: bytes, proof_text: str) -> bool:
        """Whether the proof is that of the password.

        A decoy is compared as well, for the same time, and never proved.
        """
        try:
            proof = base64.b64decode(proof_text, validate=True)
        except binascii.Error:
            return False
        name = self._mechanism.hash_name
        signature = hmac.digest(verifier.stored_key, auth_message, name)
        if len(proof) != len(signature):
            return False
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        stored_key = hashlib.new(name, client_key).digest()
        return hmac.compare_digest(stored_key, verifier.stored_key) and not verifier.is_decoy

    def _decoy(self, name: str, like: ScramVerifier | None) -> ScramVerifier:
        """Always the same for a name, as a real credential would be, with as long a salt and as many
        iterations as that of `like`.
        """
        salt_bytes = _SALT_BYTES if like is None else len(like.salt)
        iterations = ITERATIONS_MIN if like is None else like.iterations
        keys = hmac.digest(self._decoy_secret, name.encode(), "sha512")
        key = keys[: hashlib.new(self._mechanism.hash_name).digest_size]
        salt = hmac.digest(self._decoy_secret, keys, "sha512")[:salt_bytes]
        return ScramVerifier(name[:_NAME_TOLD_MAX], salt, key, key, iterations, is_decoy=True)


_SALT_BYTES: Final = 26
"""Of the keys of tokens, and about as long as the salts of Kafka and of `format --add-scram`."""
