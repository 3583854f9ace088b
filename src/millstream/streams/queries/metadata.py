"""The places of the stores of an application: Kafka Streams' KeyQueryMetadata and StreamsMetadata, and the partition of
a key. Pure.

A runner has its own way to name a host: an address, or a process of Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from millstream.clients.producer.core.murmur2 import partition_for_key
from millstream.model import TopicPartition
from millstream.streams.errors import InvalidStoreError, SerializationError
from millstream.streams.serdes.serde import Serde

Host = TypeVar("Host")

Partitioner = Callable[[Any, int], int]  # Any: keys of any type
"""Called with a key and the number of partitions."""


@dataclass(frozen=True, slots=True)
class KeyQueryMetadata(Generic[Host]):
    """The place of a key. `active_host` None: no host has the task now.

    `standby_hosts`: those whose copies are up to date.

    `partition` -1: it is not known yet, or the store is a global one, which has no partitions.
    """

    partition: int
    active_host: Host | None
    standby_hosts: frozenset[Host] = frozenset()


@dataclass(frozen=True, slots=True)
class StreamsMetadata(Generic[Host]):
    """One host: the stores of its tasks, what these read, and the same of its standbys that are up to date."""

    host: Host
    state_store_names: frozenset[str]
    topic_partitions: frozenset[TopicPartition]
    standby_state_store_names: frozenset[str] = frozenset()
    standby_topic_partitions: frozenset[TopicPartition] = frozenset()


def partition_of_key(
    store: str,
    key: object,
    partitions: int,
    serde: Serde[Any] | None,  # Any: keys of any type
    partitioner: Partitioner | None = None,
) -> int:
    """Returns the partition that Kafka's default partitioner gives a key as its serde
    writes it, or another partitioner.

    Raises InvalidStoreError where neither is known, and SerializationError for a key that the serde cannot write.
    """
    if partitioner is not None:
        return partitioner(key, partitions)
    if serde is None:
        raise InvalidStoreError(f"store {store} has no serde of keys: give one")
    try:
        return partition_for_key(serde.encode(key), partitions)
    except Exception as error:
        raise SerializationError(
            f"store {store} cannot be asked for key {type(key).__name__} with serde {serde.name}"
        ) from error
