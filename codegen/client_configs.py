"""Writes docs/reference/client-configs.md: every setting of the clients, beside those of Kafka's Java clients."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.clients.config import (
    AdminConfig,
    ConsumerConfig,
    ProducerConfig,
    ShareConsumerConfig,
)
from millstream.clients.config.client import ClientConfig
from millstream.clients.config.java_keys import java_only
from millstream.clients.config.settings import setting_names
from millstream.net.client.config.security import SecurityConfig

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

JAVA_KEYS = Path(__file__).with_name("java_client_configs.txt")
CLIENTS = {"producer": ProducerConfig, "consumer": ConsumerConfig, "admin": AdminConfig}

_HEADER = """# Settings of the clients

Written by `make docs` from the tables of the code. Settings are keyword arguments: `Producer(linger_ms=20)`. Kafka's names with dots
are taken too, and values as property files hold them: `Producer(**{"linger.ms": "20"})`. A key that no client knows is refused, with
the nearest one named. Names are Kafka's, and so are defaults unless both columns differ.
"""
_COLUMNS = """
| setting | default | Kafka's default | meaning |
|---|---|---|---|
"""
_NOT_HERE = """
## Settings of Kafka's Java clients that are not here

| key | of | what to do instead |
|---|---|---|
"""
_SECTIONS: dict[str, tuple[type[DataclassInstance], type[DataclassInstance] | None]] = {
    "Every client": (ClientConfig, SecurityConfig),
    "Every client: TLS and SASL": (SecurityConfig, None),
    "Producer": (ProducerConfig, ClientConfig),
    "Consumer and RangeReader": (ConsumerConfig, ClientConfig),
    "ShareConsumer": (ShareConsumerConfig, ClientConfig),
    "Admin": (AdminConfig, ClientConfig),
}


def java_keys() -> dict[str, dict[str, str]]:
    """Key to client to default."""
    keys: dict[str, dict[str, str]] = {}
    for line in JAVA_KEYS.read_text().splitlines():
        if not line.startswith("#"):
            client, key, default = f"{line} ".split(" ", 2)
            keys.setdefault(key, {})[client] = default.strip()
    return keys


def missing(key: str) -> list[str]:
    """The clients of Java that have `key`, where ours do not."""
    name = key.replace(".", "_")
    return [client for client in java_keys()[key] if name not in setting_names(CLIENTS[client])]


def render() -> str:
    parts = [_HEADER]
    for title, (config, base) in _SECTIONS.items():
        parts += [f"\n## {title}\n", _COLUMNS, *_rows(config, base)]
    parts.append(_NOT_HERE)
    for key in sorted(java_keys()):
        if clients := missing(key):
            parts.append(f"| `{key}` | {', '.join(clients)} | {java_only(key)} |\n")
    return "".join(parts)


def _rows(config: type[DataclassInstance], base: type[DataclassInstance] | None) -> list[str]:
    inherited = {field.name for field in dataclasses.fields(base)} if base is not None else set()
    rows = []
    for field in sorted(dataclasses.fields(config), key=lambda field: field.name):
        if field.name in inherited:
            continue
        also = ", ".join(f"`{alias}`" for alias in field.metadata["aliases"])
        meaning = field.metadata["doc"] + (f" Also {also}." if also else "")
        cells = [f"`{field.name}`", _shown(field.default), _kafkas(field.name), meaning]
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n")
    return rows


def _kafkas(name: str) -> str:
    """The defaults of Java's clients under that name."""
    for key, defaults in java_keys().items():
        if key.replace(".", "_") == name:
            values = sorted(set(defaults.values()) - {""})
            return " or ".join(f"`{value}`" for value in values)
    return "not in Kafka"


def _shown(default: object) -> str:
    if default is None or default in ("", ()):
        return ""
    if isinstance(default, tuple):
        return f"`{','.join(map(str, default))}`"
    return f"`{default}`"
