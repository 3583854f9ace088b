"""Computes the same numbers a second way: from the files, with Arrow's own aggregation.

Must not share code with the topology, or both could be wrong alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

_DAY_MS = 86_400_000


class OriginDay(NamedTuple):
    origin: str
    day_start_ms: int


class OriginDelay(NamedTuple):
    flights: int
    mean: float
    worst: int


class AirlineDelay(NamedTuple):
    airline: str
    flights: int
    mean: float


@dataclass(frozen=True, slots=True)
class TopologyResults:
    """The values that the topology writes: the last of every window and of every airline, and how many went aside."""

    windows: Mapping[OriginDay, OriginDelay]
    airlines: Mapping[str, AirlineDelay]
    set_aside: int


@dataclass(frozen=True, slots=True)
class Comparison:
    windows: int
    airlines: int
    differences: list[str] = field(default_factory=list)


def expected(flights: pa.Table, airlines: pa.Table) -> TopologyResults:
    import pyarrow as pa
    import pyarrow.compute as pc

    names = dict(zip(airlines["carrier"].to_pylist(), airlines["name"].to_pylist(), strict=True))
    known = pc.is_in(flights["carrier"], value_set=pa.array(list(names)))
    flown = flights.filter(pc.and_(pc.is_valid(flights["dep_delay"]), known))
    day = pc.multiply(pc.divide(flown["departure_ms"], _DAY_MS), _DAY_MS)
    by_day = (
        flown.append_column("day_start_ms", day)
        .group_by(["origin", "day_start_ms"])
        .aggregate([("dep_delay", "count"), ("dep_delay", "sum"), ("dep_delay", "max")])
    )
    by_airline = flown.group_by("carrier").aggregate([("dep_delay", "count"), ("dep_delay", "sum")])
    return TopologyResults(
        windows={
            OriginDay(row["origin"], row["day_start_ms"]): OriginDelay(
                row["dep_delay_count"],
                row["dep_delay_sum"] / row["dep_delay_count"],
                row["dep_delay_max"],
            )
            for row in by_day.to_pylist()
        },
        airlines={
            row["carrier"]: AirlineDelay(
                names[row["carrier"]],
                row["dep_delay_count"],
                row["dep_delay_sum"] / row["dep_delay_count"],
            )
            for row in by_airline.to_pylist()
        },
        set_aside=flights.num_rows - pc.sum(pc.is_valid(flights["dep_delay"])).as_py(),
    )


def compare(wanted: TopologyResults, actual: TopologyResults) -> Comparison:
    """Exact comparison, floats included: both sides divide the same two integers."""
    differences = [
        *_differences("window", wanted.windows, actual.windows),
        *_differences("airline", wanted.airlines, actual.airlines),
    ]
    if wanted.set_aside != actual.set_aside:
        differences.append(f"set aside: expected {wanted.set_aside}, got {actual.set_aside}")
    return Comparison(len(wanted.windows), len(wanted.airlines), differences)


def _differences(
    kind: str,
    wanted: Mapping[Any, object],  # keys are windows or carriers; only equality and str() matter
    actual: Mapping[Any, object],  # the same
) -> list[str]:
    keys = sorted({*wanted, *actual}, key=str)
    return [
        f"{kind} {key}: expected {wanted.get(key)}, got {actual.get(key)}"
        for key in keys
        if wanted.get(key) != actual.get(key)
    ]
