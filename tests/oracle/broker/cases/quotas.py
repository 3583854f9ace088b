"""Quotas in force: who is refused, who waits, and for how long (KIP-13, KIP-124, KIP-219, KIP-599, KIP-612).

Each request has a connection of its own: one that waits is not read. Waits are told in whole seconds, which a few milliseconds of a slow
machine do not change.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from tests.oracle.broker.runner import case
from tests.oracle.broker.session import CLOSED, Session, Topic, batch, codes_of

_CONNECTIONS = count(1)


@contextmanager
def quota(s: Session, entity: dict[str, str | None], **limits: float) -> Iterator[None]:
    """Quotas while a case runs. The connection that sets them was there before: one of an address does not keep it out."""

    def alter(*, remove: bool) -> None:
        answer = s.quietly("AlterClientQuotas", 1, connection="quotas", client_id="administrator", entries=[{
            "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity.items()],
            "ops": [{"key": key, "value": value, "remove": remove} for key, value in limits.items()]}],
        )  # fmt: skip
        assert answer.entries[0].error_code == 0, answer

    alter(remove=False)
    s.settle()
    try:
        yield
    finally:
        alter(remove=True)


def ask(s: Session, api: str, version: int, note: str, client_id: str, **fields: Any) -> Any:
    """Sends a request over a connection of its own. What is written down is its errors and its wait."""
    answer = s.quietly(
        api,
        version,
        connection=f"c{next(_CONNECTIONS)}",
        client_id=client_id,
        again=frozenset(),
        **fields,
    )
    wait_s = round(answer.throttle_time_ms / 1_000)
    s.note(api, version, note, {"errors": sorted(codes_of(answer)), "seconds to wait": wait_s})
    return answer


def produce(s: Session, topic: Topic, note: str, client_id: str, size: int) -> None:
    records = batch(bytes(size))
    ask(s, "Produce", 9, note, client_id, acks=1, timeout_ms=10_000,
        topic_data=[{"name": topic.name, "partition_data": [{"index": 0, "records": records}]}])  # fmt: skip


@case("AlterClientQuotas")
def quota_of_produced_bytes(s: Session) -> None:
    topic, client = s.topic(), s.name("client")
    with quota(s, {"client-id": client}, producer_byte_rate=1_000):
        produce(s, topic, "within ten seconds of it", client, 9_000)
        produce(s, topic, "above it", client, 11_200)
        produce(s, topic, "another client", s.name("other"), 20_000)
        ask(s, "ListOffsets", 7, "what is not counted", client, replica_id=-1, isolation_level=0, topics=[
            {"name": topic.name, "partitions": [{"partition_index": 0, "timestamp": -1}]}])  # fmt: skip


@case("AlterClientQuotas")
def quota_of_fetched_bytes(s: Session) -> None:
    topic, client = s.topic(), s.name("client")
    for _ in range(5):
        s.produce(topic, bytes(4_000))
    two_batches = 2 * len(batch(bytes(4_000)))  # Kafka would send a part of a third
    asked = [{"topic": topic.name, "topic_id": topic.id, "partitions": [
        {"partition": 0, "fetch_offset": 0, "partition_max_bytes": two_batches}]}]  # fmt: skip
    fields = {
        "max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1_000_000, "isolation_level": 0,
        "session_id": 0, "session_epoch": 0, "topics": asked,
    }  # fmt: skip

    def fetch(note: str, client_id: str) -> None:
        answer = ask(s, "Fetch", 12, note, client_id, **fields)
        sizes = [len(p.records or b"") for topic in answer.responses for p in topic.partitions]
        s.note("Fetch", 12, f"{note}: sent", {"thousands": [size // 1_000 for size in sizes]})
        s.note("Fetch", 12, f"{note}: has a session", bool(answer.session_id))

    with quota(s, {"client-id": client}, consumer_byte_rate=1_000):
        fetch("within ten seconds of it", client)
        fetch("above it", client)
        fetch("above it again", client)
        fetch("another client", s.name("other"))


def new_topic(name: str, partitions: int) -> dict[str, Any]:
    return {"name": name, "num_partitions": partitions, "replication_factor": 1}


@case("AlterClientQuotas")
def quota_of_changes(s: Session) -> None:
    client = s.name("client")

    def create(version: int, note: str, suffix: str, partitions: int) -> None:
        ask(s, "CreateTopics", version, note, client, timeout_ms=10_000,
            topics=[new_topic(s.name(suffix), partitions)])  # fmt: skip

    with quota(s, {"client-id": client}, controller_mutation_rate=1):
        create(7, "more than there are tokens", "many", 20)
        create(7, "with nothing left", "one", 1)
        ask(s, "CreatePartitions", 3, "with nothing left", client, timeout_ms=10_000, validate_only=False,
            topics=[{"name": s.name("many"), "count": 21, "assignments": None}])  # fmt: skip
        ask(s, "DeleteTopics", 6, "with nothing left", client, timeout_ms=10_000,
            topics=[{"name": s.name("many")}])  # fmt: skip
        create(5, "an older client", "old", 1)
        create(7, "a wrong request", "wrong", 0)
        ask(s, "DeleteTopics", 4, "an older client", client, timeout_ms=10_000,
            topic_names=[s.name("many")])  # fmt: skip
        ask(s, "CreateTopics", 7, "another client", s.name("other"), timeout_ms=10_000,
            topics=[new_topic(s.name("free"), 20)])  # fmt: skip


@case("AlterClientQuotas")
def quota_of_changes_and_topics_that_are_asked_for(s: Session) -> None:
    """Whether a topic is made that Metadata names, when its client has made too many."""
    client = s.name("client")

    def metadata(note: str, suffix: str, **fields: Any) -> Any:
        return ask(s, "Metadata", 12, note, client, topics=[
            {"name": s.name(suffix), "topic_id": bytes(16)}], **fields)  # fmt: skip

    def is_there(suffix: str) -> bool:
        named = {"name": s.name(suffix), "topic_id": bytes(16)}
        found = s.quietly("Metadata", 12, topics=[named], allow_auto_topic_creation=False)
        return bool(found.topics[0].error_code == 0)

    with quota(s, {"client-id": client}, controller_mutation_rate=0.2):
        metadata("with tokens", "first", allow_auto_topic_creation=True)
        s.until(lambda: is_there("first"), "it is made, and takes two tokens")
        ask(s, "CreateTopics", 7, "all tokens", client, timeout_ms=10_000,
            topics=[new_topic(s.name("many"), 20)])  # fmt: skip
        metadata("with nothing left", "second", allow_auto_topic_creation=True)
        time.sleep(0.3)  # long enough to be made behind the answer
        s.note("Metadata", 12, "whether it is there", is_there("second"))


@case("AlterClientQuotas")
def quota_of_connections(s: Session) -> None:
    """Ten windows of it may come at once. The next one is closed without an answer, a second later at most."""
    s.quietly("ApiVersions", 3, connection="quotas", client_software_name="x", client_software_version="1")  # fmt: skip
    with quota(s, {"ip": "127.0.0.1"}, connection_creation_rate=1):
        served = 0
        for number in range(11):
            answer = s.quietly("ApiVersions", 3, connection=f"x{number}", client_software_name="x", client_software_version="1")  # fmt: skip
            if answer is None:
                break
            served += 1
        s.note("ApiVersions", 3, "connections that are served", served)
        s.note("ApiVersions", 3, "the next one", CLOSED if answer is None else "served")
