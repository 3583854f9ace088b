"""Names of faust, quixstreams and bytewax, and those of Java that have no page of their own, and what they are in Streams."""

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
