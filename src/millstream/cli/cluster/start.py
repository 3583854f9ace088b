"""Starts the nodes of a cluster as child processes, watches them, and stops them in order:
brokers first, controllers last.

Exit code 0 when all has stopped as it was asked to, 1 when a node did not start, died or did not
stop, 2 when it was used wrongly.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Final

import click

from millstream import __version__
from millstream.broker.config.broker_config import broker_config, parse_override
from millstream.cli.cluster.directory import ClusterDirectory
from millstream.cli.cluster.layout import OWN_KEYS, ClusterLayout, NodeLayout, Roles
from millstream.cli.cluster.node_child import (
    BrokerStopped,
    NodeChild,
    NodeEnded,
    NodeEvent,
    NodeReady,
)
from millstream.cli.cluster.secure_files import SECURE_KEYS, SecureFiles
from millstream.cli.command import FAILED
from millstream.cli.private_files import private_files
from millstream.errors import ConfigError, MillstreamError
from millstream.runtime.system import SystemClock

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_OPEN: Final = "none: every client may do everything; keep it on a private network"
_SECURE: Final = (
    "clients log in over TLS and access rules decide; nodes know each other by certificates"
)
_STOP_TIMEOUT_S: Final = 60.0
"""A node gives its leaderships away within 10 s and answers within 5 s; what takes so much longer hangs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOptions:
    """The command line of `millstream cluster`."""

    data: str
    nodes: int | None = None
    roles: Roles | None = None
    port: int | None = None
    secure: bool = False
    overrides: tuple[str, ...] = ()


class NodesFailed(MillstreamError):
    """The cluster did not start."""


class _Signalled(Exception):
    """Asked to stop before all nodes were ready."""


def run_cluster(options: StartOptions) -> int:
    """Runs a cluster until a signal, and returns the exit code.

    Raises ConfigError, DamagedCluster, MillstreamError and OSError where it does not start.
    """
    overrides = dict(parse_override(text) for text in options.overrides)
    directory = ClusterDirectory(options.data)
    layout = _layout(directory, options)
    _check_overrides(overrides, SECURE_KEYS if layout.is_secure else OWN_KEYS)
    _check_settings(layout, directory, overrides)
    with private_files(are_wanted=layout.is_secure), directory.held():
        layout = _layout(directory, options)  # it may have been made since
        is_new = not layout.is_formatted
        layout = directory.prepare(layout)
        login = SecureFiles(directory.path).ready(layout, is_new=is_new) if layout.is_secure else ""
        cluster = ClusterProcesses(layout, directory, options.overrides, login)
        with _signals_to(cluster):
            return cluster.run()


def _layout(directory: ClusterDirectory, options: StartOptions) -> ClusterLayout:
    return directory.layout(options.nodes, options.roles, options.port, secure=options.secure)


def _check_overrides(settings: Collection[str], own_keys: Collection[str]) -> None:
    own = sorted(set(own_keys) & set(settings))
    if own:
        raise ConfigError(
            f"--override {own[0]}: `millstream cluster` sets it for each node; start nodes with `millstream server` to choose it yourself"
        )


def _check_settings(
    layout: ClusterLayout, directory: ClusterDirectory, overrides: dict[str, str]
) -> None:
    """What a node would refuse is refused before anything is written. Raises ConfigError."""
    for node in (layout.brokers[0], layout.controllers[0]):
        broker_config({**directory.node_settings(layout, node), **overrides})


