"""Opens stores: a class for each kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from millstream.streams.state.buffers.join import JoinBuffer
from millstream.streams.state.buffers.retries import RetryStore
from millstream.streams.state.buffers.suppression import SuppressionBuffer
from millstream.streams.state.buffers.unmatched import UnmatchedStore
from millstream.streams.state.custom import CustomStore
from millstream.streams.state.headers import adopt_headers
from millstream.streams.state.key_value.lru import LruKeyValueStore, LruTimestampedKeyValueStore
from millstream.streams.state.key_value.store import (
    KeyValueStore,
    TimestampedKeyValueStore,
    TimestampedKeyValueStoreWithHeaders,
)
from millstream.streams.state.key_value.versioned import VersionedKeyValueStore
from millstream.streams.state.session.store import SessionStore, SessionStoreWithHeaders
from millstream.streams.state.store import StateStore, StoreParts
from millstream.streams.state.untimed_tables import UntimedTableStore, UntimedWindowTableStore
from millstream.streams.state.window.plain import PlainWindowStore
from millstream.streams.state.window.timestamped import (
    TimestampedWindowStore,
    TimestampedWindowStoreWithHeaders,
)
from millstream.streams.topology.stores import StoreKind

_KINDS: Final[Mapping[StoreKind, type[StateStore]]] = {
    StoreKind.CUSTOM: CustomStore,
    StoreKind.JOIN_BUFFER: JoinBuffer,
    StoreKind.KEY_VALUE: KeyValueStore,
    StoreKind.RETRIES: RetryStore,
    StoreKind.SESSION: SessionStore,
    StoreKind.SUBSCRIPTIONS: TimestampedKeyValueStore,
    StoreKind.SUPPRESSION_BUFFER: SuppressionBuffer,
    StoreKind.TIMESTAMPED_KEY_VALUE: TimestampedKeyValueStore,
    StoreKind.TIMESTAMPED_WINDOW: TimestampedWindowStore,
    StoreKind.UNMATCHED: UnmatchedStore,
    StoreKind.VERSIONED: VersionedKeyValueStore,
    StoreKind.WINDOW: PlainWindowStore,
}
_BOUNDED: Final[Mapping[StoreKind, type[StateStore]]] = {
    StoreKind.KEY_VALUE: LruKeyValueStore,
    StoreKind.TIMESTAMPED_KEY_VALUE: LruTimestampedKeyValueStore,
}
_UNTIMED: Final[Mapping[StoreKind, type[StateStore]]] = {
    StoreKind.TIMESTAMPED_KEY_VALUE: UntimedTableStore,
    StoreKind.TIMESTAMPED_WINDOW: UntimedWindowTableStore,
}
_WITH_HEADERS: Final[Mapping[StoreKind, type[StateStore]]] = {
    StoreKind.SESSION: SessionStoreWithHeaders,
    StoreKind.TIMESTAMPED_KEY_VALUE: TimestampedKeyValueStoreWithHeaders,
    StoreKind.TIMESTAMPED_WINDOW: TimestampedWindowStoreWithHeaders,
}


def open_store(parts: StoreParts) -> StateStore:
    """Returns the store of this specification, ready for use."""
    spec = parts.spec
    adopt_headers(spec.name, parts.rows, wanted=spec.with_headers)
    if spec.with_headers:
        return _WITH_HEADERS[spec.kind](parts)
    if not spec.keeps_timestamps:
        return _UNTIMED[spec.kind](parts)
    return (_KINDS if spec.entries_max is None else _BOUNDED)[spec.kind](parts)
