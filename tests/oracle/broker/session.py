"""A client that speaks raw frames and writes down what it is answered: the steps of one case.

It hides what depends on timing alone: coordinators that are still loading, leaders that are not elected yet.
"""

from __future__ import annotations

import base64
import itertools
import secrets
import socket
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from millstream.model import ZERO_UUID
from millstream.protocol.api import VERSIONS, ApiKey
from millstream.protocol.frames import decode_response, encode_request
from millstream.protocol.json_form import to_json
from millstream.protocol.message_values import MessageValue
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.record import Record
from millstream.security.sasl_scram import ScramClient
from millstream.security.scram import ScramMechanism
from tests.oracle.broker.messages import Fields, api_key, request
from tests.oracle.broker.servers import PASSWORD, login_addresses

NOW_MS = 1_700_000_000_000
"""The timestamp of records, unless a case says otherwise."""
PATIENCE_S = 10.0
SILENCE_S = 6.0
"""Kafka leaves some requests without an answer; no good one takes so long."""
_NOT_READY = frozenset({14, 15, 16, 51})
"""COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, CONCURRENT_TRANSACTIONS."""
CLOSED = "closed"
SILENCE = "no answer"
Answer = Any  # Any: the response class of whatever API was asked, which the case knows


@dataclass(frozen=True)
class Topic:
    name: str
    id: bytes

    def partition(self, *indexes: int, **fields: Any) -> Fields:
        """The topic with some partitions, as most requests have it. `fields` go to each partition."""
        return {
            "name": self.name,
            "topic_id": self.id,
            "partitions": [{"partition_index": index, **fields} for index in indexes],
        }


