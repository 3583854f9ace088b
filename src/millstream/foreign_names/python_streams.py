"""Names of faust, quixstreams and bytewax, and those of Java that have no page of their own, and
what they are in Streams.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

NAMES: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "KStream": {
            "apply": "map_values (quixstreams), or flat_map_values where it gives several",
            "update": "peek (quixstreams)",
            "sink": "to (a topic), or foreach",
            "to_topic": "to",
            "take": "process with a processor that keeps them in a store",
            "through": "repartition, or to and stream",
            "group_by_value": "group_by",
            "branch": "split().branch(...)",
            "transform": "process",
            "transform_values": "process_values",
            "flat_transform": "process",
        },
        "KTable": {"items": "a query: millstream.streams.queries", "to_topic": "to_stream().to"},
        "StreamsBuilder": {
            "topic": "stream",
            "agent": "stream and process (faust)",
            "dataframe": "stream (quixstreams)",
            "Table": "table, or an aggregation (faust)",
            "timer": "context.schedule of a processor (faust)",
            "run": "KafkaStreams(topology, config, clients).run()",
            "main": "KafkaStreams(topology, config, clients).run()",
        },
    }
)
"""By class, then by name."""

_SETTINGS: Final = "the second argument is a StreamsConfig, the third the settings of all clients"

OF_APPLICATION: Final[Mapping[str, str]] = MappingProxyType(
    {
        "properties": _SETTINGS,
        "props": _SETTINGS,
        "streams_config": _SETTINGS,
        "configs": _SETTINGS,
        "bootstrap_servers": 'give it with the settings of all clients: KafkaStreams(topology, config, {"bootstrap.servers": ...})',
        "application_id": 'it is a setting of StreamsConfig: KafkaStreams(topology, StreamsConfig(application_id="..."), clients)',
    }
)
"""Arguments of an application."""

ARGUMENTS_OF_APPLICATION: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "close": {
            "timeout_ms": "write timeout_s=, in seconds",
            "leave_group": "not taken: a member that closes leaves its group",
            "options": "write timeout_s=, in seconds",
        },
        "query_metadata_for_key": {
            "store_name": "write store=",
            "key_serializer": "write key_serde=",
        },
        "streams_metadata_for_store": {"store_name": "write store="},
        "on_state_change": {"state_listener": "write listener="},
    }
)
"""By method, then by argument."""

OF_OPERATORS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "key_serde": "write key=",
        "value_serde": "write value=",
        "consumed": "write key= and value=",
        "produced": "write key= and value=",
        "grouped": "write key= and value=",
        "named": "write name=",
        "num_partitions": "write partitions=",
        "number_of_partitions": "write partitions=",
        "auto_offset_reset": "write reset=",
        "reset_policy": "write reset=",
        "timestamp_extractor": "write timestamps=",
        "stream_partitioner": "write partitioner=",
        "state_store_names": "write stores=",
        "processor_supplier": "write supplier=",
        "join_windows": "write windows=",
        "stream_joined": "write joined=",
        "value_joiner": "write joiner=",
        "key_value_mapper": "write mapper=",
        "value_mapper": "write mapper=",
        "store_name": 'write materialized=Materialized("name")',
    }
)
"""Arguments of the DSL, whatever the operator, where it has ours."""

CLASSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Agent": "a processor, or the operators of StreamsBuilder.stream (faust)",
        "App": "StreamsBuilder for the topology and KafkaStreams to run it (faust)",
        "Application": "StreamsBuilder for the topology and KafkaStreams to run it (quixstreams)",
        "AutoOffsetReset": "OffsetReset, or a timedelta as reset=",
        "Bytes": "bytes",
        "Dataflow": "StreamsBuilder for the topology and KafkaStreams to run it (bytewax)",
        "Duration": "datetime.timedelta",
        "FixedKeyProcessor": "any object with process(record), given to process_values",
        "FixedKeyProcessorContext": "ProcessorContext",
        "FixedKeyRecord": "Record",
        "Initializer": "any function",
        "KeyValue": "a pair: (key, value)",
        "KeyValueMapper": "any function of key and value",
        "Predicate": "any function of key and value",
        "ProcessorSupplier": "any function that returns a processor",
        "Properties": "StreamsConfig, with keyword arguments",
        "Reducer": "any function of two values",
        "SerDes": "the functions of millstream.streams.serdes",
        "Serdes": "the functions of millstream.streams.serdes: string(), long(), json() ...",
        "StreamPartitioner": "a function, given as partitioner=",
        "StreamingDataFrame": "KStream (quixstreams)",
        "StreamsException": "millstream.streams.errors.StreamsError",
        "TimestampExtractor": "a function of millstream.streams.timestamps, or one of your own",
        "TopicNameExtractor": "a function, given to to()",
        "TopologyException": "millstream.streams.errors.TopologyError",
        "TopologyTestDriver": "millstream.testing.streams.topology_test_driver.TopologyTestDriver",
        "ValueAndTimestamp": "a pair: (value, timestamp)",
        "ValueJoiner": "any function of two values",
        "ValueMapper": "any function of one value",
        "ValueMapperWithKey": "any function of key and value, with with_key=True",
        "ValueTransformer": "any object with process(record), given to process_values",
        "VersionedRecord": "millstream.streams.state.read_only.VersionedRecord",
        "WindowedSerdes": "time_windowed and session_windowed of millstream.streams.serdes",
    }
)
"""Names of the package."""
