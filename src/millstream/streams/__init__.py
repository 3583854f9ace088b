"""Kafka Streams for Python: DSL, topology, kernel, stores and serdes. See README.md of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.runtime.lazy import names_of

if TYPE_CHECKING:
    from millstream.streams.application.clients import read_streams_properties
    from millstream.streams.application.kafka_streams import KafkaStreams
    from millstream.streams.application.states import ApplicationState
    from millstream.streams.config import StreamsConfig
    from millstream.streams.dropped_records import DroppedRecords, DropReason
    from millstream.streams.dsl import (
        CogroupedKStream,
        GlobalKTable,
        KGroupedStream,
        KGroupedTable,
        KStream,
        KTable,
        SessionWindowedCogroupedKStream,
        SessionWindowedKStream,
        StreamsBuilder,
        TimeWindowedCogroupedKStream,
        TimeWindowedKStream,
    )
    from millstream.streams.handlers import (
        ErrorContext,
        OnError,
        OnUncaughtError,
        OutgoingRecord,
        Response,
        SerializationOrigin,
        dead_letter,
    )
    from millstream.streams.health_server import HealthServer
    from millstream.streams.options import (
        EmitStrategy,
        Materialized,
        OffsetReset,
        RecordContext,
        Retry,
        StoreFormat,
        StoreSupplier,
        StoreType,
        StreamJoined,
        Suppressed,
        WaitingRecord,
    )
    from millstream.streams.processor import (
        ContextualProcessor,
        Processor,
        ProcessorContext,
        ProcessorWrapper,
        PunctuationType,
        Record,
        TableChange,
    )
    from millstream.streams.progress.restore_progress import RestoreProgress
    from millstream.streams.restore_listener import StateRestoreListener
    from millstream.streams.rocksdb_options import RocksDBOptions
    from millstream.streams.serdes import Serde, Windowed
    from millstream.streams.state.custom import CustomStateStore, StateStoreContext
    from millstream.streams.state.store import ChangelogRecord
    from millstream.streams.topology import Topology, TopologyBuilder
    from millstream.streams.topology.stores import StoreKind, StoreSpec
    from millstream.streams.windows import (
        JoinWindows,
        SessionWindows,
        SlidingWindows,
        TimeWindows,
        UnlimitedWindows,
    )
else:
    __getattr__ = names_of(
        __name__,
        {
            "millstream.streams.application.clients": "read_streams_properties",
            "millstream.streams.application.kafka_streams": "KafkaStreams",
            "millstream.streams.application.states": "ApplicationState",
            "millstream.streams.config": "StreamsConfig",
            "millstream.streams.dsl": "CogroupedKStream GlobalKTable KGroupedStream KGroupedTable KStream KTable SessionWindowedCogroupedKStream SessionWindowedKStream StreamsBuilder TimeWindowedCogroupedKStream TimeWindowedKStream",
            "millstream.streams.dropped_records": "DroppedRecords DropReason",
            "millstream.streams.handlers": "ErrorContext OnError OnUncaughtError OutgoingRecord Response SerializationOrigin dead_letter",
            "millstream.streams.health_server": "HealthServer",
            "millstream.streams.options": "EmitStrategy Materialized OffsetReset RecordContext Retry StoreFormat StoreSupplier StoreType StreamJoined Suppressed WaitingRecord",
            "millstream.streams.processor": "ContextualProcessor Processor ProcessorContext ProcessorWrapper PunctuationType Record TableChange",
            "millstream.streams.progress.restore_progress": "RestoreProgress",
            "millstream.streams.restore_listener": "StateRestoreListener",
            "millstream.streams.rocksdb_options": "RocksDBOptions",
            "millstream.streams.serdes": "Serde Windowed",
            "millstream.streams.state.custom": "CustomStateStore StateStoreContext",
            "millstream.streams.state.store": "ChangelogRecord",
            "millstream.streams.topology": "Topology TopologyBuilder",
            "millstream.streams.topology.stores": "StoreKind StoreSpec",
            "millstream.streams.windows": "JoinWindows SessionWindows SlidingWindows TimeWindows UnlimitedWindows",
        },
    )

__all__ = [
    "ApplicationState",
    "ChangelogRecord",
    "CogroupedKStream",
    "ContextualProcessor",
    "CustomStateStore",
    "DropReason",
    "DroppedRecords",
    "EmitStrategy",
    "ErrorContext",
    "GlobalKTable",
    "HealthServer",
    "JoinWindows",
    "KGroupedStream",
    "KGroupedTable",
    "KStream",
    "KTable",
    "KafkaStreams",
    "Materialized",
    "OffsetReset",
    "OnError",
    "OnUncaughtError",
    "OutgoingRecord",
    "Processor",
    "ProcessorContext",
    "ProcessorWrapper",
    "PunctuationType",
    "Record",
    "RecordContext",
    "Response",
    "RestoreProgress",
    "Retry",
    "RocksDBOptions",
    "Serde",
    "SerializationOrigin",
    "SessionWindowedCogroupedKStream",
    "SessionWindowedKStream",
    "SessionWindows",
    "SlidingWindows",
    "StateRestoreListener",
    "StateStoreContext",
    "StoreFormat",
    "StoreKind",
    "StoreSpec",
    "StoreSupplier",
    "StoreType",
    "StreamJoined",
    "StreamsBuilder",
    "StreamsConfig",
    "Suppressed",
    "TableChange",
    "TimeWindowedCogroupedKStream",
    "TimeWindowedKStream",
    "TimeWindows",
    "Topology",
    "TopologyBuilder",
    "UnlimitedWindows",
    "WaitingRecord",
    "Windowed",
    "dead_letter",
    "read_streams_properties",
]
