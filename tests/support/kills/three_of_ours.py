"""Three nodes of ours as processes, with Kafka's time-outs, where every topic has three replicas and two must have what is acknowledged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Self

from millstream.testing import Cluster

_SETTINGS: Final = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "broker.session.timeout.ms": "9000",
    "broker.heartbeat.interval.ms": "2000",
    "millstream.flush.on.ack": "auto",
}
_START_S: Final = 120.0


class ThreeOfOurs:
    """A context manager with the methods of `KafkaCluster`."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        settings = {**_SETTINGS, **settings}
        self._cluster = Cluster(in_process=False, settings=settings, start_timeout_s=_START_S)

    def __enter__(self) -> Self:
        self._cluster.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._cluster.kill(*self.running)  # nothing of it is wanted any more
        self._cluster.__exit__(None, None, None)

    @property
    def bootstrap_servers(self) -> str:
        return self._cluster.bootstrap_servers

    @property
    def running(self) -> set[int]:
        return {node for node in self._cluster.node_ids if self._cluster.is_running(node)}

    def pid(self, node: int) -> int:
        pid = self._cluster.pid(node)
        assert pid is not None, f"node {node} was started"
        return pid

    def kill(self, node: int) -> None:
        self._cluster.kill(node)

    def start(self, node: int) -> None:
        """Returns when it answers: after the session of the one that was killed."""
        self._cluster.restart(node)
