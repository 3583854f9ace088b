"""Prometheus' text format."""

from __future__ import annotations

from millstream.broker.metrics.exposition import MetricFamily, MetricKind, Sample, render


def text(family: MetricFamily, samples_max: int = 100) -> list[str]:
    return [piece.decode() for piece in render(family, samples_max)]


def test_a_family_has_its_help_its_type_and_a_line_for_each_sample() -> None:
    family = MetricFamily(
        "up", MetricKind.GAUGE, "It runs.", [Sample(1), Sample(0.5, {"node": "2"})]
    )
    assert text(family) == ['# HELP up It runs.\n# TYPE up gauge\nup 1\nup{node="2"} 0.5\n']


def test_what_clients_name_cannot_break_a_line() -> None:
    family = MetricFamily("m", MetricKind.COUNTER, "a\nb", [Sample(1, {"topic": 'x"\\\ny'})])
    assert text(family) == ['# HELP m a\\nb\n# TYPE m counter\nm{topic="x\\"\\\\\\ny"} 1\n']


def test_a_long_family_comes_in_pieces_under_one_head() -> None:
    family = MetricFamily("m", MetricKind.GAUGE, "h", [Sample(n) for n in range(5)])
    assert text(family, samples_max=2) == [
        "# HELP m h\n# TYPE m gauge\nm 0\nm 1\n",
        "m 2\nm 3\n",
        "m 4\n",
    ]


def test_a_family_without_samples_is_still_announced() -> None:
    assert text(MetricFamily("m", MetricKind.GAUGE, "h")) == ["# HELP m h\n# TYPE m gauge\n"]


def test_summaries_and_histograms_have_suffixes() -> None:
    family = MetricFamily("m", MetricKind.SUMMARY, "h", [Sample(2, {"a": "b"}, "_count")])
    assert text(family) == ['# HELP m h\n# TYPE m summary\nm_count{a="b"} 2\n']
