"""Settings of the clients of an application by role: Kafka Streams' prefixes `main.consumer.`, `restore.consumer.`,
`global.consumer.`, `consumer.`, `producer.` and `admin.`.

What is nearer counts: `main.consumer.` before `consumer.` before no prefix. Keys are written with
dots or underscores. Pure.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from millstream.clients.config import AdminConfig, ConsumerConfig, ProducerConfig
from millstream.clients.config.settings import parse_settings, setting_names
from millstream.errors import ConfigError
from millstream.foreign_names.streams_settings import SETTINGS

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class ClientRole(StrEnum):
    """A client of an application, by the prefix of its settings."""

    MAIN_CONSUMER = "main.consumer"
    RESTORE_CONSUMER = "restore.consumer"
    GLOBAL_CONSUMER = "global.consumer"
    PRODUCER = "producer"
    ADMIN = "admin"


_CONSUMERS: Final = (
    ClientRole.MAIN_CONSUMER,
    ClientRole.RESTORE_CONSUMER,
    ClientRole.GLOBAL_CONSUMER,
)
_COVERED: Final[Mapping[str, tuple[ClientRole, ...]]] = {
    **{f"{role}.": (role,) for role in ClientRole},
    "consumer.": _CONSUMERS,
}
"""By prefix, the roles that it is for. No prefix begins another one, so the order does not matter."""
CONFIGS: Final[Mapping[ClientRole, type[DataclassInstance]]] = {
    **dict.fromkeys(_CONSUMERS, ConsumerConfig),
    ClientRole.PRODUCER: ProducerConfig,
    ClientRole.ADMIN: AdminConfig,
}
_NAMES: Final = {role: setting_names(config) for role, config in CONFIGS.items()}
_PLAIN: Final = setting_names(ConsumerConfig) | setting_names(ProducerConfig)
"""Without a prefix. What an Admin alone has needs one."""
DECIDED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "acks": "every write is acknowledged by all in-sync replicas",
        "allow_auto_create_topics": "a topic that was deleted would come back; create source topics first",
        "auto_offset_reset": "sources say where they begin: stream(..., reset=)",
        "bootstrap_controllers": "an application needs brokers: give bootstrap.servers",
        "client_id": "write StreamsConfig(client_id=)",
        "enable_auto_commit": "offsets are committed with what the tasks have written; StreamsConfig(commit_interval_ms=) says how often",
        "enable_idempotence": "every producer is idempotent",
        "group_id": "it is StreamsConfig(application_id=)",
        "group_instance_id": "write StreamsConfig(group_instance_id=)",
        "group_protocol": "write StreamsConfig(group_protocol=)",
        "group_remote_assignor": "tasks are assigned, not partitions",
        "max_poll_records": "what is read ahead is bounded by StreamsConfig(buffered_records_per_partition=)",
        "partition_assignment_strategy": "tasks are assigned, not partitions; StreamsConfig(group_protocol=) says by whom",
        "retry_when_refused": "an application waits for a cluster that refuses; bootstrap.wait.ms says how long its start does",
        "transactional_id": "each task has its own: it follows from StreamsConfig(application_id=)",
    }
)
"""What no client of an application is told by others, and what to do instead.

