from __future__ import annotations

import pytest

from millstream.cli.perf.statistics import HEADER, Latencies, Read, Sent


def test_percentiles_are_the_latencies_that_so_many_stay_within() -> None:
    latencies = Latencies()
    for latency_ms in range(1, 101):
        latencies.add(latency_ms)
    assert latencies.percentiles(0.5, 0.95, 0.99, 0.999) == [50, 95, 99, 100]
    assert latencies.average_ms == 50.5
    assert latencies.max_ms == 100


def test_nothing_has_no_latency() -> None:
    assert Latencies().percentiles(0.5, 0.99) == [0, 0]
    assert Latencies().average_ms == 0


def test_what_was_sent_is_told_as_kafkas_tool_tells_it() -> None:
    sent = Sent(started_ms=1_000)
    for latency_ms in (2.0, 4.0):
        sent.add(1024 * 1024, latency_ms)
    assert sent.line(3_000) == (
        "2 records sent, 1.0 records/sec (1.00 MB/sec), 3.0 ms avg latency, 4.0 ms max latency."
    )
    assert sent.summary(3_000) == (
        "2 records sent, 1.000000 records/sec (1.00 MB/sec), 3.00 ms avg latency, 4.00 ms max latency,"
        " 2 ms 50th, 4 ms 95th, 4 ms 99th, 4 ms 99.9th."
    )
    assert sent.members(3_000) == {
        "records": 2,
        "failed": 0,
        "records_per_second": 1.0,
        "megabytes_per_second": 1.0,
        "latency_ms": {"average": 3.0, "maximum": 4.0, "p50": 2, "p95": 4, "p99": 4, "p99.9": 4},
    }


def test_what_was_read_is_told_as_kafkas_tool_tells_it() -> None:
    read = Read(0, 2_500, count=1_000, bytes=1024 * 1024, rebalance_ms=500)
    assert read.line() == (
        "1970-01-01 00:00:00:000, 1970-01-01 00:00:02:500, 1.0000, 0.4000, 1000, 400.0000,"
        " 500, 2000, 0.5000, 500.0000"
    )
    assert len(read.line().split(",")) == len(HEADER.split(","))
    assert read.members()["records_per_second"] == 400.0


@pytest.mark.parametrize("verb", ["produce", "consume", "latency"])
def test_a_measurement_needs_a_topic(verb: str) -> None:
    from click.testing import CliRunner

    from millstream.cli.main import main

    result = CliRunner().invoke(main, ["perf", verb])
    assert result.exit_code == 2
    assert "give a TOPIC" in result.output
