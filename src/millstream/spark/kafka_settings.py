"""Settings of the clients that source, sink and runner use: Kafka's, by Kafka's names, checked
before anything connects.

They travel to Spark's workers as text. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from millstream.clients.config import WAIT_FOR_EVER_MS, ClientConfig, ConsumerConfig, ProducerConfig
from millstream.clients.config.settings import parse_settings, setting_names
from millstream.errors import ConfigError
from millstream.foreign_names.streams_settings import PREFIXES_OF_CLIENTS
from millstream.streams.client_roles import (
    CONFIGS,
    ClientRole,
    RoleSetting,
    checked_role_setting,
    once,
    role_setting,
)

PREFIX: Final = "kafka."
_MAIN: Final = ClientRole.MAIN_CONSUMER

_READING: Final = frozenset(
    {"isolation_level", "fetch_min_bytes", "fetch_max_wait_ms", "fetch_max_bytes", "max_partition_fetch_bytes",
     "client_rack", "check_crcs", "default_api_timeout_ms"}
)  # fmt: skip
_WRITING: Final = frozenset(
    {"compression_type", "compression_gzip_level", "compression_lz4_level", "compression_zstd_level", "batch_size",
     "linger_ms", "buffer_memory", "max_block_ms", "max_request_size", "delivery_timeout_ms", "retries",
     "partitioner_ignore_keys", "partitioner_adaptive_partitioning_enable", "partitioner_availability_timeout_ms",
     "metadata_max_idle_ms"}
)  # fmt: skip
_TRANSACTIONAL: Final = frozenset({"transaction_timeout_ms"})
_ACKNOWLEDGED: Final = "every write is idempotent and acknowledged by all in-sync replicas"
_NO_GROUP: Final = "Spark's checkpoint keeps the offsets; the options group.id and offsetCommitMode of the source commit them, too"
_NOT_TEXT: Final = "only text travels to Spark's workers"
_REFUSED: Final[Mapping[str, str]] = {
    "acks": _ACKNOWLEDGED,
    "auto_offset_reset": "startingOffsets says where a query begins",
    "enable_auto_commit": _NO_GROUP,
    "enable_idempotence": _ACKNOWLEDGED,
    "group_id": _NO_GROUP,
    "metadata_max_age_ms": "discoveryIntervalMs of the source says how soon new partitions are noticed",
    "sasl_oauthbearer_token_provider": f"{_NOT_TEXT}; write sasl.oauthbearer.token.endpoint.url",
    "ssl_context": f"{_NOT_TEXT}; write the ssl. settings",
    "transaction_timeout_ms": "only a sink with deliveryGuarantee=exactly-once has transactions whose time-out can be chosen",
    "transactional_id": "transactionalIdPrefix of the sink says how the ids of its transactions begin",
}
_CLIENT: Final = {name.name for name in fields(ClientConfig)} - _REFUSED.keys()
_FIELDS: Final = setting_names(ProducerConfig) | setting_names(ConsumerConfig)
_PATIENT: Final = {"bootstrap_wait_ms": str(WAIT_FOR_EVER_MS)}
"""What has begun has found the cluster: one that refuses later restarts, also for clients that tasks make then."""
SECRETS: Final = tuple(
    sorted({name.replace("_", ".") for name, field in _FIELDS.items() if not field.repr})
)
"""Every name by which a secret is given, with dots."""


@dataclass(frozen=True, slots=True)
class KafkaSettings:
    """Settings by their names in snake case, as text; the repr shows no secret.

    `of_roles` are those that one kind of client of a topology has in place of what all have.
    """

    given: tuple[tuple[str, str], ...]
    of_roles: tuple[tuple[ClientRole, str, str], ...] = ()

    def __repr__(self) -> str:
        shown = [f"{name}={_shown(name, value)}" for name, value in self.given]
        shown += [f"{role}.{name}={_shown(name, value)}" for role, name, value in self.of_roles]
        return f"KafkaSettings({', '.join(shown)})"

    @property
    def bootstrap_servers(self) -> str:
        return dict(self.given)["bootstrap_servers"]

    @property
    def is_read_committed(self) -> bool:
        return self._of(_READING, _MAIN).get("isolation_level") == "read_committed"

    def of_start(self) -> ClientConfig:
        """Returns the settings by which a query, a write or an application looks whether anything
        listens before it begins.
        """
        return parse_settings(ClientConfig, self._of(_CLIENT, _MAIN))

    def of_client(self) -> dict[str, Any]:  # keyword arguments of an Admin
        return self._of(_CLIENT, ClientRole.ADMIN) | _PATIENT

    def of_reader(
        self, role: ClientRole = ClientRole.MAIN_CONSUMER
    ) -> dict[str, Any]:  # keyword arguments of a RangeReader or Consumer
        return self._of(_CLIENT | _READING, role) | _PATIENT

    def of_producer(self) -> dict[str, Any]:  # keyword arguments of a Producer
        return self._of(_CLIENT | _WRITING | _TRANSACTIONAL, ClientRole.PRODUCER) | _PATIENT

    def source_options(self) -> dict[str, str]:
        """The options of the source that read with these settings."""
        return _with_prefix(self._of(_CLIENT | _READING, _MAIN))

    def sink_options(self) -> dict[str, str]:
        """The options of the sink that write with these settings."""
        return _with_prefix(self._of(_CLIENT | _WRITING | _TRANSACTIONAL, ClientRole.PRODUCER))

    def _of(self, wanted: Collection[str], role: ClientRole) -> dict[str, str]:
        own = [(name, value) for each, name, value in self.of_roles if each is role]
        return {name: value for name, value in (*self.given, *own) if name in wanted}


def _with_prefix(settings: Mapping[str, str]) -> dict[str, str]:
    return {PREFIX + name.replace("_", "."): value for name, value in settings.items()}


def for_reading(given: Mapping[str, object], *, writes_letters: bool = False) -> KafkaSettings:
    """The settings of a source. Raises ConfigError, as the two below, for what it cannot use, saying why.

    One that `writes_letters` writes records as large as those that it reads.
    """
    of_letters = frozenset({"max_request_size"} if writes_letters else ())
    return _parsed(given, _CLIENT | _READING | of_letters, "format millstream reads with")


def for_writing(given: Mapping[str, object], *, in_transactions: bool = False) -> KafkaSettings:
    """The settings of a sink."""
    allowed = _CLIENT | _WRITING | (_TRANSACTIONAL if in_transactions else frozenset())
    return _parsed(given, allowed, "format millstream writes with")


def for_both(given: Mapping[str, object]) -> KafkaSettings:
    """The settings of a runner, whose tasks read and write; aborted records are not read, unless the settings say so.

    Those of one kind of client have Kafka Streams' prefixes.
    """
    who = "a topology on Spark runs with"
    plain = {key: value for key, value in once(given) if not _has_prefix(key)}
    parsed = _parsed(plain, _CLIENT | _READING | _WRITING, who)
    of_all = {"isolation_level": "read_committed"} | dict(parsed.given)
    of_roles: dict[tuple[ClientRole, str], str] = {}
    prefixed = [(checked_role_setting(key), key) for key in given if key not in plain]
    for setting, key in sorted(prefixed, key=lambda each: each[0].reach):
        name = _FIELDS[setting.name].name
        if name not in _allowed(setting):
            if name == "isolation_level":
                raise ConfigError(f"{key} is one for all consumers: write consumer.isolation.level")
            raise ConfigError(f"{who} no setting {key}: {_why_not(name)}")
        value = _text(key, given[key])
        _FIELDS[setting.name].metadata["check"](key, value)  # raises, with the whole key
        of_roles |= {(role, name): value for role in setting.roles}
    settings = KafkaSettings(
        tuple(sorted(of_all.items())),
        tuple(sorted((role, name, value) for (role, name), value in of_roles.items())),
    )
    _check(settings)
    return settings


def is_of_topology(key: str) -> bool:
    """Whether the clients of a topology take a setting from a file, with Kafka Streams' prefix or
    as one that source and sink have.
    """
    if not _has_prefix(key):
        return is_of_both(key.replace(".", "_"))
    setting = role_setting(key)
    return setting is not None and setting.name in _allowed(setting)


def _has_prefix(key: str) -> bool:
    return key.replace("_", ".").startswith(PREFIXES_OF_CLIENTS)


def _allowed(setting: RoleSetting) -> Collection[str]:
    """Returns what a client of a topology may be told, by the prefix of the setting."""
    match setting.roles[0]:
        case ClientRole.ADMIN:
            return _CLIENT
        case ClientRole.PRODUCER:
            return _CLIENT | _WRITING
    if len(setting.roles) == 1:  # stores must not be restored from what tasks do not read
        return (_CLIENT | _READING) - {"isolation_level"}
    return _CLIENT | _READING


def is_setting(name: str) -> bool:
    """Whether an option is a setting that lacks its prefix."""
    return name.replace(".", "_") in _FIELDS


def is_of_both(name: str) -> bool:
    """Whether source and sink have a setting, by its name in snake case."""
    return name in _CLIENT


def _parsed(given: Mapping[str, object], allowed: Collection[str], who: str) -> KafkaSettings:
    settings = KafkaSettings(tuple(sorted(_named(given, allowed, who))))
    _check(settings)
    return settings


def _check(settings: KafkaSettings) -> None:
    """Raises ConfigError for settings that do not go together."""
    settings.of_start()
    parse_settings(ClientConfig, settings.of_client())
    for role in (role for role in ClientRole if CONFIGS[role] is ConsumerConfig):
        parse_settings(ConsumerConfig, settings.of_reader(role))
    parse_settings(ProducerConfig, settings.of_producer())


def _named(
    given: Mapping[str, object], allowed: Collection[str], who: str
) -> Iterator[tuple[str, str]]:
    written_as: dict[str, str] = {}
    for key, value in given.items():
        field = _FIELDS.get(key.replace(".", "_"))
        if field is None:
            parse_settings(ConsumerConfig, {key: value})  # raises, saying which name is near
            raise AssertionError("an unknown setting is refused")
        if field.name not in allowed:
            raise ConfigError(f"{who} no setting {key}: {_why_not(field.name)}")
        other = written_as.setdefault(field.name, key)
        if other != key:
            raise ConfigError(f"{other} and {key} are the same setting; give one of them")
        yield field.name, _text(key, value)


def _why_not(name: str) -> str:
    if name in _READING | _WRITING:
        also = ", and of a source with a deadLetterTopic" if name == "max_request_size" else ""
        return f"it is a setting of the {'source' if name in _READING else 'sink'}{also}"
    return _REFUSED.get(name, "no client that is used has it")


def _text(key: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int):
        return str(value)
    raise ConfigError(f"{key} must be text, a number or a bool, not a {type(value).__name__}")


def _shown(name: str, value: str) -> str:
    return "***" if name.replace("_", ".") in SECRETS else repr(value)
