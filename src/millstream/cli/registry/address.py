"""Finds the schema registry that a verb asks, and its login: options, -X, a file, a profile, the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from millstream.errors import ConfigError

if TYPE_CHECKING:
    import ssl

    from millstream.clients.serdes.registry import SchemaRegistry
    from millstream.clients.serdes.registry.transport import Auth, Limits

REGISTRY_VARIABLE: Final = "MILLSTREAM_SCHEMA_REGISTRY"
"""The variable of the environment that says where the registry is."""
DEFAULT_URL: Final = "http://localhost:8081"


@dataclass(frozen=True, slots=True)
class RegistryAddress:
    """`auth` None: none, or the one that stands in the address."""

    url: str
    auth: Auth | None = field(default=None, repr=False)
    ca_file: str | None = None

    def client(self, limits: Limits | None = None) -> SchemaRegistry:
        """Raises ConfigError for an address that is none, and for certificates that cannot be read."""
        from millstream.clients.serdes.registry import SchemaRegistry

        return SchemaRegistry(self.url, auth=self.auth, ssl_context=_context(self.ca_file), limits=limits)  # fmt: skip


def registry_address(
    url: str | None,
    settings: Mapping[str, str],
    *,
    ca_file: str | None = None,
    token_file: str | None = None,
    default_url: str | None = None,
) -> RegistryAddress | None:
    """Returns what the options of a verb and its settings say together; None where nothing says where the registry
    is, and there is no default.

    A login that stands in an address is the one for it. Raises ConfigError.
    """
    from millstream.clients.config.registry import registry_config

    config = registry_config(settings)
    found = url or config.url or os.environ.get(REGISTRY_VARIABLE) or default_url
    if not found:
        return None
    auth: Auth | None = config.user or config.token
    file = token_file or config.token_file
    if file is not None:
        auth = _TokenInFile(file)
    if "@" in found:
        auth = None
    return RegistryAddress(found, auth, ca_file or config.authorities)


@dataclass(frozen=True, slots=True)
class _TokenInFile:
    """Reads the token anew for each request: somebody else keeps it fresh."""

    file: str

    def __call__(self) -> str:
        from millstream.net.client.token_file import token_text

        token = token_text(self.file, ConfigError)
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise ConfigError(
                f"{self.file} holds no token: one line of characters without spaces is wanted"
            )
        return token


def _context(ca_file: str | None) -> ssl.SSLContext | None:
    if ca_file is None:
        return None
    import ssl

    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:  # ssl.SSLError is one
        raise ConfigError(f"{ca_file} has no certificates that can be read: {error}") from error
