"""Which bearer tokens are believed. Each lie that let tokens in somewhere has its case (CVE-2026-33557 and its older relatives)."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from functools import cache
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from millstream.broker.config.sasl_settings import BearerSettings
from millstream.broker.login.jwt_validation import IssuerKey, TokenValidator, read_keys
from millstream.security.login.oauthbearer_server import BearerIdentity, BearerTokenRefused

NOW_S = 1_000_000
SETTINGS = BearerSettings(
    jwks_url="https://issuer.example/keys",
    issuer="https://issuer.example",
    audiences=("kafka", "other"),
    name_claim="sub",
    clock_skew_s=30,
    refresh_ms=1,
    retry_backoff_ms=1,
    retry_backoff_max_ms=1,
)
CLAIMS: dict[str, Any] = {
    "iss": "https://issuer.example",
    "aud": "kafka",
    "sub": "alice",
    "iat": NOW_S,
    "exp": NOW_S + 600,
}
CURVES = {"ES256": ec.SECP256R1, "ES384": ec.SECP384R1, "ES512": ec.SECP521R1}
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", *CURVES, "EdDSA"]


@cache
def private_key(kind: str, bits: int = 2048) -> Any:
    if kind == "EdDSA":
        return ed25519.Ed25519PrivateKey.generate()
    if kind in CURVES:
        return ec.generate_private_key(CURVES[kind]())
    return rsa.generate_private_key(65537, bits)


def family(algorithm: str) -> str:
    return algorithm if algorithm in CURVES or algorithm == "EdDSA" else "RSA"


def public_jwk(algorithm: str, key: Any = None, **more: object) -> dict[str, Any]:
    key = key or private_key(family(algorithm))
    written = jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key(), as_dict=True)
    return {"kid": algorithm, "use": "sig", **written, **more}


KEYS = read_keys(json.dumps({"keys": [public_jwk(each) for each in ALGORITHMS]}).encode())


class Keys:
    def __init__(self, keys: dict[str, IssuerKey] | None = None) -> None:
        self._keys = KEYS if keys is None else keys
        self.asked: list[str] = []

    def find(self, key_id: str) -> IssuerKey | None:
        self.asked.append(key_id)
        return self._keys.get(key_id)


def token(
    algorithm: str = "RS256", header: dict[str, Any] | None = None, key: Any = None, **claims: Any
) -> str:
    payload = {name: value for name, value in {**CLAIMS, **claims}.items() if value is not None}
    return jwt.encode(
        payload,
        key or private_key(family(algorithm)),
        algorithm,
        {"kid": algorithm, **(header or {})},
    )


def validate(
    text: str, settings: BearerSettings = SETTINGS, keys: Keys | None = None
) -> BearerIdentity:
    return TokenValidator(settings, keys or Keys(), lambda: NOW_S * 1000).validate(text)


def bare(header: dict[str, Any], payload: dict[str, Any], signature: bytes = b"") -> str:
    parts = (json.dumps(header).encode(), json.dumps(payload).encode(), signature)
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_signed_token_is_believed_until_it_ends(algorithm: str) -> None:
    assert validate(token(algorithm)) == BearerIdentity("alice", (NOW_S + 600) * 1000)


@pytest.mark.parametrize("audience", ["other", ["nobody", "kafka"]])
def test_one_of_the_audiences_is_enough(audience: object) -> None:
    assert validate(token(aud=audience)).name == "alice"


def test_another_claim_may_name_the_user() -> None:
    settings = replace(SETTINGS, name_claim="email")
    assert validate(token(email="a@example.com", sub=7), settings).name == "a@example.com"


def test_a_name_that_cannot_be_written_is_none() -> None:
    """Half a surrogate pair: it could not be passed on to a controller, nor be told by metrics."""
    with pytest.raises(BearerTokenRefused, match="its claim sub is no name"):
        validate(token(sub="alice\ud800"))


def test_clocks_may_differ_a_little() -> None:
    assert validate(token(exp=NOW_S - 29)).expires_at_ms == (NOW_S - 29) * 1000
    assert validate(token(iat=NOW_S + 30, nbf=NOW_S + 30)).name == "alice"


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"iss": "https://evil.example"}, "InvalidIssuer"),
        ({"iss": None}, 'missing the "iss" claim'),
        ({"aud": "somebody"}, "InvalidAudience"),
        ({"aud": None}, 'missing the "aud" claim'),
        ({"aud": []}, "aud|InvalidAudience"),
        ({"exp": NOW_S - 31}, "it has expired"),
        ({"exp": None}, 'missing the "exp" claim'),
        ({"exp": 1 << 70}, "exp is no time"),
        ({"exp": float("inf")}, "exp is no time"),
        ({"exp": float("nan")}, "exp is no time"),
        ({"iat": "soon"}, "iat is no time"),
        ({"iat": True}, "iat is no time"),
        ({"iat": NOW_S + 31}, "issued later than now"),
        ({"iat": None}, 'missing the "iat" claim'),
        ({"nbf": NOW_S + 31}, "not valid yet"),
        ({"sub": None}, "sub is no name"),
        ({"sub": ""}, "sub is no name"),
        ({"sub": "  "}, "sub is no name"),
        ({"sub": 7}, "sub is no name"),
        ({"sub": "x" * 2000}, "sub is no name"),
    ],
)
def test_a_claim_that_does_not_fit_is_refused(claims: dict[str, Any], reason: str) -> None:
    with pytest.raises(BearerTokenRefused, match=reason):
        validate(token(**claims))


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"kid": "unknown"}, "not among those of the issuer"),
        ({"kid": ""}, "no key id"),
        ({"kid": "x" * 1001}, "no key id"),
        ({"kid": "PS256", "alg": "RS256"}, "not one of its key's|Signature"),
        ({"kid": "ES256"}, "not one of its key's"),
        ({"crit": ["exp"], "exp": 1}, "demands|crit|Critical"),
    ],
)
def test_a_header_that_does_not_fit_is_refused(header: dict[str, Any], reason: str) -> None:
    keys = Keys({**KEYS, "PS256": IssuerKey(KEYS["PS256"].key, "PS256")})
    with pytest.raises(BearerTokenRefused, match=reason):
        validate(token(header=header), keys=keys)


def test_a_token_without_a_signature_is_refused() -> None:
    for algorithm in ("none", "None", "NONE", "", None):
        with pytest.raises(BearerTokenRefused):
            validate(bare({"alg": algorithm, "kid": "RS256"}, CLAIMS))


def test_a_public_key_is_no_shared_secret() -> None:
    """Algorithm confusion: HMAC with the bytes of the key that everybody can read."""
    pem = (
        private_key("RSA")
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    header = {"alg": "HS256", "kid": "RS256"}
    signed = bare(header, CLAIMS)[:-1]
    signature = jwt.get_algorithm_by_name("HS256").sign(signed.encode(), pem)
    with pytest.raises(BearerTokenRefused, match="not one of its key's"):
        validate(bare(header, CLAIMS, signature))


def test_the_key_of_another_is_refused() -> None:
    with pytest.raises(BearerTokenRefused, match="Signature"):
        validate(token(key=rsa.generate_private_key(65537, 2048)))


@pytest.mark.parametrize("name", ["jwk", "jku", "x5u", "x5c"])
def test_a_key_that_a_token_brings_along_is_not_looked_at(name: str) -> None:
    own = rsa.generate_private_key(65537, 2048)
    brought: Any = {
        "jwk": public_jwk("RS256", own), "jku": "file:///etc/passwd", "x5u": "http://127.0.0.1/", "x5c": ["AAAA"],
    }[name]  # fmt: skip
    with pytest.raises(BearerTokenRefused, match="Signature"):
        validate(token(header={name: brought}, key=own))


@pytest.mark.parametrize(
    "text",
    ["", "a", "a.b", "a.b.c", "...", "=.=.=", "\N{SNOWMAN}.a.b", "[" * 50_000, "A" * 60_000 + ".a.b"],
)  # fmt: skip
def test_what_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(BearerTokenRefused):
        validate(text)


def test_a_deep_header_is_refused() -> None:
    deep = base64.urlsafe_b64encode(b"[" * 40_000).decode().rstrip("=")
    with pytest.raises(BearerTokenRefused):
        validate(f"{deep}.e30.e30")


def test_a_refusal_quotes_no_part_of_the_token() -> None:
    text = token(iss="https://evil.example")
    with pytest.raises(BearerTokenRefused) as caught:
        validate(text)
    assert not any(part in str(caught.value) for part in text.split("."))


# Key sets


def test_only_keys_that_verify_signatures_are_taken() -> None:
    rsa_key = private_key("RSA")
    secret = {
        "kid": "private",
        **jwt.get_algorithm_by_name("RS256").to_jwk(rsa_key, as_dict=True),
    }
    listed = [
        public_jwk("RS256"),
        {"kty": "oct", "kid": "secret", "k": "c2VjcmV0"},
        secret,
        public_jwk("RS256", private_key("RSA", 1024), kid="weak"),
        public_jwk("RS256", kid="encryption", use="enc"),
        public_jwk("RS256", kid="other", alg="none"),
        {**public_jwk("RS256"), "kid": None},
        {"kty": "XYZ", "kid": "strange"},
        {"kid": "nothing"},
        {"kty": "RSA", "kid": "no number", "n": "!", "e": ""},
        {"kty": "EC", "kid": "no point", "crv": "P-256", "x": "AA", "y": "AA"},
        "text",
        None,
    ]
    assert list(read_keys(json.dumps({"keys": listed}).encode())) == ["RS256"]


@pytest.mark.parametrize(
    "document", [b"", b"[]", b"{}", b'{"keys": 1}', b"\xff", b"<html>", b"[" * 100_000]
)
def test_what_is_no_key_set_is_refused(document: bytes) -> None:
    with pytest.raises(ValueError, match="no JSON Web Key Set"):
        read_keys(document)
