"""A broker that is started again whenever somebody kills it: ours, or Apache Kafka."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from millstream.testing.broker import Broker
from tests.oracle.clients.kafka_cluster import KafkaCluster
from tests.support.kills.orders import is_running


@contextmanager
def watched_broker(
    pid_file: Path, *, is_kafka: bool = False, settings: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Gives its address. `pid_file` always has its process id."""
    if is_kafka:
        with (
            KafkaCluster(1, settings) as kafka,
            _watched(pid_file, lambda: kafka.pid(1), lambda: _again(kafka)),
        ):
            yield kafka.bootstrap_servers
    else:
        with (
            Broker(in_process=False, settings=settings) as broker,
            _watched(pid_file, lambda: _pid(broker), lambda: _restart(broker)),
        ):
            yield broker.bootstrap_servers


@contextmanager
def _watched(pid_file: Path, pid: Callable[[], int], restart: Callable[[], None]) -> Iterator[None]:
    ending = threading.Event()
    pid_file.write_text(str(pid()))

    def watch() -> None:
        while not ending.wait(0.05):  # how often it looks
            if not is_running(pid()):
                restart()
                pid_file.write_text(str(pid()))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield
    finally:
        ending.set()
        watching.join()


def _pid(broker: Broker) -> int:
    assert broker.pid is not None, "it was started"
    return broker.pid


def _restart(broker: Broker) -> None:
    broker.kill()
    broker.restart()


def _again(kafka: KafkaCluster) -> None:
    kafka.kill(1)
    kafka.start(1)
