"""Bearer tokens from a file that somebody else keeps fresh, as Kubernetes does: a file URL as token endpoint (KIP-768).

Java's clients read only the files that a system property of their machine allows, since others may configure them over
HTTP (Connect). Settings here come from the program itself or from a file of its user, who can read the token anyway:
there is no such list.
"""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Final

from millstream.errors import MillstreamError, SaslAuthenticationFailed
from millstream.net.client.core.credentials import FileToken
from millstream.security.sasl_client import OAuthBearerToken, expiry_ms

_BYTES_MAX: Final = 1024 * 1024
_TOKEN_FORM: Final = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")


def token_text(path: str, refusal: type[MillstreamError]) -> str:
    """Returns what a file says, without the space around it. Raises `refusal` where it cannot be read.

    A device without an end is read no further than any token goes. Bytes that no token has are other characters.
    """
    try:
        with Path(path).open("rb") as file:
            return file.read(_BYTES_MAX).decode("ascii", errors="replace").strip()
    except OSError as error:
        raise refusal(f"no token can be read from {path}: {error.strerror or error}") from error


def read_token(source: FileToken) -> OAuthBearerToken:
    """Reads the file as it is now: it may have changed since the last login.

    Raises SaslAuthenticationFailed where it holds no token that says when it expires.
    """
    text = token_text(source.path, SaslAuthenticationFailed)
    if not _is_token(text):
        raise SaslAuthenticationFailed(f"{source.path} {_NO_TOKEN}")
    expires_at_ms = expiry_ms(text)
    if expires_at_ms is None:
        raise SaslAuthenticationFailed(
            f"the token in {source.path} does not say when it expires (exp)"
        )
    return OAuthBearerToken(text, expires_at_ms, source.extensions)


_NO_TOKEN: Final = "holds no JSON Web Token: three parts with dots between and nothing else are wanted, the first two JSON in base64url"  # fmt: skip  # noqa: S105 - a sentence


def _is_token(text: str) -> bool:
    """Whether it has the form that Kafka's FileJwtRetriever wants: two objects, and a signature that may be empty."""
    if not _TOKEN_FORM.fullmatch(text):
        return False
    try:
        read = [
            json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
            for part in text.split(".")[:2]
        ]
    except ValueError:  # binascii.Error is one
        return False
    return all(isinstance(each, dict) for each in read)
