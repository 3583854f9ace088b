"""Operators of streams that await an async function for each record, many at a time."""

from __future__ import annotations

from millstream.streams.arguments import check_kind
from millstream.streams.dsl.graph.streams import GraphStream
from millstream.streams.dsl.operations.retries import AnyRetry, map_values_with_retries
from millstream.streams.topology import operators as ops
from millstream.streams.topology.functions import check_async


def map_async(
    stream: GraphStream, mapper: ops.UserFunction, calls: ops.AsyncCalls, name: str | None
) -> GraphStream:
    """Give each record a new key and a new value."""
    check_async("map_async", "mapper", mapper, "key", "value")
    _check("map_async", calls)
    node = stream.add(name, "KSTREAM-MAPASYNC-", ops.MapAsync(mapper, calls))
    return stream.then(node, None, None, rekeyed=True)


def map_values_async(
    stream: GraphStream, spec: ops.MapValuesAsync, name: str | None, retry: AnyRetry | None
) -> GraphStream:
    """Give each record a new value."""
    parameters = ("key", "value") if spec.with_key else ("value",)
    check_async("map_values_async", "mapper", spec.mapper, *parameters)
    _check("map_values_async", spec.calls)
    prefix = "KSTREAM-MAPVALUESASYNC-"
    if retry is not None:
        return map_values_with_retries(stream, spec, retry, prefix, name)
    return stream.then(stream.add(name, prefix, spec), stream.key, None)


def process_async(
    stream: GraphStream, function: ops.UserFunction, calls: ops.AsyncCalls, name: str | None
) -> GraphStream:
    """Make any number of records of each."""
    check_async("process_async", "function", function, "record")
    _check("process_async", calls)
    node = stream.add(name, "KSTREAM-PROCESSASYNC-", ops.ProcessAsync(function, calls))
    return stream.then(node, None, None, rekeyed=True)


def _check(method: str, calls: ops.AsyncCalls) -> None:
    check_kind(f"{method}: max_in_flight", calls.max_in_flight, int)
    check_kind(f"{method}: timeout_ms", calls.timeout_ms, int | None)
    if calls.max_in_flight < 1:
        raise ValueError(f"{method}: max_in_flight must be at least 1, not {calls.max_in_flight}")
    if calls.timeout_ms is not None and calls.timeout_ms < 1:
        raise ValueError(f"{method}: timeout_ms must be at least 1, not {calls.timeout_ms}")
