"""`BrokerConfig`: a node's settings, typed, from Kafka's defaults, a `server.properties` and `--override key=value`.

Owns where settings come from and which win. What a single key may be is in `table`; listeners are in `listeners`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

from millstream.broker.config.listeners import (
    Listener,
    listener_protocols,
    parse_listeners,
    undeclared_plaintext,
    with_port,
)
from millstream.broker.config.other_keys import why_without_effect
from millstream.broker.config.rules import check_listeners, check_rules
from millstream.broker.config.sasl_settings import (
    Protection,
    changed_limits,
    check_limits_of_pages,
    is_of_listener,
    read_protection,
)
from millstream.broker.config.standing_alone import SETTINGS_ALONE, stands_alone
from millstream.broker.config.table import BROKER_CONFIGS
from millstream.config_fields import read_config
from millstream.errors import ConfigError
from millstream.metadata.broker_registration import SecurityProtocol
from millstream.metadata.config_key import ConfigValue, UpdateMode, parse_config
from millstream.metadata.topic_config import log_config, topic_defaults
from millstream.security.principal import ANONYMOUS

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    ConfigT = TypeVar("ConfigT", bound=DataclassInstance)

_LOGGER = logging.getLogger(__name__)
_HTTP: Final = "HTTP"
_HTTPS: Final = "HTTPS"
FIXED_LISTENER_KEYS: Final = ("listeners", "listener.security.protocol.map")
"""Kafka lets them change while a broker runs; here they can be set to what they are, and not changed."""
FIXED_LOGIN_KEYS: Final = ("sasl.enabled.mechanisms", "sasl.mechanism.inter.broker.protocol")
"""The same of a broker with a listener where clients log in; others have no use for them."""
FLUSH_ON_ACK: Final = "millstream.flush.on.ack"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerConfig:
    """A node's settings: those that the broker's own services read, and all of them as `values` for the
    config classes of other parts.

    Fields up to `delegation_token_expiry_check_interval_ms` are the keys with underscores; the rest is derived.
    """

    node_id: int
    process_roles: tuple[str, ...]
    controller_quorum_voters: tuple[str, ...]
    controller_listener_names: tuple[str, ...]
    inter_broker_listener_name: str | None
    broker_rack: str | None
    millstream_flush_on_ack: str
    request_timeout_ms: int
    controller_socket_timeout_ms: int
    socket_connection_setup_timeout_ms: int
    socket_connection_setup_timeout_max_ms: int

    socket_listen_backlog_size: int
    connection_failed_authentication_delay_ms: int

    server_max_startup_time_ms: int
    controlled_shutdown_enable: bool
    initial_broker_registration_timeout_ms: int
    millstream_client_telemetry_enable: bool
    telemetry_max_bytes: int

    num_partitions: int
    auto_create_topics_enable: bool
    max_request_partition_size_limit: int
    fetch_max_bytes: int
    max_incremental_fetch_session_cache_slots: int

    log_cleaner_enable: bool
    log_retention_check_interval_ms: int
    log_initial_task_delay_ms: int
    log_flush_scheduler_interval_ms: int
    log_flush_offset_checkpoint_interval_ms: int
    log_flush_start_offset_checkpoint_interval_ms: int
    replica_high_watermark_checkpoint_interval_ms: int
    replica_lag_time_max_ms: int
    replica_selector_class: str | None
    producer_id_expiration_ms: int
    producer_id_expiration_check_interval_ms: int
    millstream_log_scrub_bytes_per_second: int
    millstream_log_scrub_interval_ms: int
    leader_replication_throttled_rate: int | None
    follower_replication_throttled_rate: int | None
    quota_window_num: int
    quota_window_size_seconds: int
    controller_quota_window_num: int
    controller_quota_window_size_seconds: int
    replication_quota_window_num: int
    replication_quota_window_size_seconds: int
    replica_alter_log_dirs_io_max_bytes_per_second: int | None
    replica_socket_timeout_ms: int
    replica_socket_receive_buffer_bytes: int
    millstream_replica_catch_up_bytes_per_second: int
    num_replica_fetchers: int
    num_replica_alter_log_dirs_threads: int | None

    group_coordinator_rebalance_protocols: tuple[str, ...]
    group_consumer_assignors: tuple[str, ...]
    group_share_max_share_sessions: int
    share_coordinator_state_topic_num_partitions: int
    share_coordinator_state_topic_replication_factor: int
    share_coordinator_state_topic_min_isr: int
    share_coordinator_state_topic_segment_bytes: int
    share_coordinator_state_topic_compression_codec: int
    share_coordinator_state_topic_prune_interval_ms: int
    share_coordinator_write_timeout_ms: int
    offsets_commit_timeout_ms: int
    offsets_topic_num_partitions: int
    offsets_topic_replication_factor: int
    offsets_topic_segment_bytes: int
    offsets_topic_compression_codec: int
    transaction_state_log_num_partitions: int
    transaction_state_log_replication_factor: int
    transaction_state_log_min_isr: int
    transaction_state_log_segment_bytes: int
    transaction_partition_verification_enable: bool
    add_partitions_to_txn_retry_backoff_ms: int
    add_partitions_to_txn_retry_backoff_max_ms: int

    broker_heartbeat_interval_ms: int
    broker_session_timeout_ms: int
    auto_leader_rebalance_enable: bool
    leader_imbalance_check_interval_seconds: int
    unclean_leader_election_interval_ms: int
    cordoned_log_dirs: tuple[str, ...]
    metadata_log_segment_bytes: int
    metadata_log_segment_ms: int

    authorizer_class_name: str
    delegation_token_secret_key: str | None = field(repr=False)
    delegation_token_expiry_check_interval_ms: int

    data_directories: tuple[str, ...]
    """Where logs live; the metadata log in the first one."""
    metadata_is_apart: bool
    """The first directory is for nothing but the metadata log."""
    listeners: tuple[Listener, ...]
    """Where to listen for clients."""
    controller_listeners: tuple[Listener, ...]
    """Where the controller listens: for other controllers, brokers and administrators."""
    advertised: tuple[Listener, ...] | None
    protection: Protection
    """Who may connect where, and what this node shows at other nodes."""
    http_listener: Listener | None
    """Where metrics and health are served."""
    settings: Mapping[str, str] = field(repr=False)
    """What was set, as text: DescribeConfigs tells it from the defaults."""
    values: Mapping[str, ConfigValue] = field(repr=False)
    """Every setting with the value that counts, by key; those who work with some of them
    `read` a config class of theirs."""

    @property
    def is_broker(self) -> bool:
        return "broker" in self.process_roles

    @property
    def is_controller(self) -> bool:
        return "controller" in self.process_roles

    def read(self, config: type[ConfigT], /, **given: object) -> ConfigT:
        """The settings that `config` declares, see `config_fields.read_config`."""
        return read_config(config, self.values, **given)


def broker_config(settings: Mapping[str, str]) -> BrokerConfig:
    """The settings to start a node with: those of `typed_config`, with warnings about keys without effect.

    Raises ConfigError for unknown keys too.
    """
    of_listeners = {name: value for name, value in settings.items() if is_of_listener(name)}
    others = {name: value for name, value in settings.items() if name not in of_listeners}
    config = typed_config(_known_settings(others), of_listeners)
    if config.authorizer_class_name:
        _say_who_is_anonymous(config)
    if "sasl.enabled.mechanisms" in settings and not config.protection.logins:
        _LOGGER.warning(
            "sasl.enabled.mechanisms: no listener has SASL (listener.security.protocol.map), so nobody has to log in"
        )
    if "log.flush.interval.ms" in settings and "log.flush.scheduler.interval.ms" not in settings:
        _LOGGER.warning(
            "log.flush.interval.ms has no effect until log.flush.scheduler.interval.ms says how often to look"
        )
    return config


def typed_config(
    known: Mapping[str, str], of_listeners: Mapping[str, str] | None = None
) -> BrokerConfig:
    """The typed settings, all of keys that have an effect.

    Raises ConfigError for bad values and unsupported combinations.

    `of_listeners`: settings of single listeners; without any of them, not even an empty mapping, what
    protects listeners is not read.
    """
    known = _as_started(known)
    values = parse_config(BROKER_CONFIGS, known)
    check_rules(values)
    log_config({}, topic_defaults(known))  # an error now, not at the first topic
    listeners = parse_listeners("listeners", _list_of(values, "listeners"))
    controller_names = [name.upper() for name in _list_of(values, "controller.listener.names")]
    advertised = parse_listeners("advertised.listeners", _list_of(values, "advertised.listeners"))
    protocols = _protocols(known, values, listeners, controller_names)
    check_listeners(values, listeners, advertised)
    protection = Protection(protocols=protocols)
    http_listener = _http_listener(values["millstream.http.listener"], protocols)
    if of_listeners is not None:
        protected = listeners
        if http_listener is not None and http_listener.name == _HTTPS:
            check_limits_of_pages(of_listeners, http_listener.name)
            protocols, protected = (
                protocols | {_HTTPS: SecurityProtocol.SSL},
                (*listeners, http_listener),
            )
        protection = read_protection(
            values, of_listeners, protocols, protected, stands_alone=stands_alone(known)
        )
    of_controller = tuple(each for each in listeners if each.name in controller_names)
    return read_config(
        BrokerConfig,
        values,
        data_directories=_data_directories(values),
        metadata_is_apart=values["metadata.log.dir"] not in {None, *_partition_directories(values)},
        listeners=tuple(each for each in listeners if each not in of_controller),
        controller_listeners=of_controller,
        advertised=advertised or None,
        protection=protection,
        http_listener=http_listener,
        settings=known,
        values=MappingProxyType(values),
    )


def _protocols(
    known: Mapping[str, str],
    values: Mapping[str, ConfigValue],
    listeners: tuple[Listener, ...],
    controller_names: list[str],
) -> dict[str, SecurityProtocol]:
    """Of the listeners of this node, and of those of controllers that it connects to."""
    undeclared: tuple[str, ...] = ()
    if "listener.security.protocol.map" not in known:
        undeclared = undeclared_plaintext(listeners, controller_names)
    names = [each.name for each in listeners]
    if not stands_alone(known):
        names += controller_names
    entries = _items(str(values["listener.security.protocol.map"]))
    return listener_protocols(names, entries, undeclared)


def _http_listener(
    value: ConfigValue, protocols: Mapping[str, SecurityProtocol]
) -> Listener | None:
    """With TLS it is a listener called HTTPS, whose stores are set like those of every other."""
    if value is None:
        return None
    (listener,) = parse_listeners("millstream.http.listener", [str(value)])
    if listener.name not in {_HTTP, _HTTPS}:
        raise ConfigError(
            f"millstream.http.listener is http://HOST:PORT or https://HOST:PORT, not {value}"
        )
    if listener.name in protocols:  # what protects that one would protect the pages too
        raise ConfigError(
            f"millstream.http.listener={value}: another listener is called {listener.name}; give that one another name"
        )
    return listener


def _as_started(known: Mapping[str, str]) -> dict[str, str]:
    """The settings that a node tells as given: those that were, those without which no node of Kafka starts,
    and those that one alone needs.

    `broker.id` is the old name of `node.id`; whichever is given, both are told.
    """
    started = dict(known)
    if known.get("broker.id", "-1").strip() != "-1":
        started.setdefault("node.id", known["broker.id"])
    for key in BROKER_CONFIGS.values():
        if key.is_always_given:
            started.setdefault(key.name, key.default_text or "")
    started.setdefault("broker.id", started["node.id"])
    return {**SETTINGS_ALONE, **started} if stands_alone(started) else started


def changed_config(static: BrokerConfig, overrides: Mapping[str, str]) -> BrokerConfig:
    """`static` with the changes made while the broker ran; keys without effect and read-only keys are left out.

    Where to listen, what is advertised, what protects listeners and `settings` stay those of the
    start. Raises ConfigError.
    """
    changes = {
        name: value
        for name, value in overrides.items()
        if name in BROKER_CONFIGS
        and name not in FIXED_LISTENER_KEYS
        and BROKER_CONFIGS[name].dynamic is not UpdateMode.READ_ONLY
    }
    changed = typed_config({**static.settings, **changes})
    return replace(
        changed,
        node_id=static.node_id,
        data_directories=static.data_directories,
        metadata_is_apart=static.metadata_is_apart,
        listeners=static.listeners,
        controller_listeners=static.controller_listeners,
        advertised=static.advertised,
        protection=replace(
            static.protection, limits=changed_limits(static.protection.limits, overrides)
        ),
        settings=static.settings,
    )


def parse_override(text: str) -> tuple[str, str]:
    """Splits one `--override key=value` into key and value."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"--override {text}: write key=value, such as num.partitions=3")
    return key.strip(), value.strip()


