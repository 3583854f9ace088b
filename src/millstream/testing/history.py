"""A record of the sends, transactions and polls of clients and of their results, to be checked.

Pure values; `history_check` finds what is wrong with them. Values must be unique in a partition: they identify records.

    history = History()
    send = history.send("producer-1", TopicPartition("t", 0), b"17")     # before it is sent
    send.acknowledge(offset)                                             # or send.fail(), or neither: unknown
    history.poll("consumer-1", [Read(TopicPartition("t", 0), 0, b"17")])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from millstream.model import TopicPartition


class Outcome(Enum):
    """The result that the client was told. UNKNOWN: it may have happened or not, as after a timeout."""

    ACKNOWLEDGED = "acknowledged"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(slots=True)
class Send:
    """One record that a producer sent. `offset` is known when it was acknowledged, if the broker told it."""

    producer: str
    partition: TopicPartition
    value: bytes
    transaction: Transaction | None = None
    outcome: Outcome = Outcome.UNKNOWN
    offset: int | None = None

    def acknowledge(self, offset: int) -> None:
        """Offset -1: the broker did not tell it."""
        self.outcome = Outcome.ACKNOWLEDGED
        self.offset = offset if offset >= 0 else None

    def fail(self) -> None:
        """Note that the record was definitely not written. Do not call it when that is not certain."""
        self.outcome = Outcome.FAILED


@dataclass(slots=True, eq=False)
class Transaction:
    """Sends that become visible together or not at all."""

    producer: str
    name: str
    outcome: Outcome = Outcome.UNKNOWN

    def commit(self) -> None:
        self.outcome = Outcome.ACKNOWLEDGED

    def abort(self) -> None:
        self.outcome = Outcome.FAILED


class Read(NamedTuple):
    partition: TopicPartition
    offset: int
    value: bytes


@dataclass(slots=True)
class Poll:
    """The records of one poll.

    `moved`: since its last poll the consumer was rebalanced or sought, so its positions may have changed.
    """

    consumer: str
    reads: tuple[Read, ...]
    moved: bool = False
    transaction: Transaction | None = None


@dataclass(slots=True)
class History:
    """The sends, transactions and polls, in the order in which they were begun."""

    sends: list[Send] = field(default_factory=list)
    polls: list[Poll] = field(default_factory=list)
    transactions: list[Transaction] = field(default_factory=list)
    is_complete: bool = False
    """Everything was healed, and each partition read to its end: what was not seen is not there."""

    def send(
        self,
        producer: str,
        partition: TopicPartition,
        value: bytes,
        transaction: Transaction | None = None,
    ) -> Send:
        """Write down a record that is about to be sent; tell the result what became of it."""
        send = Send(producer, partition, value, transaction)
        self.sends.append(send)
        return send

    def begin(self, producer: str, name: str) -> Transaction:
        """Write down a transaction that is about to begin; tell the result how it ended."""
        transaction = Transaction(producer, name)
        self.transactions.append(transaction)
        return transaction

    def poll(
        self,
        consumer: str,
        reads: Iterable[Read],
        *,
        moved: bool = False,
        transaction: Transaction | None = None,
    ) -> None:
        """Write down what a consumer was given by one poll. `moved`: a rebalance or a seek came before it."""
        self.polls.append(Poll(consumer, tuple(reads), moved, transaction))

    def reads(self) -> Iterator[Read]:
        """Yields all records that consumers returned, in the order of their polls."""
        for poll in self.polls:
            yield from poll.reads
