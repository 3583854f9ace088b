"""End to end: 1,000 records a second through an application that passes them on, at a commit interval of 100 ms."""

from __future__ import annotations

import statistics
import tempfile
import time
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.beside_java.flow import Flow
from benchmarks.beside_java.instances import Application, Cluster, Instance, Side
from millstream.clients import NewTopic

RECORDS_PER_S: Final = 1_000
WARM_UP_S: Final = 2.0
LIMIT_S: Final = 60
ISOLATION_LEVELS: Final = {
    "at_least_once": "read_uncommitted",
    "exactly_once_v2": "read_committed",
}
_NUMBERS: Final = count()


class Latency(NamedTuple):
    p50_ms: float
    p99_ms: float


def measured(side: Side, guarantee: str, seconds: float, cluster: Cluster) -> Latency:
    """The clock starts when records flow: nothing has come out late for two seconds."""
    name = f"latency-{next(_NUMBERS)}"
    source, out = f"{name}-in", f"{name}-out"
    cluster.admin.create_topics([NewTopic(source, 1), NewTopic(out, 1)]).raise_errors()
    application = Application(name, "pass_through", source, out, cluster.servers, guarantee)
    flow = Flow(
        cluster.servers,
        source,
        out,
        partitions=1,
        records_per_s=RECORDS_PER_S,
        isolation_level=ISOLATION_LEVELS[guarantee],
    )
    with (
        tempfile.TemporaryDirectory() as directory,
        Instance(side, application, Path(directory)) as instance,
        closing(flow),
    ):
        try:
            flow.run(lambda: flow.is_steady(WARM_UP_S), LIMIT_S)
            started = time.perf_counter()
            flow.run_for(seconds)
            flow.drain(LIMIT_S)
        except TimeoutError as error:
            raise TimeoutError(f"{side.name}: {error}: {instance.printed()}") from error
    quantiles = statistics.quantiles(flow.waits_s(started), n=100)
    return Latency(quantiles[49] * 1_000, quantiles[98] * 1_000)
