"""The clients that an application makes, and their settings. Replace `DefaultClientSupplier` to make them otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from millstream.clients import Admin, Consumer, Producer, RangeReader
from millstream.clients.config import WAIT_FOR_EVER_MS, ConsumerConfig, ProducerConfig
from millstream.clients.config.settings import parse_settings, setting_names
from millstream.errors import ConfigError

TRANSACTION_TIMEOUT_MS: Final = 10_000
"""As in Kafka Streams with exactly once."""
_OWN: Final = frozenset(
    {"group_id", "group_instance_id", "group_protocol", "enable_auto_commit", "auto_offset_reset", "transactional_id",
     "isolation_level", "acks", "enable_idempotence", "client_id", "max_poll_records", "allow_auto_create_topics",
     "partition_assignment_strategy", "group_remote_assignor"}
)  # fmt: skip


PATIENT: Final = {"bootstrap_wait_ms": WAIT_FOR_EVER_MS}
"""The start has found the cluster: one that refuses later restarts, also for clients that are made then."""


class ClientSupplier(Protocol):
    """Makes the clients of an application; each call makes a new one. They wait for a cluster that refuses (`bootstrap_wait_ms`)."""

    def settings_of_member(self, client_id: str) -> dict[str, Any]:  # Any: settings of a client
        """Returns the settings of a consumer: those of its connections, and of a member of a group.

        `bootstrap_wait_ms` of them says how long the start waits for a cluster that refuses.
        """
        ...

    def admin(self, client_id: str) -> Admin: ...

    def consumer(self, client_id: str, *, read_committed: bool) -> Consumer[bytes, bytes]: ...

    def reader(self, client_id: str, *, read_committed: bool) -> RangeReader: ...

    def producer(self, client_id: str, transactional_id: str | None) -> Producer: ...


class DefaultClientSupplier:
    """Makes the clients from settings by Kafka's names, dotted or in snake case: those that all have, of consumers and of producers."""

    def __init__(self, given: Mapping[str, object]) -> None:
        """Raises ConfigError for a setting that no client has, that is given twice, or that the application decides itself."""
        reading, writing = setting_names(ConsumerConfig), setting_names(ProducerConfig)
        self._reading: dict[str, Any] = {}  # Any: settings of any type
        self._writing: dict[str, Any] = {}  # Any: settings of any type
        spelled: dict[str, str] = {}
        for key, value in given.items():
            name = key.replace(".", "_")
            if spelled.setdefault(name, key) != key:
                raise ConfigError(f"{spelled[name]} and {key} are the same setting: give it once")
            if name in _OWN:
                raise ConfigError(f"{key} is decided by the application: leave it out")
            if name not in reading and name not in writing:
                parse_settings(ConsumerConfig, {key: value})  # raises, saying which name is near
            if name in reading:
                self._reading[name] = value
            if name in writing:
                self._writing[name] = value
        parse_settings(ConsumerConfig, self._reading)
        parse_settings(ProducerConfig, self._writing)
        self._shared = {
            name: value for name, value in self._reading.items() if name in self._writing
        }

    def settings_of_member(self, client_id: str) -> dict[str, Any]:  # Any: settings of a client
        return self._reading | {"client_id": client_id}

    def admin(self, client_id: str) -> Admin:
        return Admin(**self._shared | PATIENT, client_id=client_id)

    def consumer(self, client_id: str, *, read_committed: bool) -> Consumer[bytes, bytes]:
        return Consumer(
            **self._reading | PATIENT,
            client_id=client_id,
            enable_auto_commit=False,
            allow_auto_create_topics=False,  # one that is deleted would come back
            auto_offset_reset="none",
            isolation_level=_isolation(read_committed=read_committed),
        )

    def reader(self, client_id: str, *, read_committed: bool) -> RangeReader:
        return RangeReader(
            **self._reading | PATIENT,
            client_id=client_id,
            isolation_level=_isolation(read_committed=read_committed),
        )

    def producer(self, client_id: str, transactional_id: str | None) -> Producer:
        settings = {"linger_ms": 0} | self._writing | PATIENT | {"client_id": client_id}
        if transactional_id is not None:
            settings.setdefault("transaction_timeout_ms", TRANSACTION_TIMEOUT_MS)
            settings["transactional_id"] = transactional_id
        return Producer(**settings)


def _isolation(*, read_committed: bool) -> str:
    return "read_committed" if read_committed else "read_uncommitted"
