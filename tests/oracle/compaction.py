"""Random histories of compacted topics against Apache Kafka and against ours: what a reader at read_committed sees in the end.

    MILLSTREAM_KAFKA_CLASSPATH=JARS python -m tests.oracle.compaction [--seed N] [--count N] [--kafka-at ADDR] [--at ADDR]

Each history has a topic and producers of its own: plain writes, transactions of one producer after another and of two at once, by a client of
KIP-890 and by one of the older protocol, which keeps its epoch; tombstones; pauses in which segments are rolled and cleaned. Both brokers must
give the last committed value of each key, and each key once where all is clean. Prints each difference, then `N histories: N passed, N failed`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import confluent_kafka

from millstream.clients import NewTopic, TopicPartition
from millstream.clients.blocking import Admin, Consumer, Producer
from tests.oracle.broker import servers

CLEANER = {"log.cleaner.backoff.ms": "300", "log.initial.task.delay.ms": "500"}
COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "1000",
    "min.cleanable.dirty.ratio": "0",
    "delete.retention.ms": "0",
}
KEYS = [b"a", b"b", b"c", b"d"]
FILLER = b"filler"
LANES = 10
STEPS = 10
PAUSES_AT_THE_END = 5
"""The first rolls, the second cleans; then tombstones and markers go whose delete horizon the one before has set."""


class Writer:
    """A producer of one history: a client of KIP-890, or an older one."""

    def __init__(self, servers: str, name: str, *, is_old: bool) -> None:
        self._ours: Producer[bytes, bytes] | None = None
        if is_old:
            self._old = confluent_kafka.Producer(
                {
                    "bootstrap.servers": servers,
                    "transactional.id": name,
                    "linger.ms": 0,
                    "log_level": 2,
                }
            )
            self._old.init_transactions(60)
        else:
            self._ours = Producer(bootstrap_servers=servers, transactional_id=name, linger_ms=0)
            self._ours.init_transactions()

    def begin(self) -> None:
        if self._ours is not None:
            self._ours.begin_transaction()
        else:
            self._old.begin_transaction()

    def write(self, topic: str, key: bytes, value: bytes | None) -> None:
        """Returns once it is in the log: so the order of calls is the order of offsets."""
        if self._ours is not None:
            self._ours.send(topic, value, key=key, partition=0).result()
        else:
            self._old.produce(topic, value, key, partition=0)
            self._old.flush(60)

    def end(self, *, commits: bool) -> None:
        if self._ours is not None:
            self._ours.commit_transaction() if commits else self._ours.abort_transaction()
        elif commits:
            self._old.commit_transaction(60)
        else:
            self._old.abort_transaction(60)

    def close(self) -> None:
        if self._ours is not None:
            self._ours.close()


@dataclass
class History:
    """Steps that depend on the seed alone, done on one broker; `expected` follows them."""

    servers: str
    topic: str
    chance: random.Random
    expected: dict[bytes, bytes | None] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)
    count: int = 0

    def run(self) -> str | None:
        """Returns what differs from what was written; None for nothing."""
        plain = Producer(bootstrap_servers=self.servers, linger_ms=0)
        writers = [
            Writer(self.servers, f"{self.topic}-{number}", is_old=number == 1)
            for number in range(2)
        ]
        try:
            for _ in range(STEPS):
                self._step(plain, writers)
            for _ in range(PAUSES_AT_THE_END):
                self._pause(plain)
        finally:
            plain.close()
            for writer in writers:
                writer.close()
        return self._difference()

    def _step(self, plain: Producer[bytes, bytes], writers: list[Writer]) -> None:
        match self.chance.choice(["plain", "one", "one", "two", "pause", "pause"]):
            case "plain":
                key, value = self._record()
                plain.send(self.topic, value, key=key, partition=0).result()
                self.expected[key] = value
                self.told.append(f"{key!r}={value!r}")
            case "one":
                self._transactions([self.chance.choice(writers)], writers)
            case "two":
                self._transactions(writers, writers)
            case _:
                self._pause(plain)

    def _transactions(self, chosen: list[Writer], writers: list[Writer]) -> None:
        """At once; what is committed counts at the offsets where it was written."""
        commits = {writers.index(writer): self.chance.random() < 0.5 for writer in chosen}
        for writer in chosen:
            writer.begin()
        for _ in range(self.chance.randint(1, 4)):
            writer = self.chance.choice(chosen)
            key, value = self._record()
            writer.write(self.topic, key, value)
            number = writers.index(writer)
            if commits[number]:
                self.expected[key] = value
            self.told.append(f"{number}:{key!r}={value!r}{'' if commits[number] else ' aborted'}")
        for writer in chosen:
            writer.end(commits=commits[writers.index(writer)])

    def _record(self) -> tuple[bytes, bytes | None]:
        self.count += 1
        value = None if self.chance.random() < 0.4 else b"%d" % self.count
        return self.chance.choice(KEYS), value

    def _pause(self, plain: Producer[bytes, bytes]) -> None:
        """A filler after segment.ms rolls the segment, and the cleaner has the time for it."""
        time.sleep(1.1)
        plain.send(self.topic, b"x", key=FILLER, partition=0).result()
        time.sleep(0.9)
        self.told.append("pause")

    def _difference(self) -> str | None:
        seen: list[tuple[bytes, bytes | None]] = []
        partition = TopicPartition(self.topic, 0)
        with Consumer(
            bootstrap_servers=self.servers,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
        ) as consumer:
            consumer.assign([partition])
            end = consumer.end_offsets([partition])[partition]
            while consumer.position(partition) < end:
                seen += [(r.key or b"", r.value) for r in consumer.poll(timeout_ms=1_000)]
        found = {key: value for key, value in seen if key != FILLER}
        live = {key: value for key, value in self.expected.items() if value is not None}
        if {key: value for key, value in found.items() if value is not None} != live:
            return f"last values {found}, expected {live}"
        keys = [key for key, _ in seen if key != FILLER]
        if len(keys) != len(set(keys)):
            return f"a key is there twice where all is clean: {seen}"
        return None


def failures(name: str, servers: str, seeds: range) -> int:
    """Runs a history for each seed on one broker; prints those that differ."""

    def run(seed: int) -> str | None:
        history = History(servers, f"history-{seed}", random.Random(seed))
        difference = history.run()
        return difference and f"{name}, seed {seed}: {difference}\n    {'; '.join(history.told)}"

    with Admin(bootstrap_servers=servers) as admin:
        topics = [NewTopic(f"history-{seed}", 1, configs=COMPACTED) for seed in seeds]
        admin.create_topics(topics).raise_errors()
    with ThreadPoolExecutor(LANES) as pool:
        differences = [difference for difference in pool.map(run, seeds) if difference]
    for difference in differences:
        sys.stdout.write(f"{difference}\n")
    passed = len(seeds) - len(differences)
    sys.stdout.write(
        f"{name}: {len(seeds)} histories: {passed} passed, {len(differences)} failed\n"
    )
    return len(differences)


@contextlib.contextmanager
def our_broker() -> Iterator[str]:
    from millstream.testing.broker import Broker

    with Broker(settings={**servers.SETTINGS, **CLEANER}, in_process=False) as broker:
        yield broker.bootstrap_servers


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--kafka-at", default="")
    parser.add_argument("--at", default="")
    options = parser.parse_args(arguments)
    seeds = range(options.seed, options.seed + options.count)
    failed = 0
    with contextlib.ExitStack() as stack:
        ours = options.at or stack.enter_context(our_broker())
        failed += failures("ours", ours, seeds)
        classpath = os.environ.get("MILLSTREAM_KAFKA_CLASSPATH", "")
        theirs = options.kafka_at
        if not theirs and classpath:
            theirs = stack.enter_context(servers.kafka(classpath, CLEANER))
        if not theirs:
            raise SystemExit(
                "MILLSTREAM_KAFKA_CLASSPATH does not say where the jars of Kafka 4.3 are"
            )
        failed += failures("Kafka", theirs, seeds)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
