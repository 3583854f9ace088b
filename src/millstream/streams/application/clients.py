"""The clients that an application makes, and their settings. Replace `DefaultClientSupplier` to make them otherwise."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from millstream.clients import Admin, Consumer, Producer, RangeReader
from millstream.clients.config import WAIT_FOR_EVER_MS
from millstream.clients.properties_file import properties_of, unknown_to_all
from millstream.errors import ConfigError
from millstream.foreign_names.streams_settings import PREFIXES_OF_CLIENTS
from millstream.quoting import some_of
from millstream.streams.client_roles import (
    ClientRole,
    SettingsByRole,
    checked_role_setting,
    is_decided,
    is_of_streams,
    role_setting,
)

_LOGGER = logging.getLogger(__name__)
_ISOLATION: Final = "isolation_level"
_COMMITTED: Final = "read_committed"

TRANSACTION_TIMEOUT_MS: Final = 10_000
"""As in Kafka Streams with exactly once."""
PATIENT: Final = {"bootstrap_wait_ms": WAIT_FOR_EVER_MS}
"""The start has found the cluster: one that refuses later restarts, also for clients that are made then."""


class ClientSupplier(Protocol):
    """Makes the clients of an application; each call makes a new one.

    They wait for a cluster that refuses (`bootstrap_wait_ms`).
    """

    def settings_of_member(self, client_id: str) -> dict[str, Any]:  # Any: settings of a client
        """Returns the settings of a consumer: those of its connections, and of a member of a group.

        `bootstrap_wait_ms` of them says how long the start waits for a cluster that refuses.
        """
        ...

    def admin(self, client_id: str) -> Admin: ...

    def consumer(self, client_id: str, *, read_committed: bool) -> Consumer[bytes, bytes]: ...

    def reader(self, client_id: str, *, read_committed: bool) -> RangeReader:
        """Makes the reader of changelogs: Kafka Streams' restore consumer."""
        ...

    def global_reader(self, client_id: str, *, read_committed: bool) -> RangeReader:
        """Makes the reader of the topics of global stores: Kafka Streams' global consumer."""
        ...

    def producer(self, client_id: str, transactional_id: str | None) -> Producer: ...


class DefaultClientSupplier:
    """Makes the clients from settings by Kafka's names, dotted or in snake case: those of all, and by prefix those of
    one kind, as Kafka Streams has them.
    """

    def __init__(self, given: Mapping[str, object]) -> None:
        """Raises ConfigError for a setting that no client has, that is given twice, or that the
        application decides itself.
        """
        for key, value in given.items():
            check_isolation(key, value)
        self._settings = SettingsByRole(given)

    def settings_of_member(self, client_id: str) -> dict[str, Any]:  # Any: settings of a client
        return self._settings.of(ClientRole.MAIN_CONSUMER) | {"client_id": client_id}

    def admin(self, client_id: str) -> Admin:
        return Admin(**self._settings.of(ClientRole.ADMIN) | PATIENT, client_id=client_id)

    def consumer(self, client_id: str, *, read_committed: bool) -> Consumer[bytes, bytes]:
        return Consumer(
            **self._reading(ClientRole.MAIN_CONSUMER, client_id, read_committed=read_committed),
            enable_auto_commit=False,
            allow_auto_create_topics=False,  # one that is deleted would come back
            auto_offset_reset="none",
        )

    def reader(self, client_id: str, *, read_committed: bool) -> RangeReader:
        # It is also asked where source topics end: as the consumer that reads them sees it.
        main = self._settings.of(ClientRole.MAIN_CONSUMER)
        committed = read_committed or main.get(_ISOLATION) == _COMMITTED
        return RangeReader(
            **self._reading(ClientRole.RESTORE_CONSUMER, client_id, read_committed=committed)
        )

    def global_reader(self, client_id: str, *, read_committed: bool) -> RangeReader:
        return RangeReader(
            **self._reading(ClientRole.GLOBAL_CONSUMER, client_id, read_committed=read_committed)
        )

    def producer(self, client_id: str, transactional_id: str | None) -> Producer:
        given = self._settings.of(ClientRole.PRODUCER)
        settings = {"linger_ms": 0} | given | PATIENT | {"client_id": client_id}
        if transactional_id is not None:
            settings.setdefault("transaction_timeout_ms", TRANSACTION_TIMEOUT_MS)
            settings["transactional_id"] = transactional_id
        return Producer(**settings)

    def _reading(
        self, role: ClientRole, client_id: str, *, read_committed: bool
    ) -> dict[str, Any]:  # Any: settings of a client
        settings = self._settings.of(role) | PATIENT | {"client_id": client_id}
        return settings | ({_ISOLATION: _COMMITTED} if read_committed else {})


def check_isolation(key: str, value: object) -> None:
    """Raises ConfigError for what would have an application read the records of aborted transactions where it
    is to do everything once.
    """
    found = role_setting(key)
    if found is not None and found.name == _ISOLATION and value != _COMMITTED:
        raise ConfigError(
            f"{key} may be {_COMMITTED} alone, not {value!r}: leave it out; with processing_guarantee=exactly_once_v2 nothing else is read, "
            "and with at_least_once everything is"
        )


def read_streams_properties(
    file: str | Path, *, check: Callable[[str, object], None] = check_isolation
) -> dict[str, Any]:  # Any: settings of clients
    """Returns the settings of clients in a properties file of Kafka Streams, those with its prefixes among
    them, for `KafkaStreams`.

    What StreamsConfig has, and what an application decides itself, is left out, the latter with a warning, as
    are names that nobody has. Raises ConfigError for a file that cannot be read, and for a name behind a
    prefix that such a client does not have. `check` raises it for what the kind of application does not take.
    """
    found: dict[str, Any] = {}  # Any: settings of clients
    unknown = []
    for key, value in properties_of(file).items():
        try:
            checked_role_setting(key)
            check(key, value)
        except ConfigError as error:
            if is_decided(key) or key == "isolation.level":
                _LOGGER.warning("%s: %s", file, error)
            elif key.startswith(PREFIXES_OF_CLIENTS):
                raise
            elif not is_of_streams(key) and unknown_to_all({key: value}):
                unknown.append(key)
        else:
            found[key] = value
    if unknown:
        _LOGGER.warning(
            "%s: neither StreamsConfig nor a client has a setting named %s", file, some_of(unknown)
        )
    return found
