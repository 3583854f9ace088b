"""The DSL: streams, tables and what one does with them. Building writes nothing but data."""

from __future__ import annotations

from millstream.streams.dsl.builder import StreamsBuilder
from millstream.streams.dsl.global_table import GlobalKTable
from millstream.streams.dsl.grouped import (
    CogroupedKStream,
    KGroupedStream,
    SessionWindowedCogroupedKStream,
    TimeWindowedCogroupedKStream,
)
from millstream.streams.dsl.session_windowed import SessionWindowedKStream
from millstream.streams.dsl.stream import KStream
from millstream.streams.dsl.table import KGroupedTable, KTable
from millstream.streams.dsl.windowed import TimeWindowedKStream

__all__ = [
    "CogroupedKStream",
    "GlobalKTable",
    "KGroupedStream",
    "KGroupedTable",
    "KStream",
    "KTable",
    "SessionWindowedCogroupedKStream",
    "SessionWindowedKStream",
    "StreamsBuilder",
    "TimeWindowedCogroupedKStream",
    "TimeWindowedKStream",
]
