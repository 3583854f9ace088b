"""The address at which an instance answers queries (`application.server`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from millstream.errors import ConfigError

_PORT_MAX = 65_535


@dataclass(frozen=True, slots=True, order=True)
class HostInfo:
    """A host and its port, as the instance itself gives them to the others."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parsed(cls, text: str) -> Self:
        """Returns the address that `host:port` or `[IPv6 address]:port` says. Raises ConfigError for other texts."""
        host, _, port = text.rpartition(":")
        is_bracketed = host.startswith("[") and host.endswith("]")
        host = host[1:-1] if is_bracketed else host
        is_number = port.isascii() and port.isdigit() and 0 < int(port) <= _PORT_MAX
        if not host or not is_number or (":" in host and not is_bracketed):
            raise ConfigError(
                f"application_server must be host:port, as in shop1.example.com:8080, not {text!r}"
            )
        return cls(host, int(port))
