"""Knows names that are no key of Kafka 4.3 but appear in a `server.properties`.

A file written for an older Kafka, or with the settings of plug-ins and listeners, is read as it is: such names are
warned of and change nothing. Settings of one listener are read by `sasl_settings`, which refuses what it cannot do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from millstream.broker.config.listeners import LISTENER_PREFIX
from millstream.broker.config.sasl_settings import is_limit_of_listener
from millstream.broker.config.tls_table import is_store_key
from millstream.metadata.config_key import UpdateMode


@dataclass(frozen=True, slots=True)
class IgnoredKeys:
    """Names that have no effect for one reason: those of `names`, and those that begin with one of `prefixes`."""

    reason: str
    names: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self.names or name.startswith(self.prefixes))


IGNORED_KEYS: Final = (
    IgnoredKeys("older releases of Kafka had them", frozenset({
        "auto.include.jmx.reporter", "broker.id.generation.enable", "inter.broker.protocol.version",
        "log.message.downconversion.enable", "log.message.format.version", "reserved.broker.max.id",
    }), ("zookeeper.", "password.encoder.")),
    IgnoredKeys("settings of plug-ins, which are classes of the JVM", prefixes=(
        "config.providers.", "kafka.metrics.", "log4j", "metrics.", "rlmm.config.", "rsm.config.",
    )),
    IgnoredKeys("a setting of one listener, which is read when a node starts", prefixes=(LISTENER_PREFIX,)),
)  # fmt: skip


def why_without_effect(name: str) -> str | None:
    """Returns the reason why a name outside the table has no effect; None for an unknown name."""
    return next((ignored.reason for ignored in IGNORED_KEYS if name in ignored), None)


def ignored_update_mode(name: str) -> UpdateMode | None:
    """The update mode of a key outside the table: stores of listeners and bounds of their connections may
    change, what is ignored may not.

    None for an unknown name.
    """
    if is_limit_of_listener(name):
        return UpdateMode.CLUSTER_WIDE
    if is_store_key(name):
        return UpdateMode.PER_BROKER
    return None if why_without_effect(name) is None else UpdateMode.READ_ONLY
