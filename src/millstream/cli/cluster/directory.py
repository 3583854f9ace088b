"""The directory of a cluster on this machine: `cluster.properties`, and of each node its
settings, its data and its log.

Formats what a new cluster needs, once: a directory that was formatted and is so no longer has lost
its disk, and is not made again.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from millstream.broker.config.kraft_settings import kraft_settings
from millstream.broker.storage.data_directory import random_uuid
from millstream.cli.cluster.layout import (
    HOST,
    ClusterLayout,
    DamagedCluster,
    NodeLayout,
    Roles,
    new_layout,
    ports_from,
    read_layout,
)
from millstream.cli.cluster.secure_files import SecureFiles
from millstream.cli.private_files import write_private
from millstream.cli.secure.administrator import new_secret
from millstream.cli.server.settings import SECURE_CLUSTER_FILE
from millstream.errors import ConfigError
from millstream.log.directory.text_checkpoints import LOCK_FILE, META_PROPERTIES_FILE
from millstream.model import uuid_text
from millstream.properties_text import properties_text
from millstream.runtime.system import SystemClock, SystemFileSystem, SystemRandom

NODES_DEFAULT: Final = 3
PORT_DEFAULT: Final = 9_092
_LAYOUT_FILE: Final = "cluster.properties"
_OF_SECURE: Final = (
    "Of a node of `millstream cluster --secure`: it is not served without logins and access rules."
)
_FREE_PORTS: Final = range(10_000, 32_000)
"""Below those that systems give to outgoing connections: one of these would take the port of a node
that is down for a while."""


class ClusterDirectory:
    """The files of a cluster below one path."""

    def __init__(self, path: str | Path) -> None:
        """Raises ConfigError for a path that no setting can name."""
        if "," in str(path):
            raise ConfigError(f"{path}: a comma separates directories: choose a path without one")
        self.path = Path(path)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keeps other starts out, which would give the cluster other ids or ports.

        Raises ConfigError and OSError.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            lock = SystemFileSystem().lock(str(self.path / LOCK_FILE))
        except BlockingIOError as error:
            raise ConfigError(
                f"{self.path} is of a cluster that runs; stop it, or choose another directory with --data"
            ) from error
        try:
            yield
        finally:
            lock.close()

    def data(self, node: NodeLayout) -> Path:
        return self.path / node.name

    def log(self, node: NodeLayout) -> Path:
        return self.path / f"{node.name}.log"

    def settings(self, node: NodeLayout) -> Path:
        return self.path / f"{node.name}.properties"

    def node_settings(self, layout: ClusterLayout, node: NodeLayout) -> dict[str, str]:
        """Returns all settings of a node."""
        settings = layout.node_settings(node, str(self.data(node)))
        return (
            settings | SecureFiles(self.path).settings(layout, node)
            if layout.is_secure
            else settings
        )

    def layout(
        self,
        count: int | None = None,
        roles: Roles | None = None,
        port: int | None = None,
        *,
        secure: bool = False,
    ) -> ClusterLayout:
        """Returns the cluster that is here, or plans the one that is asked for.

        `port`: of the first broker; 0 for any free ones.

        Raises ConfigError where it is another one, DamagedCluster, and OSError.
        """
        file = self.path / _LAYOUT_FILE
        if file.exists():
            found = read_layout(file.read_text(encoding="utf-8"), str(file))
            found.check_matches(count, roles, str(self.path), secure=secure)
            if not port or port == found.brokers[0].client_port:
                return found
            return found.with_client_ports(port)
        wanted = PORT_DEFAULT if port is None else port
        return new_layout(
            _new_uuid(),
            roles or Roles.COMBINED,
            count or NODES_DEFAULT,
            ports_from(wanted) if wanted else free_ports,
            _new_uuid,
            token_secret=new_secret() if secure else "",
        )

    def write_settings(self, node: NodeLayout, settings: Mapping[str, str]) -> None:
        """Writes the file with which `millstream server` starts the node, or `millstream storage` looks into it."""
        heading = "Written by `millstream cluster` at each start."
        write_private(self.settings(node), properties_text(settings, heading))

    def prepare(self, layout: ClusterLayout) -> ClusterLayout:
        """Formats the directories of a new cluster, and returns it as formatted.

        Raises DamagedCluster, MillstreamError and OSError.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        if layout.is_formatted:
            for node in layout.nodes:
                self._check_formatted(layout, node)
            if layout.is_secure:
                SecureFiles(self.path).prepare_stores(layout)
                self._mark_secure(layout)  # one that was formatted before nodes were marked, too
            self._write(layout)
            return layout
        self._write(layout)  # if it is cut off, the next start goes on with the same ids
        scram: tuple[str, ...] = ()
        if layout.is_secure:
            scram = SecureFiles(self.path).begin(layout)
        for node in layout.nodes:
            self._format(layout, node, scram)
        if layout.is_secure:
            self._mark_secure(layout)
        formatted = replace(layout, is_formatted=True)
        self._write(formatted)
        return formatted

    def _write(self, layout: ClusterLayout) -> None:
        SystemFileSystem().write_atomically(str(self.path / _LAYOUT_FILE), layout.text().encode())

    def _mark_secure(self, layout: ClusterLayout) -> None:
        """Has every node refuse to be served openly, whoever starts it (`check_stays_secure`)."""
        for node in layout.nodes:
            mark = self.data(node) / SECURE_CLUSTER_FILE
            if not mark.exists():
                write_private(mark, properties_text({"cluster.id": layout.cluster_id}, _OF_SECURE))

    def _check_formatted(self, layout: ClusterLayout, node: NodeLayout) -> None:
        """A controller that begins with nothing under its old id could vote away what was committed."""
        data = self.data(node)
        if not (data / META_PROPERTIES_FILE).exists():
            how = " --no-initial-controllers" if node.controller_port is not None else ""
            raise DamagedCluster(
                f"{data} has lost its meta.properties: restore the directory, or begin with an empty disk by "
                f"`millstream storage format -t {layout.cluster_id} -c {self.settings(node)}{how}`"
            )

    def _format(self, layout: ClusterLayout, node: NodeLayout, scram: tuple[str, ...] = ()) -> None:
        from millstream.cli.storage.formatting import FormatOptions, Formatter, new_cluster

        settings = kraft_settings(self.node_settings(layout, node))
        is_controller = node.controller_port is not None
        options = FormatOptions(
            cluster_id=layout.cluster_id,
            scram=scram,
            initial_controllers=layout.initial_controllers if is_controller else None,
            ignore_formatted=True,
        )
        random_bytes = SystemRandom()
        cluster = new_cluster(options, settings, random_bytes)
        formatter = Formatter(settings, SystemFileSystem(), SystemClock(), random_bytes)
        for _ in formatter.format(options, cluster):
            pass  # it works as it is read; its lines are for `millstream storage`


def free_ports(count: int) -> list[int]:
    """Returns ports that nobody listens at, and nobody holds (`held_port`)."""
    chosen: list[int] = []
    random = SystemRandom()
    with ExitStack() as tried:
        for _ in _FREE_PORTS:
            port = _FREE_PORTS[random.randrange(len(_FREE_PORTS))]
            bound = tried.enter_context(socket.socket())
            try:
                bound.bind((HOST, port))
            except OSError:
                continue
            chosen.append(port)
            if len(chosen) == count:
                return chosen
    raise ConfigError(f"there are no {count} free ports from {_FREE_PORTS[0]} to {_FREE_PORTS[-1]}")


def held_port(port: int) -> socket.socket:
    """Returns a socket that keeps a port from `free_ports` until it is closed; a node may listen there all the same.

    Raises OSError for a port that somebody listens at.
    """
    held = socket.socket()
    try:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind((HOST, port))
    except OSError:
        held.close()
        raise
    return held


def _new_uuid() -> str:
    return uuid_text(random_uuid(SystemRandom()))
