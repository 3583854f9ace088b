"""Checks settings of a broker against each other, and refuses those that this version cannot serve."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Final

from millstream.broker.config.listeners import Listener
from millstream.broker.config.sasl_settings import listener_of_brokers
from millstream.errors import ConfigError
from millstream.metadata.config_key import ConfigValue
from millstream.net.server.limits import connection_overrides

ALL_DIRECTORIES: Final = "*"
"""In `cordoned.log.dirs`."""
_CLEANER_BYTES_PER_THREAD_LEAST: Final = 1 << 20
_NOT_AN_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - refused, not bound
_ORDERED: Final = (
    *(
        (f"group.{kind}.min.{what}", f"group.{kind}.{what}", f"group.{kind}.max.{what}")
        for kind in ("consumer", "share", "streams")
        for what in ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms")
    ),
    (
        "group.share.min.record.lock.duration.ms",
        "group.share.record.lock.duration.ms",
        "group.share.max.record.lock.duration.ms",
    ),
    (
        "group.share.min.delivery.count.limit",
        "group.share.delivery.count.limit",
        "group.share.max.delivery.count.limit",
    ),
    (
        "group.share.min.partition.max.record.locks",
        "group.share.partition.max.record.locks",
        "group.share.max.partition.max.record.locks",
    ),
    ("group.streams.num.standby.replicas", "group.streams.max.standby.replicas"),
    ("replica.fetch.wait.max.ms", "replica.socket.timeout.ms"),
    ("replica.fetch.wait.max.ms", "replica.lag.time.max.ms"),
)
"""Keys of which each must be no more than the next."""


def check_rules(values: Mapping[str, ConfigValue]) -> None:
    """Checks the combination of `values` by key, each valid by itself. Raises ConfigError."""
    _check_roles(values)
    _check_connections(values)
    _check_logs(values)
    _check_groups(values)
    _check_cordoned(values)
    for names in _ORDERED:
        for lesser, greater in itertools.pairwise(names):
            if _number(values, lesser) > _number(values, greater):
                raise ConfigError(
                    f"{lesser} must not be more than {greater}, which is {values[greater]}"
                )


def _check_cordoned(values: Mapping[str, ConfigValue]) -> None:
    cordoned, known = values["cordoned.log.dirs"], values["log.dirs"] or (values["log.dir"],)
    assert isinstance(cordoned, tuple), "the table has a list for it"
    assert isinstance(known, tuple), "the table has a list for it"
    if ALL_DIRECTORIES in cordoned and len(cordoned) > 1:
        raise ConfigError("cordoned.log.dirs: * stands for all directories, and by itself")
    unknown = [each for each in cordoned if each not in {*known, ALL_DIRECTORIES}]
    if unknown:
        raise ConfigError(f"cordoned.log.dirs: {unknown[0]} is none of log.dirs")


def check_listeners(
    values: Mapping[str, ConfigValue],
    listeners: tuple[Listener, ...],
    advertised: tuple[Listener, ...],
) -> None:
    """Checks listeners.

    Raises ConfigError for two at one port, a name that no listener has, an address clients cannot connect to, a role
    that has no listener, or one that is none of its roles'.
    """
    _check_listeners_of_roles(values, listeners)
    ports = [each.port for each in listeners if each.port]
    if len(set(ports)) != len(ports):
        raise ConfigError(
            f"listeners: each needs a port of its own, not {', '.join(map(str, ports))}"
        )
    _check_listener_of_brokers(values, listeners)
    for listener in advertised:
        if listener.host == _NOT_AN_ADDRESS:
            raise ConfigError(
                f"advertised.listeners cannot use {_NOT_AN_ADDRESS}: give an address that clients can connect to"
            )
    unknown = {each.name for each in advertised} - {each.name for each in listeners}
    if unknown:
        raise ConfigError(
            f"advertised.listeners names {', '.join(sorted(unknown))}, which listeners does not have"
        )


def _check_listener_of_brokers(
    values: Mapping[str, ConfigValue], listeners: tuple[Listener, ...]
) -> None:
    """Raises ConfigError where other brokers could not connect to this one."""
    of_controller = values["controller.listener.names"]
    assert isinstance(of_controller, tuple), "controller.listener.names is a list in the table"
    not_for_clients = {each.upper() for each in of_controller}
    known = [each.name for each in listeners if each.name not in not_for_clients]
    name = listener_of_brokers(values)
    if not known or name in known:
        return  # a controller alone has none
    if values["inter.broker.listener.name"] is None:
        raise ConfigError(
            f"inter.broker.listener.name: brokers speak to each other at {name}, which listeners does not have; "
            f"name the one that they use, such as {known[0]}"
        )
    raise ConfigError(
        f"inter.broker.listener.name is {values['inter.broker.listener.name']}, which listeners does not have for clients; "
        f"name one of {', '.join(known)}"
    )


def _check_listeners_of_roles(
    values: Mapping[str, ConfigValue], listeners: tuple[Listener, ...]
) -> None:
    roles, names = values["process.roles"], values["controller.listener.names"]
    assert isinstance(roles, tuple), "process.roles is a list in the table"
    assert isinstance(names, tuple), "controller.listener.names is a list in the table"
    of_controller = {name.upper() for name in names}
    own = {each.name for each in listeners}
    if "broker" in roles and not own - of_controller:
        raise ConfigError(
            "listeners: at least one must serve clients, such as PLAINTEXT://127.0.0.1:9092"
        )
    if "controller" not in roles and own & of_controller:
        raise ConfigError(
            f"listeners has {', '.join(sorted(own & of_controller))}, and process.roles=broker is no controller: leave those of "
            "controller.listener.names out"
        )
    if "broker" not in roles and not own & of_controller:
        raise ConfigError(
            f"listeners: a controller needs one of controller.listener.names, such as {names[0]}://127.0.0.1:9093"
        )
    if "broker" not in roles and own - of_controller:
        raise ConfigError(
            f"listeners has {', '.join(sorted(own - of_controller))}, and process.roles=controller serves no clients: keep "
            "those of controller.listener.names"
        )


def _check_broker_alone(values: Mapping[str, ConfigValue], voters: tuple[str, ...]) -> None:
    if values["controller.quorum.auto.join.enable"]:
        raise ConfigError(
            "controller.quorum.auto.join.enable is for controllers: add controller to process.roles, or leave it out"
        )
    if not voters and not values["controller.quorum.bootstrap.servers"]:
        raise ConfigError(
            "process.roles=broker: a broker must know its controllers; give controller.quorum.bootstrap.servers or controller.quorum.voters"
        )
    if any(voter.partition("@")[0].strip() == str(values["node.id"]) for voter in voters):
        raise ConfigError(
            f"controller.quorum.voters names node {values['node.id']}, whose process.roles is broker: add controller, or leave it out"
        )


def _check_roles(values: Mapping[str, ConfigValue]) -> None:
    roles, voters = values["process.roles"], values["controller.quorum.voters"]
    assert isinstance(roles, tuple), "process.roles is a list in the table"
    assert isinstance(voters, tuple), "controller.quorum.voters is a list in the table"
    if values["broker.id"] not in {-1, values["node.id"]}:
        raise ConfigError(
            "node.id and broker.id are the same thing: give them the same value, or one only"
        )
    if "controller" not in roles:
        _check_broker_alone(values, voters)
        return
    if voters and all(
        voter.partition("@")[0].strip() != str(values["node.id"]) for voter in voters
    ):
        raise ConfigError(
            f"controller.quorum.voters names {', '.join(voters)}, and this is node {values['node.id']}: write "
            f"{values['node.id']}@HOST:PORT, or remove the key"
        )


def _check_connections(values: Mapping[str, ConfigValue]) -> None:
    overrides = connection_overrides(str(values["max.connections.per.ip.overrides"]))
    if values["max.connections.per.ip"] == 0 and not overrides:
        raise ConfigError(
            "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides is set"
        )
    queued = _number(values, "queued.max.request.bytes")
    if 0 < queued < _number(values, "socket.request.max.bytes"):
        raise ConfigError(
            "queued.max.request.bytes must be larger or equal to socket.request.max.bytes, or one request could not be read"
        )


def _check_groups(values: Mapping[str, ConfigValue]) -> None:
    protocols = values["group.coordinator.rebalance.protocols"]
    assert isinstance(protocols, tuple), (
        "group.coordinator.rebalance.protocols is a list in the table"
    )
    if "classic" not in protocols:
        raise ConfigError(
            "group.coordinator.rebalance.protocols: add classic, which cannot be disabled"
        )
    for kind in ("consumer", "share", "streams"):
        heartbeat, session = (
            f"group.{kind}.heartbeat.interval.ms",
            f"group.{kind}.session.timeout.ms",
        )
        if _number(values, heartbeat) >= _number(values, session):
            raise ConfigError(
                f"{heartbeat} must be less than {session}, which is {values[session]}"
            )


def _check_logs(values: Mapping[str, ConfigValue]) -> None:
    for name in ("log.retention.ms", "log.retention.minutes", "log.retention.hours"):
        value = values[name]
        if value == 0 or (isinstance(value, int) and value < -1):
            raise ConfigError(f"{name} must be unlimited (-1), or greater than or equal to 1")
    threads = _number(values, "log.cleaner.threads")
    if (
        _number(values, "log.cleaner.dedupe.buffer.size")
        < threads * _CLEANER_BYTES_PER_THREAD_LEAST
    ):
        raise ConfigError(
            "log.cleaner.dedupe.buffer.size must be at least 1 MiB for each thread of log.cleaner.threads"
        )


def _number(values: Mapping[str, ConfigValue], name: str) -> int:
    value = values[name]
    assert isinstance(value, int), f"{name} is a number in the table"
    return value
