"""Processor wrappers (KIP-1112): every processor of a topology, the library's own included,
behind code of the application.

Owns which processors are wrapped, and how an operator of the library looks to a wrapper. Sources, sinks, and what fills
global and read-only stores are not wrapped, as in Kafka Streams 4.3.1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from millstream.streams.errors import StreamsError
from millstream.streams.processor import (
    ProcessorContext,
    ProcessorSupplier,
    ProcessorWrapper,
    Record,
)
from millstream.streams.topology import operators as ops
from millstream.streams.topology.functions import stores_of
from millstream.streams.topology.nodes import ProcessorNode
from millstream.streams.topology.stores import StoreSpec

_KEEPS_KEYS = (
    ops.Filter,
    ops.FlatMapValues,
    ops.MapValues,
    ops.MapValuesAsync,
    ops.MapValuesWithRetries,
    ops.NullKeyFilter,
    ops.TableToStream,
)
AnyRecord = Record[Any, Any]  # Any: operators of any type
Forward = Callable[[AnyRecord, str | None], object]
"""Takes a record and the child it goes to; None: to all."""


class OperatorContext(ProcessorContext[Any, Any], Protocol):  # Any: operators of any type
    """The context of a processor that stands for an operator of the library."""

    def run_operator(self, record: AnyRecord, forward: Forward) -> None:
        """Give what the operator makes of a record to `forward`."""


class BuiltInProcessor:
    """An operator of the library in the shape of a processor."""

    def init(self, context: OperatorContext) -> None:
        if not hasattr(context, "run_operator"):
            raise StreamsError(
                "a wrapped processor was given another context: pass on the one that init was called with, "
                "or one that hands on what it does not know"
            )
        self._context = context

    def process(self, record: AnyRecord) -> None:
        self._context.run_operator(record, self._context.forward)


def check_wrapper(wrapper: ProcessorWrapper | None) -> None:
    """Raise TypeError unless this is a processor wrapper or nothing."""
    for method in ("wrap_processor_supplier", "wrap_fixed_key_processor_supplier"):
        if wrapper is not None and not callable(getattr(wrapper, method, None)):
            raise TypeError(
                f"processor_wrapper {wrapper!r} has no method {method}(name, supplier): add one"
            )


def wrapped(node: ProcessorNode, wrapper: ProcessorWrapper) -> ProcessorNode:
    """Returns the node with its supplier as the wrapper gives it."""
    spec = node.operator
    if isinstance(spec, ops.Process):
        return replace(node, operator=replace(spec, supplier=_wrap(node, spec.supplier, wrapper)))
    supplier: ProcessorSupplier = BuiltInProcessor
    return replace(node, operator=ops.Wrapped(spec, _wrap(node, supplier, wrapper)))


def stores_brought_by(node: ProcessorNode) -> tuple[StoreSpec, ...]:
    """Stores that a wrapped supplier has in its attribute `stores`."""
    spec = node.operator
    assert isinstance(spec, ops.Process | ops.Wrapped), "the node was wrapped"
    return stores_of(node.name, spec.supplier)


def _wrap(
    node: ProcessorNode, supplier: ProcessorSupplier, wrapper: ProcessorWrapper
) -> ProcessorSupplier:
    wrap = wrapper.wrap_processor_supplier
    if _keeps_keys(node.operator):
        wrap = wrapper.wrap_fixed_key_processor_supplier
    made = wrap(node.name, supplier)
    if not callable(made):
        raise StreamsError(
            f"the processor wrapper gave {made!r} for {node.name}: give a supplier, which is called for a processor"
        )
    return made


def _keeps_keys(spec: ops.OperatorSpec) -> bool:
    if isinstance(spec, ops.Process):
        return spec.fixed_key
    return isinstance(spec, _KEEPS_KEYS) or (isinstance(spec, ops.Peek) and spec.forward)
