"""The partition of a key of a store. Pure."""

from __future__ import annotations

from typing import Any

from millstream.clients.producer.core.murmur2 import partition_for_key
from millstream.streams.errors import InvalidStoreError, SerializationError
from millstream.streams.queries.metadata import Partitioner
from millstream.streams.serdes.serde import Serde


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
