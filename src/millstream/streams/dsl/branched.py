"""KStream.split: branches in order, each with a name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from millstream.streams.arguments import check_kind
from millstream.streams.dsl.graph import GraphNode, ProcessorGraphNode, StreamGraph
from millstream.streams.dsl.stream import KStream
from millstream.streams.topology import operators as ops
from millstream.streams.topology.functions import check_arity
from millstream.streams.topology.names import check_name

K = TypeVar("K")
V = TypeVar("V")


class BranchedKStream(Generic[K, V]):
    """The branches of one split. A record goes to the first branch whose predicate holds.

    Each branch is found in the result under its full name: the split's name, then the branch's name or its
    number (1, 2, …; 0 for the default branch), S5.
    """

    def __init__(
        self, stream: KStream[K, V], graph: StreamGraph, parent: GraphNode, name: str | None
    ) -> None:
        self._stream = stream
        self._graph = graph
        self._name = graph.names.name_or_generate(name, "KSTREAM-BRANCH-")
        self._branches: list[tuple[ops.UserFunction | None, str]] = []
        self._streams: dict[str, KStream[K, V]] = {}
        self._node = ProcessorGraphNode(
            self._name, operator=lambda: ops.Branch(tuple(self._branches))
        )
        graph.add(self._node, parent)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._node.name}>"

    def branch(
        self,
        predicate: Callable[[K, V], bool],
        *,
        name: str | None = None,
        then: Callable[[KStream[K, V]], KStream[K, V] | None] | None = None,
    ) -> BranchedKStream[K, V]:
        """Add a branch. `then` is given its stream; what it returns is found in the result, None is not."""
        check_arity("branch", "predicate", predicate, "key", "value")
        self._add(predicate, str(len(self._branches) + 1) if name is None else name, then)
        return self

    def default_branch(
        self,
        *,
        name: str | None = None,
        then: Callable[[KStream[K, V]], KStream[K, V] | None] | None = None,
    ) -> dict[str, KStream[K, V]]:
        """End the split with a branch for all other records."""
        self._add(None, "0" if name is None else name, then)
        return self._streams

    def no_default_branch(self) -> dict[str, KStream[K, V]]:
        """End the split; records that match no branch are dropped."""
        return self._streams

    def _add(
        self,
        predicate: ops.UserFunction | None,
        suffix: str,
        then: Callable[[KStream[K, V]], KStream[K, V] | None] | None,
    ) -> None:
        self._graph.names.processor_name(
            "KSTREAM-BRANCHCHILD-"
        )  # Kafka Streams takes a number here
        check_kind("branch: name", suffix, str)
        name = check_name(self._name + suffix)
        self._branches.append((predicate, name))
        node = ProcessorGraphNode(name, operator=ops.PassThrough)
        self._graph.add(node, self._node)
        stream = self._stream
        branch: KStream[K, V] | None = KStream(
            self._graph,
            node,
            key=stream.key,
            value=stream.value,
            sources=stream.sources,
            repartition_required=stream.repartition_required,
        )
        if then is not None and branch is not None:
            check_arity("branch", f"then of {name}", then, "stream")
            branch = then(branch)
            if not isinstance(branch, KStream | None):
                raise TypeError(
                    f"branch: then of {name} must return a KStream or None, not {branch!r}"
                )
        if branch is not None:
            self._streams[name] = branch
