"""The joins of a stream: with a stream inside a window, with a table by its key, with a global table by any key.

Each kind takes its own arguments. The overloads of KStream say which; here the others are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from millstream.streams.dsl.global_table import AnyGlobalTable
from millstream.streams.dsl.graph.streams import AnySerde, GraphStream, GraphTable
from millstream.streams.dsl.operations.stream_stream_join import (
    AnyJoined,
    StreamJoinOptions,
    join_streams,
)
from millstream.streams.dsl.operations.stream_table_join import (
    TableJoinOptions,
    join_global_table,
    join_table,
)
from millstream.streams.options import StreamJoined
from millstream.streams.topology.operators import UserFunction
from millstream.streams.windows import JoinWindows


@dataclass(frozen=True, slots=True)
class JoinArguments:
    """The arguments of all kinds of joins; None is what was not given.

    `kinds`: whether left and right need no partner.
    """

    method: str
    joiner: UserFunction
    kinds: tuple[bool, bool]
    with_key: bool
    windows: JoinWindows | None
    joined: AnyJoined | None
    on: UserFunction | None = None
    key: AnySerde | None = None
    value: AnySerde | None = None
    name: str | None = None
    grace: timedelta | None = None


def join(
    stream: GraphStream, other: GraphStream | GraphTable | AnyGlobalTable, given: JoinArguments
) -> GraphStream:
    """Join a stream with what the other side is."""
    if isinstance(other, GraphStream):
        return _join_stream(stream, other, given)
    method = given.method
    if given.windows is not None or given.joined is not None:
        raise TypeError(f"{method} with a table has no windows: leave out windows= and joined=")
    options = TableJoinOptions(
        method,
        given.joiner,
        given.with_key,
        given.kinds[0],
        given.key,
        given.value,
        given.name,
        given.on,
        given.grace,
    )
    if isinstance(other, GraphTable):
        return join_table(stream, other, options)
    return join_global_table(stream, other.store, options)


def _join_stream(stream: GraphStream, other: GraphStream, given: JoinArguments) -> GraphStream:
    method = given.method
    if given.windows is None:
        raise TypeError(f"{method} of two streams needs windows=, see JoinWindows.of")
    for option in ("on", "key", "value", "name", "grace"):
        if getattr(given, option) is not None:
            raise TypeError(
                f"{method} of two streams takes no {option}=: its options are in joined=, see StreamJoined"
            )
    stream.graph.check_same(method, "stream", other.graph)
    joined = given.joined or StreamJoined()
    options = StreamJoinOptions(
        method, given.joiner, given.with_key, given.kinds, given.windows, joined
    )
    return join_streams(stream, other, options)
