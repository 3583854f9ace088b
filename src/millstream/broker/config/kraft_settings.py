"""The settings that say what a node is in its cluster: its roles, its quorum, its directories.

Those of every node of Kafka are taken.

Whether this version can run such a node is said elsewhere (`rules`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from millstream.broker.config.listeners import Listener, parse_listeners
from millstream.broker.config.table import BROKER_CONFIGS
from millstream.config_fields import read_config
from millstream.errors import ConfigError
from millstream.metadata.config_key import parse_config

EVERY_ADDRESS: Final = {"", "0.0.0.0", "::"}  # noqa: S104 - compared, not bound
_PORTS: Final = 65_536
_THIS_MACHINE: Final = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class KRaftSettings:
    """One field a setting, as it was given."""

    node_id: int
    process_roles: tuple[str, ...]
    listeners: tuple[str, ...]
    advertised_listeners: tuple[str, ...] | None
    controller_listener_names: tuple[str, ...]
    controller_quorum_voters: tuple[str, ...]
    controller_quorum_bootstrap_servers: tuple[str, ...]
    controller_quorum_auto_join_enable: bool
    log_dir: tuple[str, ...]
    log_dirs: tuple[str, ...] | None
    metadata_log_dir: str | None
    unstable_feature_versions_enable: bool

    @property
    def is_controller(self) -> bool:
        return "controller" in self.process_roles

    @property
    def takes_unstable_features(self) -> bool:
        """Whether features may have levels that are not stable."""
        return self.unstable_feature_versions_enable

    @property
    def voter_ids(self) -> frozenset[str]:
        """The nodes that `controller.quorum.voters` names."""
        return frozenset(each.partition("@")[0].strip() for each in self.controller_quorum_voters)

    @property
    def metadata_directory(self) -> str:
        return self.metadata_log_dir or (self.log_dirs or self.log_dir)[0]

    @property
    def directories(self) -> tuple[str, ...]:
        """Every directory of the node once, sorted."""
        return tuple(sorted({*(self.log_dirs or self.log_dir), self.metadata_directory}))

    @property
    def controller_listener(self) -> str:
        """The name of the listener under which controllers know each other."""
        return self.controller_listener_names[0].upper()

    def controller_endpoints(self) -> tuple[Listener, ...]:
        """Returns where this node's controller is reached: for each of its listeners what is
        advertised, else where it listens.

        Raises ConfigError.
        """
        bound = {each.name: each for each in parse_listeners("listeners", self.listeners)}
        advertised = {
            each.name: each
            for each in parse_listeners("advertised.listeners", self.advertised_listeners or ())
        }
        names = [name.upper() for name in self.controller_listener_names]
        found = [advertised.get(name) or bound.get(name) for name in names]
        return tuple(each for each in found if each is not None)

    def voters(self) -> tuple[QuorumVoter, ...]:
        """Returns the voters that `controller.quorum.voters` names. Raises ConfigError."""
        found = []
        for each in self.controller_quorum_voters:
            voter_id, at, address = each.strip().partition("@")
            host, port = _host_and_port("controller.quorum.voters", address)
            if not at or not voter_id.strip().isdigit():
                raise ConfigError(f"controller.quorum.voters: write ID@HOST:PORT, not {each}")
            found.append(QuorumVoter(int(voter_id), host, port))
        return tuple(found)

    def bootstrap_servers(self) -> tuple[Listener, ...]:
        """Returns the addresses of `controller.quorum.bootstrap.servers`. Raises ConfigError."""
        key = "controller.quorum.bootstrap.servers"
        return tuple(
            Listener(self.controller_listener, *_host_and_port(key, each.strip()))
            for each in self.controller_quorum_bootstrap_servers
        )

    def other_nodes(self, host_name: str) -> tuple[str, ...]:
        """Returns the voters and bootstrap servers that are not this node, whose machine is called `host_name`.

        Raises ConfigError.
        """
        own_id = str(self.node_id) if self.is_controller else None
        voters = [
            each for each in self.controller_quorum_voters if each.partition("@")[0].strip() != own_id
        ]  # fmt: skip
        own = self._own_addresses(host_name) if self.is_controller else frozenset()
        servers = [
            each for each in self.controller_quorum_bootstrap_servers if _address(each) not in own
        ]
        return (*voters, *servers)

    def _own_addresses(self, host_name: str) -> frozenset[tuple[str, str]]:
        names = {name.upper() for name in self.controller_listener_names}
        bound = parse_listeners("listeners", self.listeners)
        listeners = [each for each in bound if each.name in names] + [*self.controller_endpoints()]
        return frozenset(
            (host.lower(), str(each.port))
            for each in listeners
            for host in _names_of(each.host, host_name)
        )


class QuorumVoter(NamedTuple):
    """A voter as the configuration names it."""

    id: int
    host: str
    port: int


def kraft_settings(given: Mapping[str, str]) -> KRaftSettings:
    """Reads the settings of a node of any role; keys that are not known count for nothing, as in Kafka.

    Raises ConfigError for values that no node starts with.
    """
    known = {name: value for name, value in given.items() if name in BROKER_CONFIGS}
    old_id = known.get("broker.id", "-1").strip()
    if old_id != "-1":
        known.setdefault("node.id", old_id)
    settings = read_config(KRaftSettings, parse_config(BROKER_CONFIGS, known))
    if old_id not in {"-1", str(settings.node_id)}:
        raise ConfigError(
            "node.id and broker.id are the same thing: give them the same value, or one only"
        )
    _check_quorum(settings)
    return settings


def _check_quorum(settings: KRaftSettings) -> None:
    voters, node_id = settings.controller_quorum_voters, settings.node_id
    if not settings.controller_listener_names:
        raise ConfigError(
            "controller.listener.names is empty: name the listener of the controllers, such as CONTROLLER"
        )
    if not settings.is_controller:
        if settings.controller_quorum_auto_join_enable:
            raise ConfigError(
                "controller.quorum.auto.join.enable is for controllers: add controller to process.roles, or leave it out"
            )
        if str(node_id) in settings.voter_ids:
            raise ConfigError(
                f"controller.quorum.voters names node {node_id}, whose process.roles is broker: add controller, or leave it out of the voters"
            )
        if not voters and not settings.controller_quorum_bootstrap_servers:
            raise ConfigError(
                "a broker must know its controllers: give controller.quorum.bootstrap.servers or controller.quorum.voters"
            )
    elif voters and str(node_id) not in settings.voter_ids:
        raise ConfigError(
            f"controller.quorum.voters is {','.join(voters)}, without node {node_id}, which is a controller: add {node_id}@HOST:PORT"
        )


def _host_and_port(key: str, text: str) -> tuple[str, int]:
    host, port = _address(text)
    if not host or not port.isdigit() or not 0 < int(port) < _PORTS:
        raise ConfigError(f"{key}: {text} is not HOST:PORT")
    return host, int(port)


def _address(server: str) -> tuple[str, str]:
    host, _, port = server.strip().rpartition(":")
    return host.strip("[]").lower(), port


def _names_of(host: str, host_name: str) -> set[str]:
    """Under which names a machine reaches itself that listens at `host`."""
    if host in EVERY_ADDRESS:
        return {*_THIS_MACHINE, host_name}
    return set(_THIS_MACHINE) if host.lower() in _THIS_MACHINE else {host}
