"""`Cluster`: several real nodes for tests, in this process or in processes of their own, which can
be killed, paused and cut off.

    with Cluster() as cluster:
        producer = Producer(bootstrap_servers=cluster.bootstrap_servers)
        cluster.kill(cluster.active_controller())

Clients reach every node. Nodes reach each other through entrances of this process (`faults/links`),
which is where links are cut.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar, Final, Literal, Self

from millstream.cli.cluster.directory import ClusterDirectory, free_ports, held_port
from millstream.cli.cluster.layout import (
    BROKER_LISTENER,
    CONTROLLER_LISTENER,
    HOST,
    OPEN_LISTENER,
    OWN_KEYS,
    ClusterLayout,
    NodeLayout,
    Roles,
)
from millstream.cli.cluster.secure_files import SECURE_KEYS
from millstream.errors import ConfigError, MillstreamError
from millstream.runtime.system import SystemClock
from millstream.testing.broker import TEST_SETTINGS
from millstream.testing.cluster_node import ClusterNodeRunner, ClusterProcess, ClusterThread
from millstream.testing.faults.links import NodeLinks
from millstream.testing.leader_lookup import leader_known_to
from millstream.testing.node_runner import NodeFailed

if TYPE_CHECKING:
    import ssl

_SETTINGS: Final[Mapping[str, str]] = {
    **TEST_SETTINGS,
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "300",
}
"""A broker that was killed is fenced after its session, and may not come back before: that is 9 s by default."""
_AGAIN_S: Final = 0.02


class NodeStateError(MillstreamError):
    """The node is not in a state in which that can be done to it, or there is no such node."""


class Cluster:
    """Nodes on 127.0.0.1, with ports that they keep. A context manager; `start` and `stop` do the same by hand.

    Its methods block until what they do is done, and may be called from any one thread at a time.
    """

    _is_secure: ClassVar[bool] = False

    def __init__(
        self,
        nodes: int = 3,
        *,
        roles: Literal["combined", "separate"] = "combined",
        in_process: bool = True,
        data: str | Path | None = None,
        settings: Mapping[str, str] | None = None,
        node_settings: Mapping[int, Mapping[str, str]] | None = None,
        start_timeout_s: float = 60.0,
    ) -> None:
        """`nodes`: the number of brokers, with ids from 1.

        With `roles="separate"` controllers are nodes beside them, with ids from 101: three for
        three brokers or more, else one.

        `data`: the directory of the cluster, as `millstream cluster --data` has it; by default a temporary one that
        goes with the cluster. `settings`: of all nodes, under Kafka's names, over those of `TEST_SETTINGS` and a
        session of brokers of 3 s. `node_settings`: of single nodes, by id, over those of all, such as `broker.rack`.
        Raises ConfigError for one that the cluster sets itself, or for a directory with another cluster.
        """
        given = [settings or {}, *(node_settings or {}).values()]
        own_keys = SECURE_KEYS if self._is_secure else OWN_KEYS
        own = sorted(own_keys & {key for each in given for key in each})
        if own:
            raise ConfigError(f"{own[0]} is set for each node by the cluster itself")
        self._in_process = in_process
        self._settings = {**_SETTINGS, **(settings or {})}
        self._settings_by_node = node_settings or {}
        self._start_timeout_s = start_timeout_s
        self._owns_data = data is None
        self.data = Path(data) if data is not None else Path(tempfile.mkdtemp(prefix="millstream-"))
        self._directory = ClusterDirectory(self.data)
        self._layout = self._directory.layout(nodes, Roles(roles), port=0, secure=self._is_secure)
        with _held(_ports_of(self._layout)):
            self._hidden_ports = _hidden_ports(self._layout)
        for node in self._settings_by_node:
            self._known(node)
        self._held_ports = contextlib.ExitStack()
        """From the first start to the last stop: other clusters do not take the port of a node that is down."""
        self._links: NodeLinks | None = None
        self._nodes: dict[int, ClusterNodeRunner] = {}
        """Those that live, paused ones among them."""
        self._starting: set[int] = set()
        """Those of them that nobody has seen ready yet."""

    def __repr__(self) -> str:
        place = "in this process" if self._in_process else "in processes of their own"
        return f"<{type(self).__name__} {self.bootstrap_servers}, {place}, {len(self._nodes)} of {len(self.node_ids)} nodes up>"

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.stop()
        finally:
            self._end()

    @property
    def bootstrap_servers(self) -> str:
        """HOST:PORT of all brokers, as clients want it. Ports stay over `restart`."""
        return self._layout.bootstrap

    @property
    def bootstrap_controllers(self) -> str:
        """HOST:PORT of all controllers, as `Admin(bootstrap_controllers=...)` wants it."""
        return self._layout.bootstrap_controllers

    @property
    def cluster_id(self) -> str:
        """The id of the cluster, 22 characters."""
        return self._layout.cluster_id

    @property
    def node_ids(self) -> tuple[int, ...]:
        """The ids of all nodes, whether they run or not."""
        return tuple(node.id for node in self._layout.nodes)

    @property
    def brokers(self) -> tuple[int, ...]:
        """The ids of the nodes that are brokers."""
        return tuple(node.id for node in self._layout.brokers)

    @property
    def controllers(self) -> tuple[int, ...]:
        """The ids of the nodes that are controllers."""
        return tuple(node.id for node in self._layout.controllers)

    def address(self, node: int) -> str:
        """Returns HOST:PORT of one broker. Raises NodeStateError for a node that is none."""
        port = self._known(node).client_port
        if port is None:
            raise NodeStateError(f"node {node} is no broker: brokers are {_listed(self.brokers)}")
        return f"{HOST}:{port}"

    def is_running(self, node: int) -> bool:
        """Whether the node runs: not before `start`, nor after `stop` or `kill`. A paused one does."""
        return self._known(node).id in self._nodes

    def pid(self, node: int) -> int | None:
        """Returns the process id of a node in a process of its own; None in this process, or while it is down."""
        runner = self._nodes.get(self._known(node).id)
        return None if runner is None else runner.pid

    def log(self, node: int) -> Path:
        """Returns the file with the log of a node in a process of its own; in this process nodes log with `logging`."""
        return self._directory.log(self._known(node))

    def start(self) -> None:
        """Starts the nodes that do not run; returns when all answer, those of `begin` too.

        Raises MillstreamError with its own words when one does not.
        """
        self._start_nodes(self._layout.nodes)

    def stop(self, *nodes: int) -> None:
        """Shuts down cleanly: the nodes that are named, or all; brokers first.

        Nothing to do for those that are down.
        """
        wanted = [node for node in self._chosen(nodes) if node.id in self._nodes]
        brokers = [self._nodes[node.id] for node in wanted if node.client_port is not None]
        for runner in brokers:
            runner.begin_broker_stop()
        for runner in brokers:
            runner.wait_until_broker_stopped()
        ending = [self._take(node) for node in wanted]
        for runner in ending:
            runner.begin_stop()
        with contextlib.ExitStack() as waiting:  # all of them are waited for, also when one fails
            if not nodes:
                waiting.callback(self._close)
            for runner in ending:
                waiting.callback(runner.wait_until_ended)

    def kill(self, *nodes: int) -> None:
        """Crashes nodes: SIGKILL, or in this process everything dropped where it stands, nothing
        flushed and nothing closed.
        """
        for node in self._named(nodes):
            if node.id in self._nodes:
                self._take(node).kill()

    def restart(self, *nodes: int) -> None:
        """Stops the nodes that run, and starts all that are named, with the same ports and data; without names all.

        Returns when they answer. Controllers without a majority cannot: name as many as make one.
        """
        self.stop(*nodes)
        self._start_nodes(self._chosen(nodes))

    def begin(self, *nodes: int) -> None:
        """Starts nodes that are down, and does not wait until they answer: `restart` and `start` do."""
        self._open()
        for node in self._named(nodes):
            if node.id not in self._nodes:
                self._begin(node)

    def pause(self, *nodes: int) -> None:
        """Has nodes stand still: they keep their connections and answer nobody.

        Raises NodeStateError for one that is down.
        """
        for node in self._named(nodes):
            runner = self._up(node)
            if not runner.is_paused:
                runner.pause()

    def resume(self, *nodes: int) -> None:
        """Ends the pause of nodes. Raises NodeStateError for one that is down."""
        for node in self._named(nodes):
            self._up(node).resume()

    def partition(self, *nodes: int) -> None:
        """Cuts the links between these nodes and all others, both ways, beside links that are cut already.

        Clients reach both sides.

        What is sent meanwhile is held, and arrives after `heal`, as with TCP.
        """
        inside = {node.id for node in self._named(nodes)}
        for here in inside:
            for there in set(self.node_ids) - inside:
                self.cut(here, there)

    def cut(self, node: int, other: int, *, one_way: bool = False) -> None:
        """Cuts the link of two nodes; `one_way`: only what `node` sends to `other`."""
        self._opened_links().cut(self._links_between(node, other, one_way=one_way))

    def mend(self, node: int, other: int) -> None:
        """Mends the link of two nodes, both ways."""
        self._opened_links().mend(self._links_between(node, other, one_way=False))

    def heal(self) -> None:
        """Mends all links."""
        self._opened_links().heal()

    def active_controller(self, timeout_s: float = 60.0) -> int:
        """Returns the controller that leads, as a majority of all controllers know it; it runs and is not paused.

        Waits until there is one. Raises NodeFailed when there is none for so long.
        """
        clock = SystemClock()
        deadline_ms = clock.now().monotonic_ms + timeout_s * 1000
        tls = self._tls_between_nodes()
        while True:
            asked = [node.id for node in self._layout.controllers if self._answers(node.id)]
            known = Counter(leader_known_to(self._controller_port(node), tls) for node in asked)
            for leader, count in known.items():
                if leader in asked and 2 * count > len(self.controllers):
                    return leader
            if clock.now().monotonic_ms > deadline_ms:
                raise NodeFailed(
                    f"no controller leads that a majority knows of, for {timeout_s:.0f} s"
                )
            threading.Event().wait(_AGAIN_S)

    def _tls_between_nodes(self) -> ssl.SSLContext | None:
        """What to connect to controllers with; None where they have no TLS."""
        return None

    def _controller_port(self, node: int) -> int:
        """Where a controller itself listens, behind the entrance for others."""
        return self._hidden_ports[node, CONTROLLER_LISTENER]

    def _answers(self, node: int) -> bool:
        runner = self._nodes.get(node)
        return runner is not None and not runner.is_paused

    def _known(self, node: int) -> NodeLayout:
        for each in self._layout.nodes:
            if each.id == node:
                return each
        raise NodeStateError(f"there is no node {node}: nodes are {_listed(self.node_ids)}")

    def _named(self, nodes: Sequence[int]) -> list[NodeLayout]:
        if not nodes:
            raise NodeStateError(f"name nodes: {_listed(self.node_ids)}")
        return [self._known(node) for node in nodes]

    def _chosen(self, nodes: Sequence[int]) -> Sequence[NodeLayout]:
        return self._named(nodes) if nodes else self._layout.nodes

    def _up(self, node: NodeLayout) -> ClusterNodeRunner:
        runner = self._nodes.get(node.id)
        if runner is None:
            raise NodeStateError(f"node {node.id} is down: restart it first")
        return runner

    def _links_between(self, node: int, other: int, *, one_way: bool) -> list[tuple[int, int]]:
        there = (self._known(node).id, self._known(other).id)
        return [there] if one_way else [there, there[::-1]]

    def _opened_links(self) -> NodeLinks:
        if self._links is None:
            raise NodeStateError("the cluster was not started: use it in a with statement")
        return self._links

    def _open(self) -> None:
        if self._links is None:
            self._layout = self._directory.prepare(self._layout)
            self._held_ports = _held([*_ports_of(self._layout), *self._hidden_ports.values()])
            self._links = self._open_links()

    def _close(self) -> None:
        links, self._links = self._links, None
        if links is not None:
            links.__exit__(None, None, None)
        self._held_ports.close()

    def _open_links(self) -> NodeLinks:
        links = NodeLinks()
        links.__enter__()
        for node in self._layout.nodes:
            if node.controller_port is not None:
                links.open(node.controller_port, node.id, self._hidden_ports[node.id, CONTROLLER_LISTENER])  # fmt: skip
            if node.client_port is not None:
                entrance = self._hidden_ports[node.id, _ENTRANCE]
                links.open(entrance, node.id, self._hidden_ports[node.id, BROKER_LISTENER])
        return links

    def _start_nodes(self, nodes: Sequence[NodeLayout]) -> None:
        self._open()
        for node in nodes:
            if node.id not in self._nodes:
                self._begin(node)
        begun = [node for node in nodes if node.id in self._starting]
        clock = SystemClock()
        deadline_ms = clock.now().monotonic_ms + self._start_timeout_s * 1000
        for node in begun:
            left_s = (deadline_ms - clock.now().monotonic_ms) / 1000
            try:
                self._nodes[node.id].wait_until_ready(max(0.0, left_s))
            except BaseException:
                self._kill_all([node.id for node in begun])
                raise
            self._starting.discard(node.id)

    def _begin(self, node: NodeLayout) -> None:
        self._nodes[node.id] = self._run(node)
        self._starting.add(node.id)

    def _take(self, node: NodeLayout) -> ClusterNodeRunner:
        """Removes the runner of a node that is about to end."""
        self._starting.discard(node.id)
        return self._nodes.pop(node.id)

    def _run(self, node: NodeLayout) -> ClusterNodeRunner:
        of_node = self._settings_by_node.get(node.id, {})
        settings = {**self._settings, **of_node, **self._node_settings(node)}
        if self._in_process:
            return ClusterThread(settings)
        self._directory.write_settings(node, settings)
        overrides = [f"{key}={value}" for key, value in settings.items()]
        return ClusterProcess(
            node.id, self._directory.settings(node), self._directory.log(node), overrides
        )

    def _node_settings(self, node: NodeLayout) -> dict[str, str]:
        """The ports of the layout are entrances, but those of clients: the nodes listen elsewhere, and tell
        each other the entrances.
        """
        settings = self._directory.node_settings(self._layout, node)
        listeners, advertised = [], []
        if node.client_port is not None:
            listeners += [(OPEN_LISTENER, node.client_port), (BROKER_LISTENER, self._hidden_ports[node.id, BROKER_LISTENER])]  # fmt: skip
            advertised += [(OPEN_LISTENER, node.client_port), (BROKER_LISTENER, self._hidden_ports[node.id, _ENTRANCE])]  # fmt: skip
            settings["inter.broker.listener.name"] = BROKER_LISTENER
        if node.controller_port is not None:
            listeners.append((CONTROLLER_LISTENER, self._hidden_ports[node.id, CONTROLLER_LISTENER]))  # fmt: skip
            advertised.append((CONTROLLER_LISTENER, node.controller_port))
        names = (OPEN_LISTENER, BROKER_LISTENER, CONTROLLER_LISTENER)
        return {
            **settings,
            "listeners": _addresses(listeners),
            "advertised.listeners": _addresses(advertised),
            "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in names),
        }

    def _kill_all(self, node_ids: Sequence[int]) -> None:
        for node_id in node_ids:
            self._starting.discard(node_id)
            runner = self._nodes.pop(node_id, None)
            if runner is not None:
                with contextlib.suppress(Exception):  # follows from the error that is raised
                    runner.kill()

    def _end(self) -> None:
        self._kill_all(self.node_ids)
        self._close()
        if self._owns_data:
            shutil.rmtree(self.data, ignore_errors=True)


_ENTRANCE: Final = "entrance between brokers"


def _held(ports: Iterable[int]) -> contextlib.ExitStack:
    """Keeps ports from other clusters within a block."""
    with contextlib.ExitStack() as held:
        for port in ports:
            with contextlib.suppress(OSError):  # somebody listens there, which the node will say
                held.enter_context(held_port(port))
        return held.pop_all()


def _ports_of(layout: ClusterLayout) -> list[int]:
    ports = [
        port
        for node in layout.nodes
        for port in (node.client_port, node.controller_port, node.broker_port)
    ]
    return [port for port in ports if port is not None]


def _hidden_ports(layout: ClusterLayout) -> dict[tuple[int, str], int]:
    """Chooses where nodes themselves listen for each other, and the entrances between brokers."""
    wanted = [(node.id, CONTROLLER_LISTENER) for node in layout.controllers]
    wanted += [(node.id, name) for node in layout.brokers for name in (BROKER_LISTENER, _ENTRANCE)]
    return dict(zip(wanted, free_ports(len(wanted)), strict=True))


def _addresses(listeners: Sequence[tuple[str, int]]) -> str:
    return ",".join(f"{name}://{HOST}:{port}" for name, port in listeners)


def _listed(nodes: Sequence[int]) -> str:
    return ", ".join(map(str, nodes))
