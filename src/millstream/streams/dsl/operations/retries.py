"""Operators of streams whose functions may fail for a while: records wait in a store and are tried again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from millstream.streams.arguments import check_kind
from millstream.streams.dsl.graph.nodes import ProcessorGraphNode
from millstream.streams.dsl.graph.streams import GraphStream
from millstream.streams.options import Retry, StoreType
from millstream.streams.topology import StoreKind, StoreSpec
from millstream.streams.topology import operators as ops
from millstream.streams.topology.names import check_name, check_topic

AnyRetry = Retry[Any, Any]  # Any: streams of any type


def map_values_with_retries(
    stream: GraphStream,
    spec: ops.MapValues | ops.MapValuesAsync,
    retry: AnyRetry,
    prefix: str,
    name: str | None,
) -> GraphStream:
    """Give each record a new value in the end: where the function fails, the record waits in a store.

    `spec`: the operator without retries, whose function has been checked. The node is named as that would be.
    """
    check_kind("map_values: retry", retry, Retry)
    name = stream.graph.names.name_or_generate(name, prefix)
    store = _store(stream, retry)
    if retry.dead_letters is not None:
        check_topic(retry.dead_letters, f"the dead letters of {name}")
    calls = None
    if isinstance(spec, ops.MapValuesAsync):
        calls = replace(spec.calls, chains_fail_alone=True)
    retrying = ops.MapValuesWithRetries(store.name, spec.mapper, spec.with_key, retry, calls)
    node = ProcessorGraphNode(
        name, operator=lambda: retrying, stores=lambda: (store,), changes_value=True
    )
    stream.graph.add(node, stream.node)
    return stream.then(node, stream.key, None)


def _store(stream: GraphStream, retry: AnyRetry) -> StoreSpec:
    return StoreSpec(
        check_name(retry.store),
        StoreKind.RETRIES,
        persistent=stream.graph.store_type is StoreType.ROCKSDB,
        key=retry.key or stream.key,
        value=retry.value or stream.value,
    )
