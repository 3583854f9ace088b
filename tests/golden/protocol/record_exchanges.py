"""Records what real clients and a real broker say to each other: `python record_exchanges.py UPSTREAM LISTEN DIRECTORY`.

UPSTREAM is the port of an Apache Kafka 4.3.1 on this machine that advertises 127.0.0.1:LISTEN; this script listens
there, passes everything on, and runs kafka-python, confluent-kafka and aiokafka one after another: create a topic,
produce, consume in a group, commit. The first short exchange of each client, API and version is written to
DIRECTORY/<client>-<api>-v<version>.hex, the request's frame in one line and the response's in the next, without sizes.
"""

from __future__ import annotations

import asyncio
import struct
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, Producer
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import NewTopic

from millstream.protocol.api import ApiKey

FRAME_BYTES_MAX = 1500
API_VERSIONS_BYTES_MAX = 3000


class Recorder:
    """A TCP proxy that keeps what passes; `client` says who is talking."""

    def __init__(self, upstream: int, directory: Path) -> None:
        self.client = "nobody"
        self._upstream = upstream
        self._directory = directory

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._upstream)
        waiting: dict[int, bytes] = {}
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._requests(reader, far_writer, waiting))
            tasks.create_task(self._responses(far_reader, writer, waiting))

    async def _requests(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, waiting: dict[int, bytes]
    ) -> None:
        while frame := await read_frame(reader):
            waiting[struct.unpack_from(">i", frame, 4)[0]] = frame
            writer.write(struct.pack(">i", len(frame)) + frame)
        writer.close()

    async def _responses(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, waiting: dict[int, bytes]
    ) -> None:
        while frame := await read_frame(reader):
            self._keep(waiting.pop(struct.unpack_from(">i", frame)[0]), frame)
            writer.write(struct.pack(">i", len(frame)) + frame)
        writer.close()

    def _keep(self, request: bytes, response: bytes) -> None:
        key, version = struct.unpack_from(">hh", request)
        limit = API_VERSIONS_BYTES_MAX if key == ApiKey.API_VERSIONS else FRAME_BYTES_MAX
        path = self._directory / f"{self.client}-{ApiKey(key).name.lower()}-v{version}.hex"
        interesting = key != ApiKey.FETCH or len(response) > 150
        if not path.exists() and len(request) + len(response) < limit and interesting:
            path.write_text(f"{request.hex()}\n{response.hex()}\n")


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    """The next frame without its size; empty at the end of the stream."""
    try:
        (size,) = struct.unpack(">i", await reader.readexactly(4))
        return await reader.readexactly(size)
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


def kafka_python(bootstrap: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic("golden-kafka-python", 2, 1)])
    admin.close()
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    producer.send("golden-kafka-python", b"value", key=b"key").get(30)
    producer.close()
    consumer = KafkaConsumer(
        "golden-kafka-python",
        bootstrap_servers=bootstrap,
        group_id="golden",
        auto_offset_reset="earliest",
    )
    next(consumer)
    consumer.commit()
    consumer.close()


def confluent(bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    producer.produce("golden-kafka-python", b"value", b"key", headers=[("h", b"1")])
    producer.flush(30)
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "golden-2", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["golden-kafka-python"])
    while (message := consumer.poll(30)) is None or message.error():
        pass
    consumer.commit(message, asynchronous=False)
    consumer.close()


def aiokafka(bootstrap: str) -> None:
    async def talk() -> None:
        async with AIOKafkaProducer(
            bootstrap_servers=bootstrap, enable_idempotence=True
        ) as producer:
            await producer.send_and_wait("golden-kafka-python", b"value", key=b"key")
        async with AIOKafkaConsumer(
            "golden-kafka-python",
            bootstrap_servers=bootstrap,
            group_id="golden-3",
            auto_offset_reset="earliest",
        ) as consumer:
            await consumer.getone()
            await consumer.commit()

    asyncio.run(talk())


CLIENTS: dict[str, Callable[[str], None]] = {
    "kafka_python": kafka_python,
    "confluent": confluent,
    "aiokafka": aiokafka,
}


def main(upstream: int, listen: int, directory: Path) -> None:
    recorder = Recorder(upstream, directory)
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    server = asyncio.start_server(recorder.serve, "127.0.0.1", listen)
    asyncio.run_coroutine_threadsafe(server, loop).result(10)
    for name, talk in CLIENTS.items():
        recorder.client = name
        talk(f"127.0.0.1:{listen}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