class ClusterProcesses:
    """The children, and the events that come of them and of signals, in one queue that one thread reads."""

    def __init__(
        self,
        layout: ClusterLayout,
        directory: ClusterDirectory,
        overrides: Sequence[str],
        login: str,
    ) -> None:
        """`login`: lines for the operator of a secure cluster."""
        self._login = login
        self._layout = layout
        self._directory = directory
        self._overrides = overrides
        self._events: SimpleQueue[NodeEvent | signal.Signals] = SimpleQueue()
        self._children: dict[int, NodeChild] = {}
        """Those that live."""
        self._has_failed = False

    def on_signal(self, number: int, _frame: FrameType | None = None) -> None:
        """Takes a signal of this process: the first one stops the cluster, the next one kills it."""
        self._events.put(signal.Signals(number))

    def run(self) -> int:
        """Runs from the start to the end. Raises NodesFailed."""
        try:
            self._start()
            self._wait_until_ready()
            self._announce()
            self._watch()
        except _Signalled:
            pass
        finally:
            self._stop()
        return FAILED if self._has_failed else 0

    def _start(self) -> None:
        for node in self._layout.nodes:
            settings = self._directory.node_settings(self._layout, node)
            settings.update(parse_override(text) for text in self._overrides)
            self._directory.write_settings(node, settings)
            self._children[node.id] = NodeChild(
                node.id,
                self._directory.settings(node),
                self._directory.log(node),
                self._events.put,
                self._overrides,
            )

    def _wait_until_ready(self) -> None:
        waited_for = set(self._children)
        while waited_for:
            match self._events.get():
                case NodeReady(node_id):
                    waited_for.discard(node_id)
                case NodeEnded(node_id) as ended:
                    child = self._children.pop(node_id)
                    raise NodesFailed(
                        f"node {node_id} did not start ({ended.how}; {child.log}): {child.last_words()}"
                    )
                case signal.Signals():
                    raise _Signalled

    def _watch(self) -> None:
        """Returns when the cluster is asked to stop, or no node is left."""
        while self._children:
            match self._events.get():
                case NodeEnded() as ended:
                    self._note_death(ended)
                case signal.Signals():
                    return
        click.echo("error: no node is left", err=True)

    def _note_death(self, ended: NodeEnded) -> None:
        child = self._children.pop(ended.node_id)
        self._has_failed = True
        click.echo(
            f"error: node {ended.node_id} died ({ended.how}); its log: {child.log}", err=True
        )

    def _stop(self) -> None:
        """Stops brokers, then controllers."""
        brokers = {node.id for node in self._layout.brokers}
        for node_id in brokers & self._children.keys():
            self._children[node_id].signal(signal.SIGTERM)
        self._wait_for(brokers & self._children.keys(), BrokerStopped)
        for child in self._children.values():
            child.end_input()
        self._wait_for(set(self._children), NodeEnded)

    def _wait_for(self, waited_for: set[int], how: type[NodeEvent]) -> None:
        """Until all of them have told `how`, or have ended.

        Kills all that live when that takes too long, or at a signal.
        """
        clock = SystemClock()
        deadline_ms = clock.now().monotonic_ms + _STOP_TIMEOUT_S * 1000
        while waited_for:
            left_s = (deadline_ms - clock.now().monotonic_ms) / 1000
            try:
                event = self._events.get(timeout=max(0.0, left_s))
            except Empty:
                self._kill_all(f"nodes did not stop within {_STOP_TIMEOUT_S:.0f} s")
                deadline_ms += _STOP_TIMEOUT_S * 1000
                continue
            match event:
                case signal.Signals():
                    self._kill_all(f"{event.name} again")
                case NodeEnded(node_id):
                    waited_for.discard(node_id)
                    self._note_end(event)
                case BrokerStopped(node_id) if how is BrokerStopped:
                    waited_for.discard(node_id)

    def _note_end(self, ended: NodeEnded) -> None:
        # SIGTERM ends whoever is asked to stop before it listens to signals.
        if ended.code in {0, -signal.SIGTERM}:
            del self._children[ended.node_id]
        else:
            self._note_death(ended)

    def _kill_all(self, why: str) -> None:
        self._has_failed = True
        click.echo(f"error: {why}: the nodes are killed", err=True)
        for child in self._children.values():
            child.signal(signal.SIGKILL)

    def _announce(self) -> None:
        layout = self._layout
        rows = "\n".join(self._row(node) for node in layout.nodes)
        click.echo(
            f"Millstream {__version__}, cluster {layout.cluster_id}\n{rows}\n"
            f"  security    {_SECURE if layout.is_secure else _OPEN}{self._login}",
            err=True,
        )
        click.echo(
            f"millstream ready bootstrap={layout.bootstrap} bootstrap_controller={layout.bootstrap_controllers} "
            f"nodes={len(layout.nodes)} cluster={layout.cluster_id} data={self._directory.path} pid={os.getpid()}"
        )

    def _row(self, node: NodeLayout) -> str:
        child = self._children[node.id]
        return f"  {node.name:<11} {node.roles}, pid {child.pid}, log {child.log}"


@contextmanager
def _signals_to(cluster: ClusterProcesses) -> Iterator[None]:
    before = {number: signal.signal(number, cluster.on_signal) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