class Session:
    """One case against one broker. `steps` are (label, answer as JSON or "closed")."""

    def __init__(self, bootstrap: str, case: str, *, settle_s: float = 0.0) -> None:
        """`settle_s`: how long `settle` waits."""
        self.bootstrap = bootstrap
        self._settle_s = settle_s
        self.case = case
        self.run = f"r{secrets.token_hex(3)}-"
        """In front of every name, so that a case can be run on the same broker again; not in what is written down."""
        self.steps: list[tuple[str, Any]] = []
        self._sockets: dict[str, socket.socket] = {}
        self._numbers = itertools.count(1)
        self._was_silent = False

    # --- what is written down

    def ask(
        self,
        api: str,
        version: int,
        note: str = "",
        *,
        connection: str = "a",
        client_id: str | None = "oracle",
        again: frozenset[int] = _NOT_READY,
        **fields: Any,
    ) -> Answer:
        """Sends one request; its answer is a step of the case. None when the broker closes the connection instead.

        Errors in `again` are answered by asking again, as clients do.
        """
        key = api_key(api)
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = self._exchange(key, version, fields, connection, client_id)
            if not (
                answer is not None and codes_of(answer) & again and time.monotonic() < deadline
            ):
                break
            time.sleep(0.05)
        self._note_answer(api, version, note, answer)
        return answer

    def send(self, api: str, version: int, *, connection: str, **fields: Any) -> None:
        """Sends a request whose answer is taken later, by `receive`."""
        self._write(api_key(api), version, fields, connection, "oracle")

    def receive(self, api: str, version: int, note: str = "", *, connection: str) -> Answer:
        answer = self._read(api_key(api), version, connection)
        self._note_answer(api, version, note, answer)
        return answer

    def _note_answer(self, api: str, version: int, note: str, answer: Answer) -> None:
        if answer is None:
            content: Any = SILENCE if self._was_silent else CLOSED
        else:
            content = to_json(answer, version)
        self.note(api, version, note, content)

    def note(self, api: str, version: int, note: str, content: Any) -> None:
        self.steps.append((f"{api} v{version}{' ' + note if note else ''}", content))

    # --- what is not

    def quietly(self, api: str, version: int, **options: Any) -> Answer:
        """As `ask`, without a step."""
        kept = len(self.steps)
        answer = self.ask(api, version, **options)
        del self.steps[kept:]
        return answer

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Waits for something that takes its time in any broker."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, f"{self.case}: still not so: {what}"
            time.sleep(0.02)

    def topic(self, suffix: str = "", partitions: int = 1, **configs: str) -> Topic:
        """A new topic with its leaders elected. Its name is that of the case; config names have _ for dots."""
        name = self.name(suffix)
        created = self.quietly(
            "CreateTopics", 7, timeout_ms=10_000,
            topics=[{"name": name, "num_partitions": partitions, "replication_factor": 1, "configs": [
                {"name": key.replace("_", "."), "value": value} for key, value in configs.items()]}],
        )  # fmt: skip
        assert created.topics[0].error_code == 0, created
        self.until(lambda: self.is_led(name, partitions), f"topic {name} has leaders")
        return Topic(name, created.topics[0].topic_id)

    def known_topic(self, suffix: str = "", partitions: int = 1, **configs: str) -> Topic:
        """A new topic that coordinators know too: Kafka's hear of it a moment after its leaders."""
        topic = self.topic(suffix, partitions, **configs)
        self.settle()
        return topic

    def settle(self) -> None:
        """Gives Kafka the moment in which a change of metadata reaches all of its parts. Ours applies it before it answers."""
        time.sleep(self._settle_s)

    def name(self, suffix: str = "") -> str:
        """A name that no other case uses."""
        return self.run + self.case + ("-" + suffix if suffix else "")

    def produce(self, topic: Topic, *values: bytes, partition: int = 0, **options: Any) -> Answer:
        """Appends one batch without a step; the answer for the partition."""
        records = batch(*values, **options)
        answer = self.quietly(
            "Produce", 9, acks=-1, timeout_ms=10_000,
            topic_data=[{"name": topic.name, "partition_data": [{"index": partition, "records": records}]}],
        )  # fmt: skip
        return answer.responses[0].partition_responses[0]

    def close(self) -> None:
        for connected in self._sockets.values():
            connected.close()
        self._sockets.clear()

    # --- the wire

    def raw(self, data: bytes, note: str, connection: str = "a") -> bytes | None:
        """Sends bytes as they are; whether the broker answers or closes is a step."""
        self._socket(connection).sendall(data)
        frame = self._frame(connection)
        silence = SILENCE if self._was_silent else CLOSED
        self.steps.append(
            (note, silence if frame is None else f"{frame[:6].hex()} of {len(frame)} bytes")
        )
        return frame

    def _exchange(
        self, key: ApiKey, version: int, fields: Fields, connection: str, client_id: str | None
    ) -> Answer:
        self._write(key, version, fields, connection, client_id)
        return self._read(key, version, connection)

    def _write(
        self, key: ApiKey, version: int, fields: Fields, connection: str, client_id: str | None
    ) -> None:
        pieces = encode_request(
            key, version, next(self._numbers), client_id, request(key, version, fields)
        )
        self._socket(connection).sendall(b"".join(bytes(piece) for piece in pieces))  # type: ignore[arg-type]  # no splices here

    def _read(self, key: ApiKey, version: int, connection: str) -> Answer:
        frame = self._frame(connection)
        return None if frame is None else decode_response(key, version, memoryview(frame))[1]

    def _frame(self, connection: str) -> bytes | None:
        """None when the broker closes; the next request opens a new connection under the same name."""
        head = self._bytes(connection, 4)
        if len(head) == 4:
            (size,) = struct.unpack(">i", head)
            frame = self._bytes(connection, size)
            if len(frame) == size:
                return frame
        self._sockets.pop(connection).close()
        return None

    def _bytes(self, connection: str, count: int) -> bytes:
        found = b""
        self._was_silent = False
        try:
            while len(found) < count:
                part = self._sockets[connection].recv(count - len(found))
                if not part:
                    break
                found += part
        except ConnectionError:
            pass  # closed without ceremony
        except TimeoutError:
            self._was_silent = True
        return found

    def _socket(self, connection: str) -> socket.socket:
        if connection not in self._sockets:
            host, _, port = self.bootstrap.rpartition(":")
            self._sockets[connection] = socket.create_connection((host, int(port)), SILENCE_S)
        return self._sockets[connection]

    def login(self, user: str) -> None:
        """Opens a connection of this user, under its name. It stays open until the broker closes it."""
        if user in self._sockets:
            return
        host, _, port = login_addresses[self.bootstrap].rpartition(":")
        self._sockets[user] = socket.create_connection((host, int(port)), SILENCE_S)
        self.quietly("SaslHandshake", 1, connection=user, mechanism="PLAIN")
        answer = self.quietly(
            "SaslAuthenticate", 2, connection=user, auth_bytes=f"\0{user}\0{PASSWORD}".encode()
        )
        assert answer is not None, "the login is not answered"
        assert not answer.error_code, answer

    def login_by_token(self, connection: str, token_id: str, hmac: bytes) -> None:
        """Opens a connection of who has a delegation token, for its owner."""
        host, _, port = login_addresses[self.bootstrap].rpartition(":")
        self._sockets[connection] = socket.create_connection((host, int(port)), SILENCE_S)
        client = ScramClient(
            ScramMechanism.SCRAM_SHA_256,
            token_id,
            base64.b64encode(hmac).decode(),
            secrets.token_urlsafe(16),
            token_auth=True,
        )
        self.quietly("SaslHandshake", 1, connection=connection, mechanism=client.mechanism)
        said: bytes | None = client.first()
        while said is not None:
            answer = self.quietly("SaslAuthenticate", 2, connection=connection, auth_bytes=said)
            assert answer is not None, "the login by token is not answered"
            assert not answer.error_code, answer
            said = client.answer(bytes(answer.auth_bytes))

    def is_led(self, name: str, partitions: int) -> bool:
        asked = {"name": name, "topic_id": ZERO_UUID}
        found = self.quietly("Metadata", 12, topics=[asked], allow_auto_topic_creation=False)
        topic = found.topics[0]
        if topic.error_code or len(topic.partitions) != partitions:
            return False
        offsets = self.quietly(
            "ListOffsets", 4, replica_id=-1,
            topics=[{"name": name, "partitions": [{"partition_index": i, "timestamp": -1} for i in range(partitions)]}],
        )  # fmt: skip
        return all(p.error_code == 0 for p in offsets.topics[0].partitions)


def versions(api: str) -> Iterator[int]:
    """Every version of an API that Kafka 4.3 serves."""
    found = VERSIONS[api_key(api)]
    return iter(range(found.lowest, found.highest + 1))


def batch(
    *values: bytes, key: bytes | None = None, at_ms: int = NOW_MS, **options: Any
) -> memoryview:
    """One record batch; timestamps one millisecond apart."""
    records = [
        Record(offset=i, timestamp=at_ms + i, key=key, value=v) for i, v in enumerate(values)
    ]
    return memoryview(build_batch(records, BatchOptions(**options)))


def codes_of(answer: Any) -> set[int]:
    """Every error code of a response, however deep."""
    found: set[int] = set()
    pending = [answer]
    while pending:
        item = pending.pop()
        if isinstance(item, list):
            pending += item
        elif isinstance(item, MessageValue):
            for name in item.field_names():
                value = getattr(item, name)
                if name == "error_code":
                    found.add(value)
                elif isinstance(value, (list, MessageValue)):
                    pending.append(value)
    return found