Kafka Streams warns of its NON_CONFIGURABLE_… settings, replaces group, client id and assignor without a word,
and takes `auto.offset.reset`, `max.poll.records` and, at least once, `acks`. Here all are refused, as
everything that would have no effect.
"""


class RoleSetting(NamedTuple):
    """A setting as somebody wrote it: for which roles, by its name in snake case.

    `prefix` is empty for one of all clients.
    """

    prefix: str
    name: str
    roles: tuple[ClientRole, ...]

    @property
    def reach(self) -> tuple[bool, int]:
        """Sorts settings so that a nearer one, which replaces others, comes behind them."""
        return bool(self.prefix), -len(self.roles)


def role_setting(key: str) -> RoleSetting | None:
    """Returns what a key is for; None for one that no client has under that prefix."""
    name = _snake(key)
    if name in _PLAIN:
        return RoleSetting("", name, tuple(role for role in ClientRole if name in _NAMES[role]))
    for prefix, roles in _COVERED.items():
        rest = name.removeprefix(_snake(prefix))
        if rest != name and rest in _NAMES[roles[0]]:
            return RoleSetting(prefix, rest, roles)
    return None


class SettingsByRole:
    """The settings of each client of an application, checked."""

    def __init__(self, given: Mapping[str, object]) -> None:
        """Raises ConfigError for a setting that no client has, that is given twice, that cannot be used, or
        that the application decides.
        """
        self._of: dict[ClientRole, dict[str, Any]] = {}  # Any: settings of any type
        found = [(checked_role_setting(key), key, value) for key, value in once(given)]
        for setting, key, value in sorted(found, key=lambda each: each[0].reach):
            for role in setting.roles:
                field = _NAMES[role][setting.name]
                field.metadata["check"](key, value)  # raises, with the whole key
                self._of.setdefault(role, {})[field.name] = value
        for role, config in CONFIGS.items():
            parse_settings(config, self.of(role))

    def of(self, role: ClientRole) -> dict[str, Any]:  # Any: keyword arguments of a client
        """Returns the settings of the client with a role, by their names in snake case."""
        return dict(self._of.get(role, {}))


def once(given: Mapping[str, object]) -> Iterable[tuple[str, object]]:
    """Yields the settings. Raises ConfigError for one that is there in two spellings."""
    spelled: dict[str, str] = {}
    for key, value in given.items():
        other = spelled.setdefault(canonical(key), key)
        if other != key:
            raise ConfigError(f"{other} and {key} are the same setting: give it once")
        yield key, value


def checked_role_setting(key: str) -> RoleSetting:
    """Returns what a key is for.

    Raises ConfigError, saying what to do, for one that no client has or that the application decides.
    """
    decided = _decided(key)
    if decided is not None:
        raise ConfigError(f"{key} is decided by the application: leave it out; {DECIDED[decided]}")
    found = role_setting(key)
    if found is None:
        raise ConfigError(_unknown(key))
    if found.name == "bootstrap_wait_ms" and ClientRole.MAIN_CONSUMER not in found.roles:
        raise ConfigError(f"{key} has no effect: the start alone waits; write bootstrap.wait.ms")
    return found


def is_decided(key: str) -> bool:
    """Whether a key is for what the application decides itself, with or without a prefix."""
    return _decided(key) is not None


def is_of_streams(key: str) -> bool:
    """Whether a key is one of StreamsConfig, by its name here or in Kafka Streams."""
    return _snake(key) in _fields() or key in SETTINGS or key.startswith("client.tag.")


def _fields() -> set[str]:
    from millstream.streams.config import StreamsConfig  # Spark's workers need none of it

    return {field.name for field in dataclasses.fields(StreamsConfig)}


def _decided(key: str) -> str | None:
    """Returns the name of what the application decides that a key is for."""
    name = _snake(key)
    if name in DECIDED:
        return name
    rests = (name.removeprefix(_snake(prefix)) for prefix in _COVERED)
    return next((rest for rest in rests if rest != name and rest in DECIDED), None)


def _unknown(key: str) -> str:
    name = _snake(key)
    if name in _fields():
        return f"no client has a setting {key}: write StreamsConfig({name}=)"
    if key in SETTINGS:
        return f"no client has a setting {key}: {SETTINGS[key]}"
    if name.startswith("topic_"):
        return f"no client has a setting {key}: Materialized(logging={{...}}) has the settings of a changelog topic"
    for prefix, roles in _COVERED.items():
        rest = name.removeprefix(_snake(prefix))
        if rest != name:
            return f"{key}: {_refusal(CONFIGS[roles[0]], rest)}"
    near = _near_prefix(name)
    if near is not None:
        return f"no client has a setting {key}; did you mean {near}?"
    return _refusal(ConsumerConfig, key)


def _near_prefix(name: str) -> str | None:
    """Returns the key that is meant where its prefix is misspelt."""
    for prefix, roles in _COVERED.items():
        ends = [each for each in _NAMES[roles[0]] if name.endswith(f"_{each}")]
        if ends:
            longest = max(ends, key=len)
            begins = name.removesuffix(longest)
            if difflib.get_close_matches(begins, [_snake(prefix)], cutoff=0.8):
                return prefix + longest.replace("_", ".")
    return None


def _refusal(config: type[DataclassInstance], name: str) -> str:
    try:
        parse_settings(config, {name: ""})
    except ConfigError as error:
        return str(error)
    raise AssertionError(f"{name} is no setting of {config.__name__}")


def canonical(key: str) -> str:
    """Returns a key with its prefix as Kafka Streams writes it and its name as the field
    has it; others with underscores.
    """
    found = role_setting(key)
    if found is None:
        return _snake(key)
    return f"{found.prefix}{_NAMES[found.roles[0]][found.name].name}"


def _snake(key: str) -> str:
    return key.replace(".", "_")
