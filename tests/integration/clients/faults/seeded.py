"""What a seed means: which faults happen to which requests; and clients that write down what they see."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

from millstream.clients import Consumer, ConsumerRecord, Delivery, Producer, TopicPartition
from millstream.errors import KafkaError
from millstream.protocol.api import ApiKey
from millstream.testing.faults.plan import (
    AnswerWith,
    CloseAfter,
    CloseBefore,
    Delay,
    DropRequest,
    DropResponse,
    Fault,
    Rule,
    SendLate,
    Trickle,
)
from millstream.testing.history import History, Read, Send, Transaction
from tests.patience import LONG_ENOUGH_S

_FIRST, _, _LAST = os.environ.get("MILLSTREAM_FAULT_SEEDS", "0-1").partition("-")
SEEDS = range(int(_FIRST), int(_LAST or _FIRST) + 1)

IMPATIENT = {
    "request_timeout_ms": 400,
    "retry_backoff_ms": 5,
    "retry_backoff_max_ms": 50,
    "reconnect_backoff_ms": 5,
    "reconnect_backoff_max_ms": 50,
    "socket_connection_setup_timeout_ms": 300,
}
"""So that a dropped request costs little time."""


def rules_for(
    seed: int,
    apis: Sequence[ApiKey],
    error_codes: Sequence[int],
    probability: float = 0.06,
    *,
    silent: bool = True,
    late: bool = True,
) -> list[Rule]:
    """Three kinds of faults for requests of `apis`. Each happens at most a few times, so that every run ends.

    `silent`: also such as a client finds only by waiting for its time limit. `late`: requests may overtake each other.
    """
    random = Random(seed)
    silent_ones: list[Fault] = [DropRequest(), DropResponse()]
    faults: list[Fault] = [
        *(silent_ones if silent else []),
        CloseBefore(),
        CloseAfter(),
        Delay(request_ms=random.randrange(1, 30), response_ms=random.randrange(1, 30)),
        *([SendLate(random.randrange(1, 100))] if late else []),
        Trickle(random.randrange(1_000, 20_000)),
        AnswerWith(random.choice(error_codes)),
        AnswerWith(random.choice(error_codes), forward=True),
    ]
    chosen = random.sample(faults, 3)
    return [
        Rule(fault, apis, times=random.randrange(2, 6), probability=probability) for fault in chosen
    ]


class WitnessedProducer:
    """Writes down each send before it happens and what became of it."""

    def __init__(self, producer: Producer, history: History, name: str = "producer") -> None:
        self._producer = producer
        self._history = history
        self._name = name
        self._sent: list[tuple[Send, Delivery]] = []

    async def send(
        self, topic: str, value: bytes, partition: int, transaction: Transaction | None = None
    ) -> None:
        send = self._history.send(self._name, TopicPartition(topic, partition), value, transaction)
        self._sent.append((send, await self._producer.send(topic, value, partition=partition)))

    async def settle(self) -> int:
        """Waits for every record sent so far; how many were not acknowledged. What happened to those nobody knows."""
        unknown = 0
        for send, delivery in self._sent:
            try:
                send.acknowledge((await delivery).offset)
            except KafkaError:
                unknown += 1
        self._sent.clear()
        return unknown


def as_reads(records: Iterable[ConsumerRecord]) -> list[Read]:
    return [Read(TopicPartition(r.topic, r.partition), r.offset, r.value or b"") for r in records]


async def read_to_the_end(
    bootstrap: str, history: History, topic: str, partitions: int, **settings: Any
) -> list[ConsumerRecord]:
    """By a consumer that nothing disturbs; the history is complete then."""
    everything: list[ConsumerRecord] = []
    chosen = [TopicPartition(topic, number) for number in range(partitions)]
    async with Consumer(
        bootstrap_servers=bootstrap, auto_offset_reset="earliest", **settings
    ) as consumer:
        consumer.assign(chosen)
        ends = await consumer.end_offsets(chosen)
        async with asyncio.timeout(LONG_ENOUGH_S):
            while any([await consumer.position(tp) < end for tp, end in ends.items()]):
                records = await consumer.poll(timeout_ms=100)
                history.poll("the last reader", as_reads(records))
                everything += records
    history.is_complete = True
    return everything
