"""TopologyBuilder: a topology of the Processor API, node by node, with the methods of Java's `Topology`.

It turns calls into nodes; what may be added, and what not, is the writer's business.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from millstream.foreign_names.explanation import explain_construction, explain_misspellings
from millstream.streams.errors import TopologyError
from millstream.streams.options import OffsetReset, Partitioner, TopicExtractor
from millstream.streams.processor import ProcessorSupplier, ProcessorWrapper
from millstream.streams.serdes.serde import Serde
from millstream.streams.timestamps import TimestampExtractor
from millstream.streams.topology.functions import (
    check_arity,
    check_partitioner,
    check_pattern,
    check_reading,
    check_supplier,
    stores_of,
)
from millstream.streams.topology.nodes import ProcessorNode, SinkNode, SourceNode
from millstream.streams.topology.operators import Process
from millstream.streams.topology.stores import StoreSpec
from millstream.streams.topology.topology import Topology
from millstream.streams.topology.wrapping import check_wrapper
from millstream.streams.topology.writer import TopologyWriter

_AnySerde = Serde[Any]  # Any: nodes of any type


@explain_construction
@explain_misspellings
class TopologyBuilder:
    """Collects sources, processors, sinks and stores; `build()` gives the frozen topology.

    Parents come before their children. Every method returns the builder, so that calls can be chained.
    What Kafka Streams refuses with a TopologyException is a `TopologyError`. `processor_wrapper` stands around every
    processor but those that fill global and read-only stores.
    """

    def __init__(self, *, processor_wrapper: ProcessorWrapper | None = None) -> None:
        check_wrapper(processor_wrapper)
        self._writer = TopologyWriter(processor_wrapper)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._writer.summary()}>"

    def add_source(
        self,
        name: str,
        *topics: str,
        pattern: str | re.Pattern[str] | None = None,
        key: _AnySerde | None = None,
        value: _AnySerde | None = None,
        timestamps: TimestampExtractor | None = None,
        reset: OffsetReset | timedelta | None = None,
    ) -> TopologyBuilder:
        """Read topics, or all topics whose whole name matches `pattern`.

        `reset`: where to begin without a committed offset; a timedelta goes back by that long (KIP-1106).
        """
        check_reading(f"source {name}", timestamps, reset)
        given = None if pattern is None else check_pattern(f"source {name}", pattern)
        self._writer.add_source(SourceNode(name, topics, given, key, value, timestamps, reset))
        return self

    def add_processor(
        self, name: str, supplier: ProcessorSupplier, *parents: str
    ) -> TopologyBuilder:
        """Add a processor below its parents, together with the stores that the supplier brings."""
        check_supplier(f"processor {name}", supplier, "process", "record")
        stores = stores_of(f"processor {name}", supplier)
        self._writer.add_processor(ProcessorNode(name, Process(supplier), parents))
        for store in stores:
            self._writer.add_store(store, (name,))
        return self

    def add_sink(
        self,
        name: str,
        topic: str | TopicExtractor[Any, Any],  # Any: a sink of any type
        *parents: str,
        key: _AnySerde | None = None,
        value: _AnySerde | None = None,
        partitioner: Partitioner[Any, Any] | None = None,  # Any: a sink of any type
    ) -> TopologyBuilder:
        """Write to a topic, or to the topic that topic(key, value, context) names."""
        if not isinstance(topic, str):
            check_arity(f"sink {name}", "topic", topic, "key", "value", "context")
        check_partitioner(f"sink {name}", partitioner)
        self._writer.add_sink(SinkNode(name, parents, topic, key, value, partitioner))
        return self

    def add_state_store(self, store: StoreSpec, *processors: str) -> TopologyBuilder:
        """Add a store and connect processors with it; processors that share one run in one task."""
        self._writer.add_store(store, processors)
        return self

    def connect_processor_and_state_stores(self, processor: str, *stores: str) -> TopologyBuilder:
        """Let a processor use stores that were added before."""
        if not stores:
            raise TopologyError(f"no store to connect {processor} with: name at least one")
        self._writer.connect(processor, stores)
        return self

    def add_global_store(
        self,
        store: StoreSpec,
        source: str,
        topic: str,
        processor: str,
        supplier: ProcessorSupplier,
        *,
        key: _AnySerde | None = None,
        value: _AnySerde | None = None,
        timestamps: TimestampExtractor | None = None,
    ) -> TopologyBuilder:
        """Add a store that every instance fills from all partitions of a topic, through a processor.

        `source` and `processor` are the names of the two nodes that do so.
        """
        check_reading(f"source {source}", timestamps)
        check_supplier(f"processor {processor}", supplier, "process", "record")
        self._writer.add_global_store(
            store,
            SourceNode(source, (topic,), None, key, value, timestamps),
            ProcessorNode(processor, Process(supplier), (source,)),
        )
        return self

    def add_read_only_state_store(
        self,
        store: StoreSpec,
        source: str,
        topic: str,
        processor: str,
        supplier: ProcessorSupplier,
        *,
        key: _AnySerde | None = None,
        value: _AnySerde | None = None,
        timestamps: TimestampExtractor | None = None,
    ) -> TopologyBuilder:
        """Add a store of each task that a processor fills from a topic, which serves as its changelog."""
        check_reading(f"source {source}", timestamps)
        check_supplier(f"processor {processor}", supplier, "process", "record")
        self._writer.add_read_only_store(
            store,
            SourceNode(source, (topic,), None, key, value, timestamps),
            ProcessorNode(processor, Process(supplier), (source,)),
        )
        return self

    def build(self) -> Topology:
        """Returns the topology made so far, frozen."""
        return self._writer.build()