def with_client_port(settings: Mapping[str, str], port: int) -> dict[str, str]:
    """The settings with the client listener, and what is advertised for it, at `port`."""
    changed = dict(settings)
    controller_names = settings.get("controller.listener.names", "CONTROLLER").upper().split(",")
    default = BROKER_CONFIGS["listeners"].default_text or ""
    for key, text in (
        ("listeners", settings.get("listeners", default)),
        ("advertised.listeners", settings.get("advertised.listeners", "")),
    ):
        entries = _items(text)
        if entries:
            changed[key] = ",".join(with_port(entries, controller_names, port))
    return changed


def _known_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings that mean something here; the others are warned of once, or refused."""
    known: dict[str, str] = {}
    without_effect = []
    for name, value in settings.items():
        if reason_without_effect(name) is not None:
            without_effect.append(name)
        if name in BROKER_CONFIGS:
            known[name] = value
        elif name not in without_effect:
            raise ConfigError(_unknown(name))
    if without_effect:
        _LOGGER.warning(
            "settings without effect in this version: %s (`millstream config explain KEY` says why)",
            ", ".join(without_effect),
        )
    return known


def reason_without_effect(name: str) -> str | None:
    """Returns the reason why a setting has no effect; None for one that has an effect, and for an unknown name."""
    if is_of_listener(name):
        return None  # one that does nothing is refused
    key = BROKER_CONFIGS.get(name)
    return why_without_effect(name) if key is None else key.without_effect


def _unknown(name: str) -> str:
    import difflib  # only to name a spelling mistake

    nearest = difflib.get_close_matches(name, BROKER_CONFIGS, n=1, cutoff=0.0)
    return f"unknown setting {name}: did you mean {nearest[0]}?"


def _partition_directories(values: Mapping[str, ConfigValue]) -> tuple[str, ...]:
    return _list_of(values, "log.dirs") or _list_of(values, "log.dir")


def _data_directories(values: Mapping[str, ConfigValue]) -> tuple[str, ...]:
    """That of the metadata log first."""
    directories = _partition_directories(values)
    metadata_directory = values["metadata.log.dir"] or directories[0]
    assert isinstance(metadata_directory, str), "metadata.log.dir is a string in the table"
    return metadata_directory, *(each for each in directories if each != metadata_directory)


def _list_of(values: Mapping[str, ConfigValue], name: str) -> tuple[str, ...]:
    value = values[name]
    assert value is None or isinstance(value, tuple), f"{name} is a list in the table"
    return value or ()


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _say_who_is_anonymous(config: BrokerConfig) -> None:
    from millstream.security.authorizer_settings import AuthorizerSettings

    is_anybody = SecurityProtocol.PLAINTEXT in config.protection.protocols.values()
    if is_anybody and ANONYMOUS.text not in config.read(AuthorizerSettings).super_users:
        _LOGGER.warning(
            "authorizer.class.name: clients and other nodes on PLAINTEXT listeners are %s, which is not among super.users: "
            "they may do what access rules allow it, and no more",
            ANONYMOUS,
        )
