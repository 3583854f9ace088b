"""Records a second and processor time of one application: see `measured`."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

from benchmarks.beside_java.instances import CACHE_BYTES, Application, Cluster, Instance, Side
from millstream.clients import NewTopic, blocking
from millstream.clients.admin import OffsetSpec
from millstream.model import TopicPartition

LOOK_S: Final = 0.01
LIMIT_S: Final = 120
KEEPS_ALL: Final[dict[str, str | None]] = {"retention.ms": "-1"}
_NUMBERS: Final = count()


@dataclass(frozen=True, slots=True)
class Case:
    """`bar`: how many times as fast as the peer is the aim."""

    name: str
    topology: str
    bar: float
    guarantee: str = "at_least_once"
    cache_max_bytes: int = CACHE_BYTES
    writes_each: bool = True
    """Every record brings forth one."""


BESIDE_JAVA: Final = (
    Case("pass-through", "pass_through", 1),
    Case("map_values, a function", "map_values", 0.5),
    Case("count, record cache", "count", 1, writes_each=False),
    Case("count, every update goes out", "count", 1, cache_max_bytes=0),
    Case("10 s tumbling count", "window_count", 1, writes_each=False),
    Case("stream-table join, a function", "join", 0.5),
    Case("count, exactly once", "count", 1, guarantee="exactly_once_v2", writes_each=False),
)
"""The bar is lower where a Python function is called for each record."""
BESIDE_QUIXSTREAMS: Final = (
    Case("pass-through", "pass_through", 2),
    Case("map_values, a function", "map_values", 2),
    Case("count, every update goes out", "count", 2, cache_max_bytes=0),
    Case("10 s tumbling count, every update goes out", "window_count", 2, cache_max_bytes=0),
)


@dataclass(frozen=True, slots=True)
class Rate:
    """Processor time is that of the application's process and of those it has started. nan: see `measured`."""

    records_per_s: float
    cpu_s_per_million: float


def measured(side: Side, case: Case, source: str, records: int, cluster: Cluster) -> Rate:
    """Runs a new application over the whole of a topic of one partition.

    The clock is the same for both sides: it starts when the group has committed a fifth of the records and stops when it
    has committed all, as the broker tells it. What starts, loads and compiles before counts for neither.
    With so few records that all are committed at once nothing can be told: nan. Raises ValueError where output is missing.
    """
    name = f"rate-{next(_NUMBERS)}"
    out = f"{name}-out"
    cluster.admin.create_topics([NewTopic(out, 1, configs=KEEPS_ALL)]).raise_errors()
    application = Application(
        name, case.topology, source, out, cluster.servers, case.guarantee, case.cache_max_bytes
    )
    partition = TopicPartition(source, 0)

    def committed() -> int:
        listed = cluster.admin.list_consumer_group_offsets({name: [partition]})
        offsets = listed.result(name)
        return offsets.result(partition).offset if partition in offsets else 0

    with (
        tempfile.TemporaryDirectory() as directory,
        Instance(side, application, Path(directory)) as instance,
    ):
        first = _reached(committed, records // 5, instance)
        used, started = instance.cpu_s(), time.perf_counter()
        last = _reached(committed, records, instance)
        took_s = time.perf_counter() - started
        used_s = instance.cpu_s() - used
    if case.writes_each:
        _require_end(cluster.admin, out, records)
    if first == last:
        return Rate(math.nan, math.nan)
    return Rate((last - first) / took_s, used_s * 1_000_000 / (last - first))


def _reached(committed: Callable[[], int], wanted: int, instance: Instance) -> int:
    deadline = time.monotonic() + LIMIT_S
    while (offset := committed()) < wanted:
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"{offset} of {wanted} records are committed after {LIMIT_S} s: {instance.printed()}"
            )
        time.sleep(LOOK_S)
    return offset


def _require_end(admin: blocking.Admin, out: str, records: int) -> None:
    partition = TopicPartition(out, 0)
    end = admin.list_offsets({partition: OffsetSpec.LATEST}).result(partition).offset
    if end != records:
        raise ValueError(f"{end} records have come out of {records}: the topology is another")
