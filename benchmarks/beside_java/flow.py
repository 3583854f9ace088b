"""A steady flow of records into one topic, and the time until each comes out of another behind an application."""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Callable
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, Producer, TopicPartition

_NUMBER: Final = struct.Struct(">q")
_PADDING: Final = bytes(92)
_LOOK_S: Final = 0.1
_LATE_S: Final = 1.0
_POLL_S: Final = 0.001
"""The least that the consumer can wait; no wait at all would keep a processor busy."""


class Flow:
    """Records of 100 B to all partitions of a topic in turn, numbered, each partition with a key of its own.

    Nothing waits for more records: linger 0. The wait of a record is from before it is given to the producer until after the
    consumer has given it out; of what comes out twice, the first counts.
    """

    def __init__(
        self,
        servers: str,
        source: str,
        out: str,
        *,
        partitions: int,
        records_per_s: int,
        isolation_level: str,
    ) -> None:
        self._source, self._partitions, self._records_per_s = source, partitions, records_per_s
        shared = {"bootstrap.servers": servers, "log_level": 0}
        self._producer = Producer({**shared, "linger.ms": 0, "acks": "all"})
        self._consumer = Consumer(
            {**shared, "group.id": f"{out}-reader", "isolation.level": isolation_level}
        )
        self._consumer.assign([TopicPartition(out, 0, OFFSET_BEGINNING)])
        self._sent_at: list[float] = []
        self._waits_s: dict[int, float] = {}
        self._last_late_sent_at = -math.inf
        self._waiting: dict[int, None] = {}
        """In the order in which they were sent."""

    def close(self) -> None:
        self._producer.flush(10)
        self._consumer.close()

    def run(self, is_done: Callable[[], bool], limit_s: float) -> None:
        """Goes on until it is done; it is asked ten times a second. Raises TimeoutError."""
        start = time.perf_counter()
        sent, next_look = 0, start
        while True:
            now = time.perf_counter()
            if now >= next_look:
                if is_done():
                    return
                if now - start > limit_s:
                    raise TimeoutError(
                        f"{len(self._waiting)} of {len(self._sent_at)} records have not come out"
                    )
                next_look = time.perf_counter() + _LOOK_S
            if now >= start + sent / self._records_per_s:
                self._send()
                sent += 1
            self._receive(max(_POLL_S, start + sent / self._records_per_s - now))

    def run_for(self, seconds: float) -> None:
        end = time.perf_counter() + seconds
        self.run(lambda: time.perf_counter() >= end, seconds + 1)

    def drain(self, limit_s: float) -> None:
        """Sends nothing more and waits until everything has come out. Raises TimeoutError."""
        deadline = time.perf_counter() + limit_s
        while self._waiting:
            if time.perf_counter() > deadline:
                raise TimeoutError(f"{len(self._waiting)} records have not come out")
            self._receive(0.1)

    def is_steady(self, seconds: float) -> bool:
        """Returns whether so long nothing has come out late, and nothing that is late has yet to come."""
        now = time.perf_counter()
        if not self._sent_at or now - self._sent_at[0] < seconds:
            return False
        if self._waiting and now - self._sent_at[next(iter(self._waiting))] > _LATE_S:
            return False
        return now - self._last_late_sent_at > seconds

    def waits_s(self, since: float) -> list[float]:
        """Returns those of the records sent since a moment of `time.perf_counter`."""
        return [w for number, w in self._waits_s.items() if self._sent_at[number] >= since]

    def _send(self) -> None:
        number = len(self._sent_at)
        partition = number % self._partitions
        self._sent_at.append(time.perf_counter())
        self._waiting[number] = None
        value = _NUMBER.pack(number) + _PADDING
        self._producer.produce(self._source, value, b"key-%03d" % partition, partition=partition)
        self._producer.poll(0)

    def _receive(self, timeout_s: float) -> None:
        """Takes what comes within the time, and all that has come with it: one for each that is sent would never catch up."""
        message = self._consumer.poll(timeout_s)
        while message is not None:
            if message.error() is None:
                self._received(message)
            message = self._consumer.poll(0)

    def _received(self, message: Message) -> None:
        value = message.value()
        assert isinstance(value, bytes)
        (number,) = _NUMBER.unpack_from(value)
        if number in self._waiting:
            del self._waiting[number]
            wait_s = time.perf_counter() - self._sent_at[number]
            self._waits_s[number] = wait_s
            if wait_s > _LATE_S:
                self._last_late_sent_at = max(self._last_late_sent_at, self._sent_at[number])
