"""The TLS of a node: contexts of its listeners and of its own connections, and the reload
of stores while it runs (KIP-226).

New stores are read, checked and made into contexts in a thread; the loop then puts them in place of the old
ones, for the connections that come. What cannot be used is refused or, when it comes by the metadata log,
told in the log: the present stores go on.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Protocol, TypeVar

from millstream.broker.config.sasl_settings import OwnLogin, Protection
from millstream.broker.config.tls_settings import changed_stores
from millstream.errors import ConfigError
from millstream.net.server.listener_tls import ListenerTls
from millstream.net.tls_contexts import (
    LoadedStores,
    check_handshake,
    client_context,
    load_stores,
    server_context,
)
from millstream.security.tls.tls_settings import (
    TlsSettings,
    check_key_store_change,
    check_same_stores,
)

_LOGGER: Final = logging.getLogger(__name__)
ResultT = TypeVar("ResultT")


class ThreadPool(Protocol):
    """Runs work with files in a thread."""

    async def run(self, work: Callable[[], ResultT]) -> ResultT: ...


class TlsClient(Protocol):
    """Whoever makes connections with TLS, and takes another context for the next ones."""

    def use_tls(self, context: ssl.SSLContext) -> None: ...


@dataclass(frozen=True, slots=True)
class _Made:
    """The stores of one listener and the contexts that were made of them.

    `server` is None for a listener of other nodes.
    """

    settings: TlsSettings
    stores: LoadedStores
    server: ssl.SSLContext | None
    client: ssl.SSLContext


class NodeTls:
    """All contexts of a node. `check` may run at any time; `follow` one after another."""

    def __init__(
        self, protection: Protection, own_listeners: Iterable[str], *, stands_alone: bool
    ) -> None:
        """Reads all stores. `stands_alone`: it connects to no other node. Raises ConfigError."""
        self._own = frozenset(own_listeners)
        self._static = protection.tls
        where_nodes_connect = (protection.at_brokers.tls_of, protection.at_controllers.tls_of)
        self._among_nodes = [
            name for name in self._static if name in where_nodes_connect and name in self._own
        ]
        if stands_alone:
            self._among_nodes = []
        self._made = {name: self._make(settings) for name, settings in self._static.items()}
        for name in self._among_nodes:
            _check_shake_hands(self._made[name], self._made[name])
        self.listeners = {
            name: ListenerTls(
                each.settings, each.server, names_clients=not protection.protocols[name].has_sasl
            )
            for name, each in self._made.items()
            if each.server is not None
        }
        self._clients: dict[str, list[TlsClient]] = {name: [] for name in self._made}
        self._following = asyncio.Lock()
        self.is_serving = False
        """Whether clients have seen the present stores, so that others must be for the same name."""

    def context_for(self, own: OwnLogin) -> ssl.SSLContext | None:
        """Returns the context with which this node connects; None where there is no TLS."""
        return None if own.tls_of is None else self._made[own.tls_of].client

    def keep_fresh(self, own: OwnLogin, client: TlsClient) -> None:
        """Gives `client` every later context."""
        if own.tls_of is not None:
            self._clients[own.tls_of].append(client)

    def check(self, overrides: Mapping[str, str]) -> None:
        """Checks what was set for listeners of this node, in a thread.

        Raises ConfigError where the stores cannot be used.
        """
        for name in self._static:
            self._changed(name, overrides)

    async def follow(self, overrides: Mapping[str, str], pool: ThreadPool) -> None:
        """Takes over what was set for listeners of this node, and files that were written since."""
        async with (
            self._following
        ):  # an older change must not overtake a newer one in another thread
            for name in self._static:
                try:
                    changed = await pool.run(partial(self._changed, name, overrides))
                except ConfigError as error:
                    _LOGGER.error("listener %s keeps its TLS stores: %s", name, error)  # noqa: TRY400 - the sentence says it
                    continue
                if changed is not None:
                    self._use(name, changed)

    def _use(self, name: str, changed: _Made) -> None:
        """On the loop, between two connections: none is made of one half and of the other."""
        self._made[name] = changed
        if changed.server is not None:
            self.listeners[name].context = changed.server
        for client in self._clients[name]:
            client.use_tls(changed.client)
        _LOGGER.info("listener %s: TLS stores were read again", name)

    def _changed(self, name: str, overrides: Mapping[str, str]) -> _Made | None:
        """Returns what is made of the new stores, None where they are the present ones. Raises ConfigError."""
        present = self._made[name]
        settings = changed_stores(self._static[name], overrides)
        if settings == present.settings and not present.stores.is_stale():
            return None
        check_same_stores(present.settings.stores, settings.stores)
        changed = self._make(settings)
        if not self.is_serving:
            return changed
        if present.stores.key is not None and changed.stores.key is not None:
            check_key_store_change(settings, present.stores.key, changed.stores.key)
        if name in self._among_nodes:
            # Other nodes have the old stores until they are told, and connections go both ways.
            _check_shake_hands(present, changed)
            _check_shake_hands(changed, present)
        return changed

    def _make(self, settings: TlsSettings) -> _Made:
        stores = load_stores(settings.stores)
        server = server_context(settings, stores) if settings.listener in self._own else None
        return _Made(settings, stores, server, client_context(settings, stores))


def _check_shake_hands(server: _Made, client: _Made) -> None:
    """Raises ConfigError where a node with the stores of `client` could not connect to one with those of
    `server`, whatever its host.
    """
    assert server.server is not None, "nodes connect to a listener that this one has"
    try:
        check_handshake(
            server.server,
            client_context(replace(client.settings, checks_host=False), client.stores),
        )
    except ConfigError as error:
        raise ConfigError(
            f"other nodes could not connect at listener {server.settings.listener} with its own stores: {error}"
        ) from error
