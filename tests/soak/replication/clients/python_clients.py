"""Four clients for Python, as README.md has them: `python_clients.py MAKE SERVERS NAME WRITES READS PARTITIONS`, MAKE being ours, librdkafka, kafka-python or aiokafka."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any, Final, NamedTuple

import confluent_kafka
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import ConsumerRebalanceListener as AioListener

from millstream.clients.blocking import Consumer, Producer, RebalanceListener
from millstream.model import TopicPartition

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # its loader of schemas uses such
    from kafka import ConsumerRebalanceListener as PythonListener
    from kafka import KafkaConsumer, KafkaProducer

ON_THE_WAY_MAX: Final = 50
PAUSE_S: Final = 0.01
POLL_S: Final = 0.2
FLUSH_S: Final = 150.0
"""More than the time-out of a delivery in any of them."""
RECONNECT_MAX_MS: Final = 500

_lock = threading.Lock()
stopping, leaving = threading.Event(), threading.Event()


class Work(NamedTuple):
    servers: str
    name: str
    writes: str
    reads: str
    partitions: int

    def begun(self, number: int) -> tuple[int, bytes]:
        """Returns partition and value of a record that is about to be sent."""
        partition, value = number % self.partitions, f"{self.name}-{number}"
        say("S", partition, value)
        return partition, value.encode()


def say(*words: object) -> None:
    with _lock:
        sys.stdout.write(" ".join(map(str, words)) + "\n")
        sys.stdout.flush()


def ours_sends(work: Work) -> None:
    on_the_way: deque[Callable[[], None]] = deque()

    def settle(partition: int, value: bytes, delivery: Any) -> None:  # Any: private type
        try:
            say("A", partition, delivery.result().offset, value.decode())
        except Exception as error:  # noqa: BLE001 - whatever a client tells its user is said
            say("E", repr(error))

    with Producer(bootstrap_servers=work.servers) as producer:
        for number in count():
            if stopping.is_set():
                break
            at, value = work.begun(number)
            delivery = producer.send(work.writes, value, partition=at)
            on_the_way.append(partial(settle, at, value, delivery))
            while len(on_the_way) > ON_THE_WAY_MAX:
                on_the_way.popleft()()
            time.sleep(PAUSE_S)
        for each in on_the_way:
            each()


def ours_reads(work: Work) -> None:
    class Listener(RebalanceListener):
        def on_partitions_assigned(self, partitions: set[TopicPartition]) -> None:
            say("M")

    with Consumer(
        bootstrap_servers=work.servers, group_id=work.name, auto_offset_reset="earliest"
    ) as consumer:
        consumer.subscribe([work.reads], listener=Listener())
        while not leaving.is_set():
            for record in consumer.poll(timeout_ms=int(POLL_S * 1_000)):
                say("R", record.partition, record.offset, (record.value or b"").decode())


def librdkafka_sends(work: Work) -> None:
    def note(
        value: bytes, error: confluent_kafka.KafkaError | None, message: confluent_kafka.Message
    ) -> None:
        if error is None:
            # None where what was acknowledged was a duplicate, and which one is not told
            offset = -1 if message.offset() is None else message.offset()
            say("A", message.partition(), offset, value.decode())
        else:
            say("E", error)

    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": work.servers, "enable.idempotence": True, "log_level": 0,
            "reconnect.backoff.max.ms": RECONNECT_MAX_MS, "error_cb": say_fatal,
        }
    )  # fmt: skip
    for number in count():
        if stopping.is_set():
            break
        at, value = work.begun(number)
        producer.produce(work.writes, value, partition=at, on_delivery=partial(note, value))
        while len(producer) > ON_THE_WAY_MAX:
            producer.poll(POLL_S)
        producer.poll(0)
        time.sleep(PAUSE_S)
    if left := producer.flush(FLUSH_S):
        say("E", f"{left} records are still on their way")


def librdkafka_reads(work: Work) -> None:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": work.servers, "group.id": work.name, "auto.offset.reset": "earliest",
            "log_level": 0, "reconnect.backoff.max.ms": RECONNECT_MAX_MS, "error_cb": say_fatal,
        }
    )  # fmt: skip
    consumer.subscribe([work.reads], on_assign=lambda *_: say("M"))
    while not leaving.is_set():
        message = consumer.poll(POLL_S)
        if message is None:
            continue
        if (error := message.error()) is not None:
            say("E", error)
        else:
            say("R", message.partition(), message.offset(), (message.value() or b"").decode())
    consumer.close()


def say_fatal(error: confluent_kafka.KafkaError) -> None:
    """Of lost connections a user of librdkafka is told, too; they are no errors of what it does."""
    if error.fatal():
        say("E", error)


def kafka_python_sends(work: Work) -> None:
    free = threading.Semaphore(ON_THE_WAY_MAX)

    def note(at: int, value: bytes, metadata: Any) -> None:  # Any: kafka-python has no types
        free.release()
        say("A", at, metadata.offset, value.decode())

    def fail(error: Exception) -> None:
        free.release()
        say("E", repr(error))

    producer = KafkaProducer(
        bootstrap_servers=work.servers.split(","), enable_idempotence=True,
        reconnect_backoff_max_ms=RECONNECT_MAX_MS,
    )  # fmt: skip
    for number in count():
        if stopping.is_set():
            break
        free.acquire()
        at, value = work.begun(number)
        sent = producer.send(work.writes, value, partition=at)
        sent.add_callback(partial(note, at, value))
        sent.add_errback(fail)
        time.sleep(PAUSE_S)
    producer.flush(FLUSH_S)
    producer.close()


def kafka_python_reads(work: Work) -> None:
    class Listener(PythonListener):  # type: ignore[misc]  # kafka-python has no types
        def on_partitions_revoked(self, revoked: object) -> None:
            pass

        def on_partitions_assigned(self, assigned: object) -> None:
            say("M")

    consumer = KafkaConsumer(
        bootstrap_servers=work.servers.split(","), group_id=work.name, auto_offset_reset="earliest",
        reconnect_backoff_max_ms=RECONNECT_MAX_MS,
    )  # fmt: skip
    consumer.subscribe([work.reads], listener=Listener())
    while not leaving.is_set():
        for records in consumer.poll(int(POLL_S * 1_000)).values():
            for record in records:
                say("R", record.partition, record.offset, record.value.decode())
    consumer.close()


def aiokafka_sends(work: Work) -> None:
    asyncio.run(_aiokafka_sends(work))


async def _aiokafka_sends(work: Work) -> None:
    free = asyncio.Semaphore(ON_THE_WAY_MAX)

    def note(at: int, value: bytes, sent: Any) -> None:  # Any: the future of aiokafka
        free.release()
        if (error := sent.exception()) is None:
            say("A", at, sent.result().offset, value.decode())
        else:
            say("E", repr(error))

    async with AIOKafkaProducer(
        bootstrap_servers=work.servers, enable_idempotence=True, request_timeout_ms=120_000
    ) as producer:  # its time-out of a request is that of a delivery, too
        for number in count():
            if stopping.is_set():
                break
            await free.acquire()
            at, value = work.begun(number)
            sent = await producer.send(work.writes, value, partition=at)
            sent.add_done_callback(partial(note, at, value))
            await asyncio.sleep(PAUSE_S)
        await producer.flush()


def aiokafka_reads(work: Work) -> None:
    asyncio.run(_aiokafka_reads(work))


async def _aiokafka_reads(work: Work) -> None:
    class Listener(AioListener):  # type: ignore[misc]  # aiokafka has no types
        def on_partitions_revoked(self, revoked: object) -> None:
            pass

        def on_partitions_assigned(self, assigned: object) -> None:
            say("M")

    consumer = AIOKafkaConsumer(
        bootstrap_servers=work.servers, group_id=work.name, auto_offset_reset="earliest"
    )
    consumer.subscribe([work.reads], listener=Listener())
    async with consumer:
        while not leaving.is_set():
            for records in (await consumer.getmany(timeout_ms=int(POLL_S * 1_000))).values():
                for record in records:
                    say("R", record.partition, record.offset, record.value.decode())


MAKES: Final = {
    "ours": (ours_sends, ours_reads),
    "librdkafka": (librdkafka_sends, librdkafka_reads),
    "kafka-python": (kafka_python_sends, kafka_python_reads),
    "aiokafka": (aiokafka_sends, aiokafka_reads),
}


def _guarded(work: Work, run: Callable[[Work], None]) -> None:
    try:
        run(work)
    except Exception as error:  # noqa: BLE001 - whatever a client tells its user is said
        say("E", repr(error))


def main() -> None:
    make, servers, name, writes, reads, partitions = sys.argv[1:]
    work = Work(servers, name, writes, reads, int(partitions))
    sends, reads_of = MAKES[make]
    sending = threading.Thread(target=_guarded, args=(work, sends))
    reading = threading.Thread(target=_guarded, args=(work, reads_of))
    sending.start()
    reading.start()
    for _ in sys.stdin:
        stopping.set()
        sending.join()
        say("DONE")
    leaving.set()
    stopping.set()
    reading.join()


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        main()
