"""The demo's second opinion: right on data small enough to check by eye, and able to find every kind of difference."""

from __future__ import annotations

import dataclasses

import pyarrow as pa
import pytest

from millstream.cli.demo.data import FLIGHTS_TOTAL, as_records, load_flights, load_side_table
from millstream.cli.demo.verification import (
    AirlineDelay,
    OriginDay,
    OriginDelay,
    TopologyResults,
    compare,
    expected,
)

DAY_MS = 86_400_000
FLIGHTS = pa.table(
    {
        "carrier": ["UA", "UA", "AA", "??", "AA"],
        "origin": ["EWR", "EWR", "JFK", "JFK", "JFK"],
        "dep_delay": [2, 5, -3, 99, None],
        "departure_ms": [10, DAY_MS - 1, DAY_MS, DAY_MS, DAY_MS],
    }
)
AIRLINES = pa.table({"carrier": ["UA", "AA"], "name": ["United", "American"]})
RESULTS = TopologyResults(
    windows={
        OriginDay("EWR", 0): OriginDelay(2, 3.5, 5),
        OriginDay("JFK", DAY_MS): OriginDelay(1, -3.0, -3),
    },
    airlines={"UA": AirlineDelay("United", 2, 3.5), "AA": AirlineDelay("American", 1, -3.0)},
    set_aside=1,
)


def test_expected_counts_flown_flights_of_known_airlines_by_local_day() -> None:
    assert expected(FLIGHTS, AIRLINES) == RESULTS


def test_equal_results_have_no_differences() -> None:
    comparison = compare(RESULTS, RESULTS)
    assert (comparison.windows, comparison.airlines, comparison.differences) == (2, 2, [])


@pytest.mark.parametrize(
    ("changed", "names"),
    [
        ({"windows": {}}, ["EWR", "JFK"]),
        ({"airlines": RESULTS.airlines | {"B6": AirlineDelay("JetBlue", 1, 0.0)}}, ["B6"]),
        ({"airlines": RESULTS.airlines | {"UA": AirlineDelay("United", 2, 3.5000001)}}, ["UA"]),
        ({"set_aside": 2}, ["set aside"]),
    ],
)
def test_every_kind_of_difference_is_found(changed: dict[str, object], names: list[str]) -> None:
    differences = compare(RESULTS, dataclasses.replace(RESULTS, **changed)).differences
    assert len(differences) == len(names)
    assert all(name in text for name, text in zip(names, differences, strict=True))


def test_the_data_set_is_the_one_the_demo_promises() -> None:
    flights = load_flights()
    assert flights.num_rows == FLIGHTS_TOTAL
    first = as_records(flights.slice(0, 1), "carrier").to_pylist()[0]
    assert first["key"] == b"UA"
    assert first["timestamp"] == 1_357_017_300_000  # 2013-01-01 05:15 on the wall clock
    assert first["value"].startswith(b'{"year":2013,"month":1,"day":1,"dep_time":517,')


def test_missing_values_become_null() -> None:
    planes = as_records(load_side_table("planes").slice(0, 1), "tailnum").to_pylist()[0]
    assert b'"speed":null' in planes["value"]
