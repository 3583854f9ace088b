"""Prometheus' text format (0.0.4): families of samples into lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_HELP_ESCAPES: Final = str.maketrans({"\\": r"\\", "\n": r"\n"})


class MetricKind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    SUMMARY = "summary"
    HISTOGRAM = "histogram"


class Sample(NamedTuple):
    value: float
    labels: Mapping[str, str] = {}
    suffix: str = ""
    """`_sum`, `_count`, `_bucket` of summaries and histograms."""


@dataclass(slots=True)
class MetricFamily:
    """All samples of one name."""

    name: str
    kind: MetricKind
    help: str
    samples: list[Sample] = field(default_factory=list)


def gauge(name: str, doc: str, value: float) -> MetricFamily:
    """Returns a family of one sample."""
    return MetricFamily(name, MetricKind.GAUGE, doc, [Sample(value)])


def counter(name: str, doc: str, value: int) -> MetricFamily:
    return MetricFamily(name, MetricKind.COUNTER, doc, [Sample(value)])


def render(family: MetricFamily, samples_max: int) -> Iterator[bytes]:
    """Renders families in pieces of at most `samples_max` samples, so that the sender can do other work in between."""
    head = f"# HELP {family.name} {family.help.translate(_HELP_ESCAPES)}\n# TYPE {family.name} {family.kind}\n"
    for start in range(0, max(len(family.samples), 1), samples_max):
        lines = _lines(family.name, family.samples[start : start + samples_max])
        yield (head + lines).encode()
        head = ""


def _lines(name: str, samples: Sequence[Sample]) -> str:
    return "".join(
        f"{name}{sample.suffix}{_labels(sample.labels)} {_number(sample.value)}\n"
        for sample in samples
    )


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    pairs = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels.items())
    return f"{{{pairs}}}"


def _number(value: float) -> str:
    return str(int(value)) if isinstance(value, int) else repr(value)
