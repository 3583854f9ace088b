"""`Broker`: a real node for tests, in this process or in one of its own.

    with Broker() as broker:
        producer = Producer(bootstrap_servers=broker.bootstrap_servers)

`kill` is a crash, `restart` brings the node back on the same port with the same data.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from millstream.broker.config.broker_config import broker_config
from millstream.cli.secure.administrator import CLIENT_FILE
from millstream.cli.server.settings import check_stays_secure
from millstream.testing.node_runner import NodeRunner, ReadyNode, SubprocessNode, ThreadNode

if TYPE_CHECKING:
    from millstream.cli.secure.secure_node import SecureNode

TEST_SETTINGS: Final[Mapping[str, str]] = {
    "millstream.flush.on.ack": "never",
    "group.initial.rebalance.delay.ms": "0",
}
"""What suits tests better than Kafka's defaults: nothing waits for the disk or for more group members."""


class Broker:
    """A node on 127.0.0.1 with a port of its own. A context manager; `start` and `stop` do the same by hand."""

    def __init__(
        self,
        *,
        in_process: bool = True,
        data: str | Path | None = None,
        settings: Mapping[str, str] | None = None,
        port: int = 0,
        secure: bool = False,
        start_timeout_s: float = 60.0,
    ) -> None:
        """`secure`: with TLS, logins and access rules, as `millstream server --secure`; `client_settings` are
        those of its administrator.

        `data`: where logs are kept; by default a temporary directory that goes with the broker.

        `settings`: broker settings under Kafka's names, over those of `TEST_SETTINGS`.
        """
        self._in_process = in_process
        self._settings = dict(settings or {})
        self._start_timeout_s = start_timeout_s
        self._port = port
        self._secure = secure
        self._owns_data = data is None
        self.data = Path(data) if data is not None else Path(tempfile.mkdtemp(prefix="millstream-"))
        self._node: NodeRunner | None = None
        self._ready: ReadyNode | None = None

    def __repr__(self) -> str:
        place = "in this process" if self._in_process else "in a process of its own"
        address = "not started" if self._ready is None else self._ready.bootstrap
        is_down = self._ready is not None and not self.is_running
        return f"<{type(self).__name__} {address}, {place}{', down' if is_down else ''}>"

    def __enter__(self) -> Self:
        self.start()
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
            if self._owns_data:
                shutil.rmtree(self.data, ignore_errors=True)

    @property
    def bootstrap_servers(self) -> str:
        """HOST:PORT, as clients want it. The port stays over `restart`."""
        assert self._ready is not None, "the broker was not started: use it in a with statement"
        return self._ready.bootstrap

    @property
    def client_settings(self) -> dict[str, Any]:  # Any: keyword arguments of a client
        """The keyword arguments with which every client connects, and where it must logs in:
        `Producer(**broker.client_settings)`.
        """
        if not self._secure:
            return {"bootstrap_servers": self.bootstrap_servers}
        from millstream.clients import read_client_properties

        return read_client_properties(self.client_properties)

    @property
    def client_properties(self) -> Path:
        """The file with which the administrator of a secure broker logs in: `millstream acls list --config FILE`."""
        assert self._secure, "there is none without secure=True"
        return self.data / CLIENT_FILE

    @property
    def cluster_id(self) -> str:
        """The id of the cluster, 22 characters. It stays over `restart`."""
        assert self._ready is not None, "the broker was not started: use it in a with statement"
        return self._ready.cluster_id

    @property
    def pid(self) -> int | None:
        """Process id of a broker in a process of its own; None in this process, or while it is down."""
        return self._node.pid if self._node is not None else None

    @property
    def is_running(self) -> bool:
        """Whether the broker runs; not before `start`, nor after `stop` or `kill`."""
        return self._node is not None

    def start(self) -> None:
        """Returns when the node answers; nothing to do when it runs.

        Raises MillstreamError with its own words when it does not start.
        """
        if self._node is not None:
            return
        settings = {**self._settings, "log.dirs": str(self.data)}
        secure = self._begun_secure(settings) if self._secure else None
        if secure is None:
            settings["listeners"] = f"PLAINTEXT://127.0.0.1:{self._port}"
            check_stays_secure(broker_config(settings))
        else:
            settings = secure.settings
        settings = {
            **TEST_SETTINGS,
            **settings,
        }  # not for the file of a secure one, which others may start
        node: NodeRunner = ThreadNode(settings) if self._in_process else SubprocessNode(settings)
        self._ready = node.start(self._start_timeout_s)
        self._node = node
        self._port = self._ready.port
        if secure is not None:
            secure.ready_at(self._ready.bootstrap)

    def stop(self) -> None:
        """Shuts the broker down cleanly; nothing to do when the broker is down."""
        node, self._node = self._node, None
        if node is not None:
            node.stop()

    def kill(self) -> None:
        """Crashes the broker: SIGKILL, or in this process everything dropped where it stands,
        nothing flushed and nothing closed.
        """
        node, self._node = self._node, None
        if node is not None:
            node.kill()

    def restart(self) -> None:
        """Stops the broker if it runs, and starts it on the same port with the same data."""
        self.stop()
        self.start()

    def _begun_secure(self, settings: dict[str, str]) -> SecureNode:
        """Makes what a secure broker needs, at its first start. Raises ConfigError for settings that it has itself."""
        from millstream.broker.config.sources import gathered_settings
        from millstream.cli.secure.secure_node import SecureNode

        given = gathered_settings(self._settings, "settings", {}, ())
        secure = SecureNode(given, settings, self._port)
        secure.begin(None)
        return secure
