"""Judges a bearer token: a signed JSON Web Token of the configured issuer, for the configured audience, of
this time (KIP-768, KIP-1139).

PyJWT takes tokens apart and verifies signatures. What is stricter than Kafka's validator: algorithms are the asymmetric
ones of the list below, each with its own type of key; issuer and audience are required; keys come from the configured
URL alone, whatever a token says of keys in its header. Imported only where a listener has OAUTHBEARER: PyJWT and
cryptography are an extra.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from millstream.broker.config.sasl_settings import BearerSettings
from millstream.security.login.oauthbearer_server import BearerIdentity, BearerTokenRefused

PublicKey = RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey | Ed448PublicKey
RSA_BITS_MIN: Final = 2048
"""RFC 7518, section 3.3."""
_CURVES: Final = {"ES256": "secp256r1", "ES384": "secp384r1", "ES512": "secp521r1"}
_RSA: Final = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
Json = Mapping[str, Any]  # Any: a stranger wrote it; each part is looked at before it is used
_WORD_BYTES_MAX: Final = 1_000
"""Kafka's limit of a key id; of names the same."""


@dataclass(frozen=True, slots=True)
class IssuerKey:
    """A public key of an issuer, and the algorithm it is for, where the issuer says one."""

    key: PublicKey
    algorithm: str | None = None

    def allows(self, algorithm: str) -> bool:
        """Whether signatures by `algorithm` may be verified with this key: never one that
        was made for another type of key.
        """
        if self.algorithm not in {None, algorithm}:
            return False
        if isinstance(self.key, RSAPublicKey):
            return algorithm in _RSA
        if isinstance(self.key, EllipticCurvePublicKey):
            return _CURVES.get(algorithm) == self.key.curve.name
        return algorithm == "EdDSA"


class IssuerKeys(Protocol):
    """The public keys of issuers, by key id. Asked in a thread."""

    def find(self, key_id: str) -> IssuerKey | None:
        """None for one that is not known, which is then looked for."""
        ...


class TokenValidator:
    def __init__(
        self, settings: BearerSettings, keys: IssuerKeys, wall_ms: Callable[[], int]
    ) -> None:
        self._settings = settings
        self._keys = keys
        self._wall_ms = wall_ms

    def validate(self, token: str) -> BearerIdentity:
        """Returns whom the token stands for. Raises BearerTokenRefused."""
        try:
            header = jwt.get_unverified_header(token)
            algorithm, key = self._key(header)
            claims: Json = jwt.decode(
                token,
                cast("Any", key),  # Any: PyJWT's type of keys names all that may sign too
                algorithms=[algorithm],
                audience=self._settings.audiences,
                issuer=self._settings.issuer,
                options={
                    "require": ["exp", "iat", "iss", "aud"],
                    "verify_exp": False,  # these three by our own clock, see _check_times
                    "verify_iat": False,
                    "verify_nbf": False,
                    "verify_sub": False,  # the claim may be another one
                },
            )
        except jwt.PyJWTError as error:
            raise BearerTokenRefused(f"{type(error).__name__}, {error}") from None
        except (ValueError, TypeError, RecursionError) as error:
            raise BearerTokenRefused(f"it cannot be read ({type(error).__name__})") from None
        return BearerIdentity(self._name(claims), self._check_times(claims))

    def _key(self, header: Json) -> tuple[str, PublicKey]:
        key_id, algorithm = header.get("kid"), header.get("alg")
        if not isinstance(key_id, str) or not 0 < len(key_id) <= _WORD_BYTES_MAX:
            raise BearerTokenRefused("its header has no key id of at most 1000 characters")
        found = self._keys.find(key_id)
        if found is None:
            raise BearerTokenRefused("its key id is not among those of the issuer")
        if not isinstance(algorithm, str) or not found.allows(algorithm):
            raise BearerTokenRefused("its algorithm is not one of its key's")
        if "crit" in header:
            raise BearerTokenRefused("its header demands what is not known here")
        return algorithm, found.key

    def _name(self, claims: Json) -> str:
        name = claims.get(self._settings.name_claim)
        if not isinstance(name, str) or not name.strip() or len(name) > _WORD_BYTES_MAX:
            raise BearerTokenRefused(f"its claim {self._settings.name_claim} is no name")
        if any("\ud800" <= each <= "\udfff" for each in name):
            # JSON may have half a surrogate pair, which is no text: no envelope, answer or page could say who this is.
            raise BearerTokenRefused(f"its claim {self._settings.name_claim} is no name")
        return name

    def _check_times(self, claims: Json) -> int:
        """Returns when the token ends, in milliseconds since 1970."""
        now_s, skew_s = self._wall_ms() / 1000, self._settings.clock_skew_s
        ends_s = _seconds(claims, "exp")
        if ends_s <= now_s - skew_s:
            raise BearerTokenRefused("it has expired")
        if _seconds(claims, "iat") > now_s + skew_s:
            raise BearerTokenRefused("it was issued later than now")
        if "nbf" in claims and _seconds(claims, "nbf") > now_s + skew_s:
            raise BearerTokenRefused("it is not valid yet")
        return int(ends_s * 1000)


def read_keys(document: bytes) -> dict[str, IssuerKey]:
    """Returns the keys of a JSON Web Key Set (RFC 7517) that signatures can be verified with, by
    key id; others are left out.

    Raises ValueError for what is no key set.
    """
    try:
        listed = json.loads(document)["keys"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError("it is no JSON Web Key Set") from None
    if not isinstance(listed, list):
        raise ValueError("it is no JSON Web Key Set")  # noqa: TRY004 - a document is at fault, not a caller
    found = {}
    for each in listed:
        key = _read_key(each)
        if key is not None:
            found[each["kid"]] = key
    return found


def _read_key(written: object) -> IssuerKey | None:
    """None for a key that is secret, private, weak, for encryption, without an id, or of a type that is not known."""
    if not isinstance(written, dict) or not isinstance(written.get("kid"), str):
        return None
    if written.get("use", "sig") != "sig" or written.get("kty") == "oct" or "d" in written:
        return None
    try:
        key = jwt.PyJWK(written).key
    except (
        jwt.PyJWTError,
        ArithmeticError,
        LookupError,
        NotImplementedError,
        TypeError,
        ValueError,
    ):
        return None  # a number that is none, a curve that is not known: one key less
    if isinstance(key, RSAPublicKey) and key.key_size < RSA_BITS_MIN:
        return None
    if not isinstance(
        key, RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey | Ed448PublicKey
    ):
        return None
    algorithm = written.get("alg")
    return IssuerKey(key, algorithm if isinstance(algorithm, str) else None)


def _seconds(claims: Json, name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BearerTokenRefused(f"its claim {name} is no time")
    if isinstance(value, float) and not math.isfinite(value):
        raise BearerTokenRefused(f"its claim {name} is no time")
    if abs(value) >= _SECONDS_MAX:
        raise BearerTokenRefused(f"its claim {name} is no time")
    return float(value)


_SECONDS_MAX: Final = 1 << 40
"""Beyond the year 30,000; as milliseconds it fits into the answer's 64 bits."""
