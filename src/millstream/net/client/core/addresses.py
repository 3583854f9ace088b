"""Host and port pairs as users write them."""

from __future__ import annotations

import re
from typing import NamedTuple

from millstream.errors import ConfigError

DEFAULT_PORT = 9092
"""That of Kafka's own `config/server.properties`."""
_PROTOCOL = re.compile(r"^[0-9a-zA-Z\-%._]*://")
_HOST = re.compile(r"[0-9a-zA-Z\-%._:]+")
"""Both are those of Kafka's Utils.HOST_PORT_PATTERN."""


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_bootstrap_servers(key: str, value: object) -> tuple[Address, ...]:
    """Parses `host:port,host:port` or a list of such; IPv6 hosts stand in brackets. Port 9092 when left out.

    A protocol in front, as listeners have one, says nothing: as in Java, `security.protocol` does.
    """
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, (list, tuple)):
        raise ConfigError(f'{key} must look like "host:9092,other:9092", got {value!r}')
    addresses = tuple(_parse_address(key, item) for item in items if item)
    if not addresses:
        raise ConfigError(f"{key} is empty; name at least one broker, as in localhost:9092")
    return addresses


def _parse_address(key: str, item: object) -> Address:
    if isinstance(item, Address):
        return item
    if not isinstance(item, str):
        raise ConfigError(f"{key}: {item!r} is not host:port")
    text = _PROTOCOL.sub("", item.strip(), count=1)
    host, separator, port = text.rpartition(":")
    if not separator or (host.count(":") and not host.startswith("[")):
        host, port = text, str(DEFAULT_PORT)
    host = host.removeprefix("[").removesuffix("]")
    if not _HOST.fullmatch(host) or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ConfigError(f"{key}: {item!r} is not host:port")
    return Address(host, int(port))
