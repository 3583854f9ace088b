"""kill -9 of the broker, again and again, while librdkafka produces idempotently and copies in transactions.

One thread produces numbers to `in`. Another copies them to `out`, offsets and output in one transaction, and aborts some. At
the end every acknowledged number is in `in` once and in order, and `out` holds what `in` holds, once and in order.
Three rounds in `make test`; `make soak` runs as many as MILLSTREAM_SOAK_ROUNDS says.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from millstream.testing.broker import Broker

ROUNDS = int(os.environ.get("MILLSTREAM_SOAK_ROUNDS", "3"))
PARTITIONS = 2
PRODUCED_AT_ONCE = 20
PAUSE_S = 0.05
"""No faster than the copier on a busy machine."""
UNANSWERED_MAX = 1_000
COPIED_AT_ONCE = 500
ABORTS_ONE_OF = 7
LIMIT_S = 90
PATIENT: dict[str, object] = {
    "reconnect.backoff.max.ms": 200,
    "metadata.recovery.strategy": "none",
    "log_level": 0,
}
"""librdkafka 2.16 forgets its brokers when all of them are away (rebootstrap), and `send_offsets_to_transaction` then waits for
one it has forgotten, for ever: the group's coordinator in its cache.
"""

pytestmark = [pytest.mark.compat, pytest.mark.soak, pytest.mark.timeout(ROUNDS * 30 + 3 * LIMIT_S)]


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(in_process=False) as running:
        admin = AdminClient({"bootstrap.servers": running.bootstrap_servers})
        wanted = [NewTopic(name, PARTITIONS, 1) for name in ("in", "out")]
        for created in admin.create_topics(wanted).values():
            created.result(LIMIT_S)
        yield running


class Source(threading.Thread):
    """Numbers to `in`, alternating between its partitions, until it is told to stop."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(daemon=True)
        self.stopping = threading.Event()
        self.acknowledged: dict[int, list[int]] = {number: [] for number in range(PARTITIONS)}
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 2,
                **PATIENT,
            }
        )

    def run(self) -> None:
        number = 0
        while not self.stopping.is_set():
            for _ in range(PRODUCED_AT_ONCE):
                self._producer.produce(
                    "in", b"%d" % number, partition=number % PARTITIONS, on_delivery=self._delivered
                )
                number += 1
            self._producer.poll(0)
            time.sleep(PAUSE_S)
            while len(self._producer) > UNANSWERED_MAX:
                self._producer.poll(0.1)
        assert self._producer.flush(LIMIT_S) == 0, "some records were never answered for"

    def _delivered(self, error: object, message: Message) -> None:
        assert error is None, f"an idempotent producer gave up: {error}"
        self.acknowledged[message.partition()].append(int(message.value()))


class Copier(threading.Thread):
    """From `in` to `out`, exactly once. Whatever fails, it goes on from the offsets that were committed."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(daemon=True)
        self.stopping = threading.Event()
        self.committed = self.aborted = self.recovered = 0
        self._servers = bootstrap
        self._random = random.Random(7)
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "copier",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                **PATIENT,
            }
        )
        self._producer: Producer | None = None

    def run(self) -> None:
        while not self.stopping.is_set():
            try:
                self._begin_anew()
                while not self.stopping.is_set():
                    self._copy_some()
            except KafkaException:
                self.recovered += 1
        self._consumer.close()

    def _begin_anew(self) -> None:
        """A new producer fences whatever was under way; only then do the committed offsets stand."""
        self._producer = Producer(
            {
                "bootstrap.servers": self._servers,
                "transactional.id": "copier",
                "transaction.timeout.ms": 10_000,
                **PATIENT,
            }
        )
        self._producer.init_transactions(30)
        self._rewind()

    def _rewind(self) -> None:
        asked = [TopicPartition("in", number) for number in range(PARTITIONS)]
        found = self._consumer.committed(asked, timeout=LIMIT_S)
        self._consumer.assign(
            [TopicPartition(p.topic, p.partition, max(p.offset, 0)) for p in found]
        )

    def _copy_some(self) -> None:
        messages = [m for m in self._consumer.consume(COPIED_AT_ONCE, 0.2) if m.error() is None]
        if not messages:
            return
        assert self._producer is not None, "it was made before anything is copied"
        self._producer.begin_transaction()
        for message in messages:
            self._producer.produce("out", message.value(), partition=message.partition())
        ends = {m.partition(): m.offset() + 1 for m in messages}
        self._producer.send_offsets_to_transaction(
            [TopicPartition("in", number, end) for number, end in ends.items()],
            self._consumer.consumer_group_metadata(),
            10,
        )
        if self._random.randrange(ABORTS_ONE_OF):
            self._producer.commit_transaction(10)
            self.committed += 1
        else:
            self._producer.abort_transaction(LIMIT_S)
            self.aborted += 1
            self._rewind()


def read_all(bootstrap: str, topic: str) -> dict[int, list[int]]:
    """Up to the last stable offset, as a reader at read_committed."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    found: dict[int, list[int]] = {number: [] for number in range(PARTITIONS)}
    at_end: set[int] = set()
    deadline = time.monotonic() + LIMIT_S
    while len(at_end) < PARTITIONS:
        assert time.monotonic() < deadline, "the end of the topic is not reached"
        for message in consumer.consume(1000, 0.5):
            if message.error() is not None:
                at_end.add(message.partition())
            else:
                found[message.partition()].append(int(message.value()))
    consumer.close()
    return found


def until_copied(bootstrap: str, original: dict[int, list[int]]) -> dict[int, list[int]]:
    """The copy, when it holds as many records. It may take as long as it grows."""
    wanted, reached, deadline = sum(map(len, original.values())), -1, 0.0
    while reached < wanted:
        copied = read_all(bootstrap, "out")
        for number, found in copied.items():
            assert found == original[number][: len(found)], "the copy is not the original so far"
        found_now = sum(map(len, copied.values()))
        if found_now > reached:
            reached, deadline = found_now, time.monotonic() + LIMIT_S
        assert time.monotonic() < deadline, f"the copy ends with {reached} of {wanted} records"
        time.sleep(0.5)
    return copied


def test_a_broker_that_is_killed_again_and_again_loses_nothing_and_repeats_nothing(
    broker: Broker,
) -> None:
    source, copier = Source(broker.bootstrap_servers), Copier(broker.bootstrap_servers)
    source.start()
    copier.start()
    moments = random.Random(ROUNDS)
    for _ in range(ROUNDS):
        time.sleep(0.3 + moments.random())
        broker.kill()
        broker.restart()
    time.sleep(1)
    source.stopping.set()
    source.join(LIMIT_S)
    produced = read_all(broker.bootstrap_servers, "in")
    copied = until_copied(broker.bootstrap_servers, produced)
    copier.stopping.set()
    copier.join(LIMIT_S)
    assert produced == source.acknowledged
    assert copied == produced
    assert copier.committed > ROUNDS
