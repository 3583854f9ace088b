"""The demo's topology: delays of flights and airlines, written with the Streams DSL.

    flights ─┬─ cancelled or unreadable ────────────────────────────────▶ flights-set-aside
             └─ flown ─▶ join airlines ─┬─ by origin and day, tumbling ──▶ delays-by-origin-and-day
                                        └─ by airline, running ──────────▶ delays-by-airline

It knows no broker and no engine: the same object runs on TopologyTestDriver and on Spark.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final, TypedDict

from millstream.streams import StreamsBuilder
from millstream.streams.serdes import json, string
from millstream.streams.topology import Topology
from millstream.streams.windows import TimeWindows

APPLICATION_ID: Final = "flights-demo"

FLIGHTS: Final = "flights"
AIRLINES: Final = "airlines"
SET_ASIDE: Final = "flights-set-aside"
BY_ORIGIN_AND_DAY: Final = "delays-by-origin-and-day"
BY_AIRLINE: Final = "delays-by-airline"

DAY: Final = timedelta(days=1)

# A year is replayed in seconds and the partitions do not keep step, so here no record counts as late.
GRACE: Final = timedelta(days=366)

_UNCHANGED: Final = json(immutable=True)
"""Of values in stores: every function below makes a new one."""

Flight = dict[str, Any]  # JSON: a row of flights.csv


class Delays(TypedDict):
    """A running aggregate of departure delays in minutes."""

    airline: str
    flights: int
    total: int
    worst: int


def flights_topology() -> Topology:
    builder = StreamsBuilder()
    airlines = builder.table(AIRLINES, key=string(), value=_UNCHANGED)
    branches = (
        builder.stream(FLIGHTS, key=string(), value=json())
        .split(name="flights-")
        .branch(has_flown, name="flown")
        .default_branch(name="set-aside")
    )
    branches["flights-set-aside"].to(SET_ASIDE)
    flown = branches["flights-flown"].join(airlines, with_airline, value=json())

    (
        flown.group_by(lambda _carrier, flight: flight["origin"], key=string(), value=json())
        .windowed_by(TimeWindows.tumbling(DAY, grace=GRACE))
        .aggregate(no_delays, add_flight, value=_UNCHANGED)
        .map_values(as_result)
        .to_stream()
        .to(BY_ORIGIN_AND_DAY, value=json())
    )
    (
        flown.group_by_key(key=string(), value=json())
        .aggregate(no_delays, add_flight, value=_UNCHANGED)
        .map_values(as_result)
        .to_stream()
        .to(BY_AIRLINE, value=json())
    )
    return builder.build()


def has_flown(_carrier: str, flight: Flight | None) -> bool:
    return (
        isinstance(flight, dict)
        and flight.get("dep_delay") is not None
        and flight.get("origin") is not None
    )


def with_airline(flight: Flight, airline: dict[str, str]) -> Flight:
    """Keeps only what is needed further on: the join's result goes through a repartition topic."""
    return {
        "origin": flight["origin"],
        "dep_delay": flight["dep_delay"],
        "airline": airline["name"],
    }


def no_delays() -> Delays:
    return {"airline": "", "flights": 0, "total": 0, "worst": -(2**31)}


def add_flight(_key: str, flight: Flight, delays: Delays) -> Delays:
    delay = flight["dep_delay"]
    return {
        "airline": flight["airline"],
        "flights": delays["flights"] + 1,
        "total": delays["total"] + delay,
        "worst": max(delays["worst"], delay),
    }


def as_result(delays: Delays) -> dict[str, object]:
    return {
        "airline": delays["airline"],
        "flights": delays["flights"],
        "mean": delays["total"] / delays["flights"],
        "worst": delays["worst"],
    }
