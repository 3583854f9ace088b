"""Listeners as settings: NAME://HOST:PORT lists, their protocols, and what is advertised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from millstream.errors import ConfigError
from millstream.metadata.broker_registration import SecurityProtocol

LISTENER_PREFIX: Final = "listener.name."
"""Begins the settings of one listener, before its name in lower case."""


@dataclass(frozen=True, slots=True)
class Listener:
    """One address, to listen on or to advertise. An empty host means all addresses of this machine."""

    name: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.name}://{self.host}:{self.port}"


def parse_listeners(key: str, entries: Sequence[str]) -> tuple[Listener, ...]:
    """Parses a list of listeners.

    Raises ConfigError that names `key` for an entry that is not NAME://HOST:PORT or a repeated name.
    """
    listeners = tuple(_parse(key, entry) for entry in entries)
    if len({listener.name for listener in listeners}) != len(listeners):
        raise ConfigError(f"{key}: each listener needs a name of its own, not {','.join(entries)}")
    return listeners


def listener_protocols(
    names: Sequence[str], entries: Sequence[str], undeclared: Sequence[str] = ()
) -> dict[str, SecurityProtocol]:
    """Returns the protocol of each listener of `names`.

    Raises ConfigError where there is none, or one that is not supported.

    `entries` are those of listener.security.protocol.map, `undeclared` the names that are PLAINTEXT
    unless they are among them.
    """
    declared = protocol_map(entries, undeclared)
    return {name: _protocol(name, declared.get(name)) for name in names}


def _protocol(listener: str, protocol: str | None) -> SecurityProtocol:
    if protocol is None:
        raise ConfigError(
            f"listener.security.protocol.map names no protocol for listener {listener}"
        )
    if protocol in SecurityProtocol.__members__:
        return SecurityProtocol[protocol]
    raise ConfigError(
        f"listener.security.protocol.map: {protocol} of listener {listener} is none of PLAINTEXT, SASL_PLAINTEXT, SSL and SASL_SSL"
    )


def undeclared_plaintext(
    listeners: Sequence[Listener], controller_names: Sequence[str]
) -> tuple[str, ...]:
    """Returns the controller's names that need no entry in a map that is not given: all, or none where a
    protected name is used, as in Kafka.
    """
    protected = {"SSL", "SASL_PLAINTEXT", "SASL_SSL"}
    used = {*controller_names, *(each.name for each in listeners)}
    return () if used & protected else tuple(controller_names)


def advertised_listeners(
    bound: Sequence[Listener], advertised: Sequence[Listener] | None, host_name: str
) -> tuple[Listener, ...]:
    """The addresses for clients, one per bound listener: the advertised entry of the same name,
    else the bound address itself.

    An advertised port 0 means the bound port, so that a test may advertise a name and still let the system choose.
    """
    by_name = {listener.name: listener for listener in advertised or ()}
    told = []
    for listener in bound:
        entry = by_name.get(listener.name, listener)
        host = entry.host or host_name
        if host in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound: clients cannot connect to it
            host = host_name
        told.append(Listener(listener.name, host, entry.port or listener.port))
    return tuple(told)


def with_port(entries: Sequence[str], controller_names: Sequence[str], port: int) -> list[str]:
    """The same addresses, the first one that serves clients at `port`."""
    listeners = parse_listeners("listeners", entries)
    chosen = next((each for each in listeners if each.name not in controller_names), None)
    return [
        f"{each.name}://{each.host}:{port if each is chosen else each.port}" for each in listeners
    ]


def protocol_map(entries: Sequence[str], undeclared: Sequence[str] = ()) -> dict[str, str]:
    """Returns the protocol of each listener. `undeclared` names are PLAINTEXT unless they are among the entries.

    Raises ConfigError.
    """
    protocols = dict.fromkeys(undeclared, "PLAINTEXT")
    for entry in entries:
        name, colon, protocol = entry.partition(":")
        if not colon:
            raise ConfigError(f"listener.security.protocol.map: write NAME:PROTOCOL, not {entry}")
        protocols[name.strip().upper()] = protocol.strip().upper()
    return protocols


def _parse(key: str, entry: str) -> Listener:
    name, found, address = entry.partition("://")
    host, colon, port = address.rpartition(":")
    if not (found and colon and name and port.isascii() and port.isdigit()):
        raise ConfigError(
            f"{key}: write NAME://HOST:PORT, such as PLAINTEXT://127.0.0.1:9092, not {entry}"
        )
    if int(port) > 65535:
        raise ConfigError(f"{key}: port {port} is out of range: give 0 (any free port) to 65535")
    return Listener(name.strip().upper(), host.strip("[]"), int(port))
