"""The topology of the demonstration, as an example of the DSL."""

from __future__ import annotations

from datetime import timedelta

from millstream.streams import StreamsBuilder, StreamsConfig, TimeWindows, Topology, Windowed
from millstream.streams.serdes import json, string, time_windowed
from millstream.testing.streams.topology_test_driver import TopologyTestDriver

DAY_MS = 86_400_000


def add_delay(_key, flight, totals):
    return {
        "count": totals["count"] + 1,
        "sum": totals["sum"] + flight["dep_delay"],
        "max": max(totals["max"], flight["dep_delay"]),
    }


def no_delays():
    return {"count": 0, "sum": 0, "max": -10_000}


def flights_topology() -> Topology:
    builder = StreamsBuilder()
    flights = builder.stream("flights", key=string(), value=json())
    airlines = builder.table("airlines", key=string(), value=json())

    split = flights.split(name="flights-")
    split.branch(
        lambda _key, flight: flight.get("dep_delay") is None,
        name="bad",
        then=lambda bad: bad.to("bad-flights", value=json()),
    )
    good = split.default_branch(name="good")["flights-good"]

    named = good.select_key(lambda _key, flight: flight["carrier"], key=string()).join(
        airlines,
        lambda flight, airline: flight | {"airline": airline["name"]},
        value=json(),
        name="with-airline",
    )
    (
        named.group_by(
            lambda _key, flight: flight["origin"], key=string(), value=json(), name="by-origin"
        )
        .windowed_by(TimeWindows.tumbling(timedelta(days=1)))
        .aggregate(no_delays, add_delay, value=json(), name="delays-per-day")
        .to_stream()
        .to("origin-days", key=time_windowed(string(), DAY_MS), value=json())
    )
    (
        named.group_by(
            lambda _key, flight: flight["airline"], key=string(), value=json(), name="by-airline"
        )
        .aggregate(no_delays, add_delay, value=json(), name="delays-per-airline")
        .to_stream()
        .to("airline-delays", value=json())
    )
    return builder.build()


def test_flights_are_counted_per_origin_and_day_and_per_airline() -> None:
    config = StreamsConfig("demo", default_key=string(), default_value=json())
    with TopologyTestDriver(flights_topology(), config) as driver:
        driver.input_topic("airlines").pipe("UA", {"name": "United"}, at=0)
        flights = driver.input_topic("flights")
        flights.pipe("1", {"carrier": "UA", "origin": "EWR", "dep_delay": 2}, at=10)
        flights.pipe("2", {"carrier": "UA", "origin": "EWR", "dep_delay": None}, at=20)
        flights.pipe("3", {"carrier": "UA", "origin": "JFK", "dep_delay": 33}, at=30)
        flights.pipe("4", {"carrier": "UA", "origin": "EWR", "dep_delay": 5}, at=DAY_MS + 1)

        days = driver.output_topic("origin-days", key=time_windowed(string(), DAY_MS))
        assert [(row.key, row.value, row.timestamp) for row in days.read()] == [
            (Windowed("EWR", 0, DAY_MS), {"count": 1, "sum": 2, "max": 2}, 10),
            (Windowed("JFK", 0, DAY_MS), {"count": 1, "sum": 33, "max": 33}, 30),
            (Windowed("EWR", DAY_MS, 2 * DAY_MS), {"count": 1, "sum": 5, "max": 5}, DAY_MS + 1),
        ]
        airlines = driver.output_topic("airline-delays").read()
        assert airlines[-1].value == {"count": 3, "sum": 40, "max": 33}
        assert [row.key for row in driver.output_topic("bad-flights").read()] == ["2"]
