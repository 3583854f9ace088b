"""Throws broken logins at what judges them: `python -m tests.fuzz.logins --count 1000000 --seed 1`, a count of messages.

Each connection begins a login by one of all mechanisms, as a client with a wrong secret does it. One message in three is broken, left
out, repeated, or comes from another login. A run fails when something is raised, a login takes longer than `SLOW_S`, memory grows, or
somebody is let in.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Final

import jwt
import psutil
from cryptography.hazmat.primitives.asymmetric import ec

from millstream.broker.config.sasl_settings import BearerSettings
from millstream.broker.login.jwt_validation import IssuerKey, TokenValidator
from millstream.errors import MillstreamError
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.frames import encode_request
from millstream.protocol.generated.api_versions import ApiVersionsRequest
from millstream.protocol.generated.metadata import MetadataRequest
from millstream.protocol.generated.sasl_authenticate import SaslAuthenticateRequest
from millstream.protocol.generated.sasl_handshake import SaslHandshakeRequest
from millstream.runtime import Instant
from millstream.security.login.login import (
    GoOn,
    LoggedIn,
    Login,
    LoginAction,
    Mechanism,
    TurnAway,
    WorkFirst,
)
from millstream.security.login.mechanism import PlainServer
from millstream.security.login.oauthbearer_server import OAuthBearerServer
from millstream.security.login.scram_server import ScramServer, ScramVerifier
from millstream.security.sasl_scram import ScramClient
from millstream.security.scram import ScramMechanism
from tests.fuzz.requests import BREAKAGES
from tests.unit.security.login.verifiers import FixedVerifiers

SLOW_S: Final = 1.0
GUESS: Final = "guessed"
NOW: Final = Instant(1_700_000_000_000, 0)
_KEPT: Final = 64
"""Messages of earlier logins that come again."""
_TOKENS: Final = FixedVerifiers({}, {"token-1": "carol"})
_USERS: Final = FixedVerifiers({"alice": "wonder"}, {})


class _Verifiers:
    """Computes the keys of each user once: this is not a measurement of PBKDF2."""

    @staticmethod
    @cache
    def of_user(mechanism: ScramMechanism, name: str) -> ScramVerifier | None:
        return _USERS.of_user(mechanism, name)

    def of_anybody(self, mechanism: ScramMechanism) -> ScramVerifier | None:
        return self.of_user(mechanism, "alice")

    @staticmethod
    @cache
    def of_token(
        mechanism: ScramMechanism, token_id: str
    ) -> ScramVerifier | Callable[[], ScramVerifier] | None:
        found = _TOKENS.of_token(mechanism, token_id)
        return found if found is None or isinstance(found, ScramVerifier) else found()


class _OneKey:
    def __init__(self, key: IssuerKey) -> None:
        self._key = key

    def find(self, key_id: str) -> IssuerKey | None:
        return self._key if key_id == "k" else None


def _bearer_settings() -> BearerSettings:
    return BearerSettings(
        jwks_url="https://issuer/keys", issuer="https://issuer", audiences=("kafka",), name_claim="sub", clock_skew_s=30,
        refresh_ms=1, retry_backoff_ms=1, retry_backoff_max_ms=1,
    )  # fmt: skip


def mechanisms(issuer: ec.EllipticCurvePrivateKey, password: str) -> dict[str, Mechanism]:
    validator = TokenValidator(
        _bearer_settings(), _OneKey(IssuerKey(issuer.public_key())), lambda: NOW.wall_ms
    )
    made = {
        each.sasl_name: Mechanism(lambda each=each: ScramServer(each, _Verifiers(), "server", b"secret"))  # type: ignore[misc]  # a default binds it
        for each in ScramMechanism
    }  # fmt: skip
    made["PLAIN"] = Mechanism(lambda: PlainServer({"alice": password}))
    made["OAUTHBEARER"] = Mechanism(lambda: OAuthBearerServer(validator.validate), 60_000)
    return made


@dataclass
class Report:
    """`findings` are sentences; empty when all is well."""

    messages: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)
    grown_mb: float = 0.0

    def __str__(self) -> str:
        told = ", ".join(f"{count} {what}" for what, count in sorted(self.outcomes.items()))
        return f"{self.messages} messages: {told}; memory grew by {self.grown_mb:.0f} MB; {len(self.findings)} findings"


def frame(key: ApiKey, version: int, message: Message) -> bytes:
    pieces = encode_request(key, version, 1, "fuzz", message)
    return b"".join(bytes(piece) for piece in pieces)[4:]  # type: ignore[arg-type]  # no splices here


class _Thrower:
    def __init__(self, report: Report, seed: int, password: str) -> None:
        self._report = report
        self._random = random.Random(seed)
        self._issuer = ec.generate_private_key(ec.SECP256R1())
        self._stranger = ec.generate_private_key(ec.SECP256R1())
        self._mechanisms = mechanisms(self._issuer, password)
        self._kept: list[bytes] = []
        self._bearer_tokens = [self._bearer_token() for _ in range(_KEPT)]

    def one_login(self) -> None:
        """Goes on with one connection until it is turned away, or its client is at its end."""
        login = Login(self._mechanisms, NOW)
        answer = b""
        client = self._client()
        message = next(client)
        for _ in range(8):
            action = self._throw(login, self._broken(message))
            if action is None or isinstance(action, TurnAway):
                return
            if isinstance(action, GoOn):
                answer = b"".join(bytes(piece) for piece in action.response)  # type: ignore[arg-type]  # no splices here
            try:
                message = client.send(answer)  # type: ignore[attr-defined]  # a generator
            except (StopIteration, ValueError, MillstreamError):
                message = frame(ApiKey.METADATA, 12, MetadataRequest(topics=None))

    def _throw(self, login: Login, sent: bytes) -> LoginAction | None:
        report = self._report
        report.messages += 1
        started = time.thread_time()
        try:
            action = login.receive(memoryview(sent), NOW)
            if isinstance(action, WorkFirst):
                action = action.do()
        except Exception as error:  # noqa: BLE001 - a finding
            report.findings.append(f"{error!r} left the login\n    frame {sent.hex()}")
            return None
        if time.thread_time() - started > SLOW_S:
            report.findings.append(f"a message took too long\n    frame {sent.hex()[:4000]}")
        if isinstance(action, LoggedIn):
            report.findings.append(f"{action.session.identity} was let in\n    frame {sent.hex()}")
        report.outcomes[type(action).__name__] += 1
        return action

    def _broken(self, message: bytes) -> bytes:
        chance = self._random
        if not message or chance.random() > 1 / 3:
            if len(self._kept) < _KEPT:
                self._kept.append(message)
            else:
                self._kept[chance.randrange(_KEPT)] = message
            return message
        if self._kept and chance.random() < 0.2:
            return chance.choice(self._kept)
        return bytes(chance.choice(BREAKAGES)(bytearray(message), chance))

    def _client(self) -> Iterator[bytes]:
        """The messages of a client that does not know the secret; answers are sent into it."""
        chance = self._random
        if chance.random() < 0.3:
            yield frame(ApiKey.API_VERSIONS, 3, ApiVersionsRequest("fuzz", "1"))
        name = chance.choice([*self._mechanisms, "GSSAPI"])
        version = chance.choice((0, 1, 1))
        yield frame(ApiKey.SASL_HANDSHAKE, version, SaslHandshakeRequest(name))
        if name.startswith("SCRAM"):
            mechanism = next(each for each in ScramMechanism if each.sasl_name == name)
            user = chance.choice(("alice", "nobody", "token-1", "a,b=c"))
            scram = ScramClient(mechanism, user, GUESS, "nonce", token_auth=user == "token-1")
            answer = yield _token(version, self._broken_token(scram.first()))  # type: ignore[func-returns-value, misc]  # a generator's answer
            final = scram.answer(_challenge(version, answer))
            if final is not None:
                yield _token(version, self._broken_token(final))
        elif name == "OAUTHBEARER":
            message = f"n,,\x01auth=Bearer {chance.choice(self._bearer_tokens)}\x01\x01"
            yield _token(version, self._broken_token(message.encode()))
            yield _token(version, b"\x01")
        else:
            yield _token(version, self._broken_token(f"\0alice\0{GUESS}".encode()))

    def _broken_token(self, token: bytes) -> bytes:
        if self._random.random() < 0.5:
            return token
        return bytes(self._random.choice(BREAKAGES)(bytearray(token), self._random))

    def _bearer_token(self) -> str:
        """Each is wrong in one point: its signature, key, algorithm, issuer, audience or time."""
        chance, now_s = self._random, NOW.wall_ms // 1000
        claims = {
            "sub": "alice", "iss": "https://issuer", "aud": "kafka", "iat": now_s, "exp": now_s + 600,
        }  # fmt: skip
        key, headers, algorithm = self._issuer, {"kid": "k"}, "ES256"
        match chance.randrange(6):
            case 0:
                key = self._stranger
            case 1:
                headers = {"kid": "other"}
            case 2:
                claims["iss"] = "https://somebody"
            case 3:
                claims["aud"] = "another"
            case 4:
                claims["exp"] = now_s - 600
            case _:
                return jwt.encode(claims, "k" * 64, "HS256", {"kid": "k"})
        return jwt.encode(claims, key, algorithm, headers)


def _token(version: int, token: bytes) -> bytes:
    if version == 0:
        return token
    return frame(ApiKey.SASL_AUTHENTICATE, 1, SaslAuthenticateRequest(token))


def _challenge(version: int, answer: bytes) -> bytes:
    """What the server says is text in the middle of an answer: the client looks for it."""
    at = answer.find(b"r=nonce")
    if at < 0:
        raise ValueError("the server says something else")
    return (
        answer[at:]
        if version == 0
        else answer[at : at + int.from_bytes(answer[at - 4 : at], "big")]
    )


def throw(count: int, seed: int, password: str = "wonder") -> Report:
    """`password`: that of the user whom all clients guess at."""
    report = Report()
    thrower = _Thrower(report, seed, password)
    settled_bytes = 0
    while report.messages < count:
        thrower.one_login()
        if not settled_bytes and report.messages > count // 5:
            settled_bytes = psutil.Process().memory_info().rss
    report.grown_mb = (psutil.Process().memory_info().rss - settled_bytes) / 1e6
    return report


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--growth-mb", type=float, default=50.0)
    options = parser.parse_args(arguments)
    report = throw(options.count, options.seed)
    if report.grown_mb > options.growth_mb:
        report.findings.append(f"memory grew by {report.grown_mb:.0f} MB")
    for finding in report.findings[:20]:
        sys.stdout.write(f"{finding}\n\n")
    sys.stdout.write(f"{report}\n")
    return 1 if report.findings else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
