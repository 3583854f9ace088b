"""The nodes of a cluster on this machine: their roles, ports and settings, and the text in which
their directory keeps them.

Pure: which ports are free, and what a disk holds, is looked up elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from millstream.broker.config.standing_alone import settings_of_few
from millstream.errors import ConfigError, MillstreamError
from millstream.properties_text import parse_properties, properties_text
from millstream.quoting import counted

HOST: Final = "127.0.0.1"
CONTROLLER_LISTENER: Final = "CONTROLLER"
OPEN_LISTENER: Final = "PLAINTEXT"
"""Where everybody is served, brokers among them."""
LOGIN_LISTENER: Final = "SASL_SSL"
"""Where clients of a secure cluster log in."""
BROKER_LISTENER: Final = "INTERNAL"
"""Where brokers of a secure cluster connect to each other."""
OWN_KEYS: Final = frozenset(
    {
        "advertised.listeners", "broker.id", "controller.listener.names", "controller.quorum.bootstrap.servers",
        "controller.quorum.voters", "inter.broker.listener.name", "listener.security.protocol.map", "listeners", "log.dir",
        "log.dirs", "metadata.log.dir", "node.id", "process.roles", "security.inter.broker.protocol",
    }
)  # fmt: skip
"""Settings that differ from node to node or follow from the others of the cluster: nobody else may give them."""
_FIRST_CONTROLLER_ID: Final = 101
"""Of controllers apart from brokers, so that brokers count from 1."""
_CONTROLLERS_APART: Final = 3
"""One of them may be gone. More make each change wait for more disks, and survive more only from five on."""
_PORT_MAX: Final = 65_535
_STATE: Final = "state"
_TOKEN_SECRET: Final = "token.secret"  # noqa: S105 - the name of a line
_FORMATTING: Final = "formatting"
_FORMATTED: Final = "formatted"


class ClusterMismatch(ConfigError):
    """The directory holds another cluster than the one that is asked for."""


class DamagedCluster(MillstreamError):
    """The directory of a cluster cannot be used as it is."""


class Roles(StrEnum):
    """The two kinds of clusters: each node is controller and broker, or controllers are nodes of their own."""

    COMBINED = "combined"
    SEPARATE = "separate"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLayout:
    """One node. A port of None: it has not that role."""

    id: int
    client_port: int | None
    controller_port: int | None
    directory_id: str = ""
    """Of a controller: by it the voters know its disk."""
    broker_port: int | None = None
    """Of a broker of a secure cluster: for other brokers."""

    @property
    def name(self) -> str:
        return f"node-{self.id}"

    @property
    def roles(self) -> str:
        """`process.roles` of the node."""
        named = (("broker", self.client_port), ("controller", self.controller_port))
        return ",".join(role for role, port in named if port is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterLayout:
    """A whole cluster.

    `is_formatted`: all directories were formatted once, so that one that is not has lost its disk.
    """

    cluster_id: str
    roles: Roles
    nodes: tuple[NodeLayout, ...]
    is_formatted: bool = False
    token_secret: str = field(default="", repr=False)
    """Of a secure cluster: with it the secrets of delegation tokens are computed."""

    @property
    def is_secure(self) -> bool:
        """Whether the cluster was begun with `--secure`."""
        return bool(self.token_secret)

    @property
    def brokers(self) -> tuple[NodeLayout, ...]:
        return tuple(node for node in self.nodes if node.client_port is not None)

    @property
    def controllers(self) -> tuple[NodeLayout, ...]:
        return tuple(node for node in self.nodes if node.controller_port is not None)

    @property
    def bootstrap(self) -> str:
        """The addresses for clients."""
        return ",".join(f"{HOST}:{node.client_port}" for node in self.brokers)

    @property
    def bootstrap_controllers(self) -> str:
        """The addresses of the controllers."""
        return ",".join(f"{HOST}:{node.controller_port}" for node in self.controllers)

    @property
    def initial_controllers(self) -> str:
        """The first voters, as `millstream storage format --initial-controllers` takes them."""
        return ",".join(
            f"{node.id}@{HOST}:{node.controller_port}:{node.directory_id}"
            for node in self.controllers
        )

    def node_settings(self, node: NodeLayout, data: str) -> dict[str, str]:
        """Returns the settings of `node`, whose data is in `data`."""
        ports = (
            (LOGIN_LISTENER if self.is_secure else OPEN_LISTENER, node.client_port),
            (BROKER_LISTENER, node.broker_port),
            (CONTROLLER_LISTENER, node.controller_port),
        )
        return {
            "process.roles": node.roles,
            "node.id": str(node.id),
            "listeners": ",".join(
                f"{name}://{HOST}:{port}" for name, port in ports if port is not None
            ),
            "controller.listener.names": CONTROLLER_LISTENER,
            "controller.quorum.bootstrap.servers": self.bootstrap_controllers,
            "log.dirs": data,
            **settings_of_few(len(self.brokers)),
        }

    def text(self) -> str:
        """Returns what `read_layout` reads."""
        lines = {
            "cluster.id": self.cluster_id,
            "roles": self.roles.value,
            _STATE: _FORMATTED if self.is_formatted else _FORMATTING,
        }
        if self.is_secure:
            lines[_TOKEN_SECRET] = self.token_secret
        for node in self.nodes:
            fields = [
                _port_text(node.client_port),
                _port_text(node.controller_port),
                node.directory_id,
            ]
            if self.is_secure:
                fields.append(_port_text(node.broker_port))
            lines[f"node.{node.id}"] = ",".join(fields)
        heading = (
            "Written by `millstream cluster`. Of each node: port for clients, port of the controller, id of its directory; if it is secure, "
            "port for other brokers."
        )
        return properties_text(lines, heading)

    def check_matches(
        self, count: int | None, roles: Roles | None, where: str, *, secure: bool = False
    ) -> None:
        """Raises ClusterMismatch where a cluster of `count` nodes, or of other roles, or one more
        or less secure is asked for.
        """
        if secure != self.is_secure:
            raise ClusterMismatch(
                f"{where} holds a cluster that was begun with --secure: start it with --secure"
                if self.is_secure
                else f"{where} holds a cluster that was begun without --secure: leave --secure out, or give another directory"
            )
        has = len(self.brokers)
        if count is not None and count != has:
            raise ClusterMismatch(
                f"{where} holds a cluster of {counted(has, 'node')}, not of {count}: leave --nodes out, or give another directory"
            )
        if roles is not None and roles is not self.roles:
            raise ClusterMismatch(
                f"{where} holds a cluster with --roles {self.roles}, not {roles}: leave --roles out, or give another directory"
            )

    def with_client_ports(self, first: int) -> ClusterLayout:
        """Returns the cluster with its brokers at `first` and the ports after it.

        Controllers stay where their voters know them.

        Raises ConfigError where the two would meet.
        """
        ports = dict(zip((node.id for node in self.brokers), _ports(first, len(self.brokers)), strict=True))  # fmt: skip
        kept = {port for node in self.nodes for port in (node.controller_port, node.broker_port)}
        taken = kept & set(ports.values())
        if taken:
            raise ConfigError(
                f"port {min(filter(None, taken))} is one of this cluster at which nodes reach each other, which cannot move: choose another --port"
            )
        nodes = tuple(replace(node, client_port=ports.get(node.id)) for node in self.nodes)
        return replace(self, nodes=nodes)


def new_layout(
    cluster_id: str,
    roles: Roles,
    count: int,
    free_ports: Callable[[int], Sequence[int]],
    directory_id: Callable[[], str],
    *,
    token_secret: str = "",
) -> ClusterLayout:
    """Plans a cluster of `count` brokers: each is a controller, too, or they have three controllers (one,
    below three brokers) beside them.

    `free_ports`: as many ports as it is asked for, those of brokers first. `token_secret`: of a secure
    cluster. Raises ConfigError.
    """
    brokers = range(1, count + 1)
    if roles is Roles.COMBINED:
        controllers = brokers
    else:
        apart = _CONTROLLERS_APART if count >= _CONTROLLERS_APART else 1
        controllers = range(_FIRST_CONTROLLER_ID, _FIRST_CONTROLLER_ID + apart)
    internal = brokers if token_secret else range(0)
    ports = iter(free_ports(len(brokers) + len(controllers) + len(internal)))
    of_broker = dict(zip(brokers, ports))  # noqa: B905 - the rest is for controllers
    of_controller = dict(zip(controllers, ports))  # noqa: B905 - the rest is between brokers
    between_brokers = dict(zip(internal, ports, strict=True))
    nodes = tuple(
        NodeLayout(
            id=node_id,
            client_port=of_broker.get(node_id),
            controller_port=of_controller.get(node_id),
            directory_id=directory_id() if node_id in of_controller else "",
            broker_port=between_brokers.get(node_id),
        )
        for node_id in sorted({*brokers, *controllers})
    )
    return ClusterLayout(cluster_id=cluster_id, roles=roles, nodes=nodes, token_secret=token_secret)


def ports_from(first: int) -> Callable[[int], Sequence[int]]:
    """Returns the ports from `first` on, as `new_layout` wants them."""
    return lambda count: _ports(first, count)


def _ports(first: int, count: int) -> range:
    if first + count - 1 > _PORT_MAX:
        raise ConfigError(
            f"the cluster needs {count} ports from {first} on, and the last one is {_PORT_MAX}: choose another --port"
        )
    return range(first, first + count)


def read_layout(text: str, path: str) -> ClusterLayout:
    """Reads the text of `ClusterLayout.text`. Raises DamagedCluster."""
    try:
        lines = parse_properties(text)
        nodes = tuple(
            _node(key.removeprefix("node."), value)
            for key, value in lines.items()
            if key.startswith("node.")
        )
        read = ClusterLayout(
            cluster_id=lines["cluster.id"],
            roles=Roles(lines["roles"]),
            nodes=nodes,
            is_formatted=lines[_STATE] == _FORMATTED,
            token_secret=lines.get(_TOKEN_SECRET, ""),
        )
    except (ConfigError, KeyError, ValueError) as error:
        raise DamagedCluster(
            f"{path} is damaged ({error}): restore it, or give another directory"
        ) from error
    if not (read.brokers and read.controllers):
        raise DamagedCluster(
            f"{path} is damaged (it names no nodes): restore it, or give another directory"
        )
    return read


def _node(node_id: str, value: str) -> NodeLayout:
    client, controller, directory_id, *between_brokers = value.split(",")
    return NodeLayout(
        id=int(node_id),
        client_port=_port(client),
        controller_port=_port(controller),
        directory_id=directory_id,
        broker_port=_port(between_brokers[0]) if between_brokers else None,
    )


def _port_text(port: int | None) -> str:
    return "-" if port is None else str(port)


def _port(text: str) -> int | None:
    return None if text == "-" else int(text)
