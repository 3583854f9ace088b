"""Rows of pipelines on Apache Spark (local[2]): those of benchmarks/pipeline.py, in processor time of everything but the broker.

Driver, JVM, Python workers and task hosts; a slice is one run over all records of the topic.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final

import millstream
from benchmarks import pipeline
from benchmarks.pipeline import Pipeline
from benchmarks.turns.cpu_clock import session_cpu_s
from benchmarks.turns.ratios import Slice
from benchmarks.turns.worker import Measure, Prepare, warm
from millstream.spark import SparkOptions, configure
from millstream.testing.broker import Broker

_RECORDS: Final = 600_000
_WARM_UPS: Final = 3
"""The JVM compiles what runs often; after three runs a run is a tenth dearer than the tenth of them."""


@contextmanager
def open_rows() -> Iterator[Mapping[str, Prepare]]:
    with Broker(in_process=False) as broker:
        bootstrap, pid = broker.bootstrap_servers, broker.pid or 0
        asyncio.run(pipeline.create(bootstrap, pipeline.SOURCE))
        asyncio.run(pipeline.fill(bootstrap, _RECORDS))
        session = configure(SparkOptions(master="local[2]"))
        session.sparkContext.setLogLevel("FATAL")
        check_workers(session)
        topologies = {
            "copied": pipeline.copied,
            "counted": pipeline.counted,
            "counted by window": pipeline.counted_by_window,
        }
        pipelines = {
            name: pipeline.on_topology(session, bootstrap, build)
            for name, build in topologies.items()
        }
        pipelines["DataFrame copied"] = pipeline.on_format(session, "millstream", bootstrap)
        numbers = count()
        try:
            yield {
                name: partial(_prepare, each, bootstrap, pid, numbers)
                for name, each in pipelines.items()
            }
        finally:
            session.stop()


def check_workers(session: Any) -> None:  # Any: pyspark is untyped
    """Raises RuntimeError when Spark's Python workers load another millstream than this process."""
    context = session.sparkContext
    (found,) = (
        context.parallelize([0], 1).map(lambda _: __import__("millstream").__file__).collect()
    )
    if Path(found) != Path(millstream.__file__ or ""):
        raise RuntimeError(f"Spark's workers load {found}, not {millstream.__file__}")


def _prepare(each: Pipeline, bootstrap: str, broker_pid: int, numbers: Iterator[int]) -> Measure:
    def slice_() -> Slice:
        out = f"out-{next(numbers)}"
        asyncio.run(pipeline.create(bootstrap, out))
        with tempfile.TemporaryDirectory() as directory:
            before = session_cpu_s(broker_pid)
            each(out, directory)
            return Slice(_RECORDS, session_cpu_s(broker_pid) - before)

    return warm(slice_, _WARM_UPS)
