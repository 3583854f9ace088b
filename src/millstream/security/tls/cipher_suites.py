"""`ssl.cipher.suites`, whose names are those of Java and of the standards, in the names of OpenSSL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from millstream.errors import ConfigError

_OF_TLS_1_3: Final = frozenset(
    {"TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"}
)
"""What OpenSSL has enabled; Python cannot choose among them."""


def openssl_name(suite: str) -> str:
    """TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 is ECDHE-RSA-AES128-GCM-SHA256; other names are taken as they are."""
    if not suite.startswith("TLS_") or "_WITH_" not in suite:
        return suite
    exchange, _, cipher = suite.removeprefix("TLS_").partition("_WITH_")
    cipher = cipher.replace("AES_", "AES").replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305")
    cipher = cipher.replace("_CBC", "")
    key_exchange = "" if exchange == "RSA" else f"{exchange}_"
    return f"{key_exchange}{cipher}".replace("_", "-")


def split_suites(suites: Sequence[str], versions: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns the suites for TLS 1.2, in OpenSSL's names, and the versions that are left: one without a suite
    is not spoken, as in Java.

    Raises ConfigError for a choice among those of TLS 1.3, and where no version is left.
    """
    of_1_3 = _OF_TLS_1_3.intersection(suites)
    of_1_2 = [openssl_name(each) for each in suites if each not in of_1_3]
    has = {"TLSv1.2": bool(of_1_2), "TLSv1.3": bool(of_1_3)}
    left = [version for version in versions if has[version]]
    if "TLSv1.3" in left and of_1_3 != _OF_TLS_1_3:
        raise ConfigError(
            "ssl.cipher.suites: Python cannot choose among the suites of TLS 1.3; name all of "
            f"{', '.join(sorted(_OF_TLS_1_3))}, or set ssl.enabled.protocols=TLSv1.2"
        )
    if not left:
        raise ConfigError(
            f"ssl.cipher.suites has no suite for ssl.enabled.protocols, which is {','.join(versions)}"
        )
    return of_1_2, left
