"""State stores: transactional rows, the stores of the DSL on top of them, and where the rows live."""

from __future__ import annotations

from millstream.streams.state.byte_store import ByteStore, MemoryByteStore
from millstream.streams.state.factory import StoreFactory, in_memory_stores, rocksdb_stores
from millstream.streams.state.key_value import KeyValueStore, TimestampedKeyValueStore
from millstream.streams.state.session import SessionStore
from millstream.streams.state.transaction import StoreMetadata, TransactionalRows
from millstream.streams.state.window import WindowStore

__all__ = [
    "ByteStore",
    "KeyValueStore",
    "MemoryByteStore",
    "SessionStore",
    "StoreFactory",
    "StoreMetadata",
    "TimestampedKeyValueStore",
    "TransactionalRows",
    "WindowStore",
    "in_memory_stores",
    "rocksdb_stores",
]
