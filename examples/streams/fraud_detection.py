"""Payments above the limit that was valid at their time, reported once a minute of event time.

A processor with a versioned store, one with timestamps, and a punctuation.
"""

from __future__ import annotations

from datetime import timedelta

from millstream.streams import (
    ContextualProcessor,
    ProcessorContext,
    PunctuationType,
    Record,
    StoreKind,
    StoreSpec,
    StreamsBuilder,
    Topology,
)
from millstream.streams.serdes import double, long, string

HOUR_MS = 3_600_000


class Watch(ContextualProcessor[str, float, str, str]):
    """Keeps limits with their history, counts payments above them, and forwards the counts."""

    stores = (
        StoreSpec(
            "limits", StoreKind.VERSIONED, key=string(), value=double(), retention_ms=HOUR_MS
        ),
        StoreSpec("above", StoreKind.TIMESTAMPED_KEY_VALUE, key=string(), value=long()),
    )

    def init(self, context: ProcessorContext[str, str]) -> None:
        super().init(context)
        self.limits = context.store("limits")
        self.above = context.store("above")
        context.schedule(timedelta(minutes=1), PunctuationType.STREAM_TIME, self.report)

    def process(self, record: Record[str, float]) -> None:
        origin = self.context.record_metadata()
        if origin is not None and origin.topic == "limits":
            self.limits.put(record.key, record.value, record.timestamp)
            return
        limit = self.limits.get(record.key, record.timestamp)
        if limit is not None and record.value > limit.value:
            known = self.above.get(record.key)
            count = 1 if known is None else known[0] + 1
            self.above.put(record.key, count, record.timestamp)

    def report(self, time_ms: int) -> None:
        for key, (count, last_ms) in self.above.all():
            self.context.forward(Record(key, f"{count}, last at {last_ms}", time_ms))
            self.above.delete(key)


def topology() -> Topology:
    """Reads `limits` and `payments`, writes `alerts`."""
    builder = StreamsBuilder()
    payments = builder.stream(["payments", "limits"], key=string(), value=double())
    payments.process(Watch, name="watch").to("alerts", key=string(), value=string())
    return builder.build()
