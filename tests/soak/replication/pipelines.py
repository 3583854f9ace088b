"""Idempotent producers with many records on their way at once: ours and librdkafka."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections import Counter, deque
from collections.abc import Callable
from itertools import count
from typing import Final, Self

from confluent_kafka import KafkaError, Message
from confluent_kafka import Producer as LibrdkafkaProducer

from millstream.clients.blocking import Producer
from millstream.clients.blocking.producer import Delivery
from millstream.errors import MillstreamError
from millstream.model import TopicPartition
from millstream.testing import History
from millstream.testing.history import Send
from tests.soak.cluster.world import LIMIT_S, PAUSE_S

ON_THE_WAY_MAX: Final = 50
_FLUSH_S: Final = 60.0


class Pipeline(threading.Thread):
    """Sends to all partitions of a topic in turns until its `with` block ends, and notes what it was told of each record."""

    def __init__(
        self, servers: str, name: str, topic: str, partitions: int, history: History
    ) -> None:
        super().__init__(daemon=True, name=name)
        self.acknowledged: Counter[int] = Counter()
        """By partition."""
        self.errors: list[str] = []
        self.stopping = threading.Event()
        self.servers = servers
        self._topic = topic
        self._partitions = partitions
        self._history = history

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self.join(LIMIT_S + _FLUSH_S)
        assert not self.is_alive(), f"{self.name} does not end"

    @abstractmethod
    def run(self) -> None: ...

    def goes_on(self, at_least: int = 20) -> float:
        """Returns the seconds until each partition has taken more records."""
        before, begin = Counter(self.acknowledged), time.monotonic()
        while any(self.acknowledged[n] - before[n] < at_least for n in range(self._partitions)):
            assert time.monotonic() - begin < LIMIT_S, f"{self.name} stands still: {self.errors}"
            time.sleep(0.02)
        return time.monotonic() - begin

    def next_send(self, number: int) -> Send:
        partition = TopicPartition(self._topic, number % self._partitions)
        return self._history.send(self.name, partition, f"{self.name} {number}".encode())

    def note(self, send: Send, offset: int) -> None:
        send.acknowledge(offset)
        self.acknowledged[send.partition.partition] += 1


class OurPipeline(Pipeline):
    def run(self) -> None:
        on_the_way: deque[tuple[Send, Delivery]] = deque()
        with Producer(bootstrap_servers=self.servers) as producer:
            for number in count():
                if self.stopping.is_set():
                    break
                send = self.next_send(number)
                topic, partition = send.partition
                on_the_way.append((send, producer.send(topic, send.value, partition=partition)))
                while len(on_the_way) > ON_THE_WAY_MAX:
                    self._settle(*on_the_way.popleft())
                time.sleep(PAUSE_S)
            for send, delivery in on_the_way:
                self._settle(send, delivery)

    def _settle(self, send: Send, delivery: Delivery) -> None:
        try:
            self.note(send, delivery.result().offset)
        except MillstreamError as error:
            self.errors.append(repr(error))


class LibrdkafkaPipeline(Pipeline):
    def run(self) -> None:
        producer = LibrdkafkaProducer(
            {
                "bootstrap.servers": self.servers, "enable.idempotence": True, "linger.ms": 0,
                "log_level": 0, "error_cb": self._hear, "reconnect.backoff.max.ms": 500,
            }
        )  # fmt: skip
        for number in count():
            if self.stopping.is_set():
                break
            send = self.next_send(number)
            topic, partition = send.partition
            producer.produce(topic, send.value, partition=partition, on_delivery=self._noting(send))
            while len(producer) > ON_THE_WAY_MAX:
                producer.poll(0.05)
            producer.poll(0)
            time.sleep(PAUSE_S)
        if left := producer.flush(_FLUSH_S):
            self.errors.append(f"{left} records are still on their way")

    def _hear(self, error: KafkaError) -> None:
        """Lost connections are told here, too; what came of the records is told with each."""
        if error.fatal():
            self.errors.append(str(error))

    def _noting(self, send: Send) -> Callable[[KafkaError | None, Message], None]:
        def note(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                self.errors.append(str(error))
            else:
                self.note(send, offset_of(message))

        return note


def offset_of(message: Message) -> int:
    """Returns -1 where librdkafka has none: what was acknowledged was a duplicate, and which one is not told."""
    offset = message.offset()
    return -1 if offset is None else offset
