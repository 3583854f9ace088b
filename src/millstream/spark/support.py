"""Refuses what a topology and its settings may ask for and Spark cannot give yet: silence would be believed."""

from __future__ import annotations

from millstream.errors import ConfigError
from millstream.streams.config import ProcessingGuarantee, StreamsConfig
from millstream.streams.options import OffsetReset
from millstream.streams.topology.nodes import SourceNode
from millstream.streams.topology.topology import Topology


def require_supported(topology: Topology, config: StreamsConfig) -> None:
    """Raises ConfigError with what to write instead."""
    if config.processing_guarantee is ProcessingGuarantee.EXACTLY_ONCE_V2:
        raise ConfigError(
            "processing_guarantee exactly_once_v2 is not built on Spark yet: outputs are written at least once, and state "
            "counts each input once; leave it at at_least_once"
        )
    if config.max_task_idle_ms > 0:
        raise ConfigError(
            f"max_task_idle_ms={config.max_task_idle_ms} has no effect on Spark: a micro-batch does not wait for topics "
            "that have no records; leave it at 0"
        )
    for node in topology.nodes.values():
        if isinstance(node, SourceNode) and node.reset is OffsetReset.NONE:
            raise ConfigError(
                f"source {node.name} has reset=NONE, but on Spark a first run has no committed offsets and would always "
                "fail; say EARLIEST, LATEST or a timedelta"
            )
