"""The pages of each visit to a site, when the visit is over; clicks that cannot be read go to a topic of their own.

Sessions with one final result each, a serde of one's own, dead letters.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from millstream.streams import (
    EmitStrategy,
    Materialized,
    OnError,
    Serde,
    SessionWindows,
    StreamsBuilder,
    StreamsConfig,
    Topology,
)
from millstream.streams.serdes import json, string

CONFIG = StreamsConfig(
    "visits", on_deserialization_error=OnError.CONTINUE, dead_letter_topic="clicks-dead"
)


@dataclass(frozen=True, slots=True)
class Click:
    page: str
    milliseconds: int


def read(data: bytes) -> Click:
    page, _, milliseconds = data.decode().partition("|")
    return Click(page, int(milliseconds))


CLICK = Serde("click", encode=lambda c: f"{c.page}|{c.milliseconds}".encode(), decode=read)


def pages(_user: str, click: Click, visit: list[str]) -> list[str]:
    return [*visit, click.page]


def topology() -> Topology:
    """Reads `clicks`, writes `visits`."""
    builder = StreamsBuilder()
    visits = (
        builder.stream("clicks", key=string(), value=CLICK)
        .filter_not(lambda _, click: click.page == "/health")
        .group_by_key()
        .windowed_by(SessionWindows.of(timedelta(minutes=30), grace=timedelta(minutes=1)))
        .emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
        .aggregate(
            list[str],
            pages,
            lambda _user, one, other: one + other,
            materialized=Materialized(
                "visits", key=string(), value=json(), retention=timedelta(hours=2)
            ),
        )
    )
    visits.to_stream().map(lambda visit, seen: (visit.key, " ".join(seen))).to(
        "visits", key=string(), value=string()
    )
    return builder.build()
