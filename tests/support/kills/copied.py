"""A query that copies a topic, killed as orders say until it has done everything; the copy must have each row once."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from millstream.clients import Admin, NewTopic, Producer, RangeReader
from tests.patience import WAITS_FOR_CLUSTER
from tests.support.kills.copying_pipeline import OUT, SOURCE
from tests.support.kills.orders import Order, Orders
from tests.support.kills.run import Run
from tests.support.kills.watched_broker import Brokers, watched_brokers

RECORDS: Final = 600
RECORDS_ON_THREE: Final = 1_200
"""A node of three that is killed is back many micro-batches later, and orders for it wait so long."""
PARTITIONS: Final = 2
SESSIONS_MAX: Final = 60
KINDS: Final = ("append", "foreach_batch", "atomic", "pipeline")
LOCAL: Final = "local[2,4]"


def killed_query(
    kind: str, wanted: Sequence[Order], *, master: str = LOCAL, brokers: Brokers = Brokers.ONE
) -> list[Order]:
    """Returns the orders that were carried out. Raises AssertionError where a row is lost or doubled, or something is left behind."""
    directory = Path(tempfile.mkdtemp(prefix="kill"))
    try:
        orders = Orders(directory / "orders")
        with watched_brokers(orders.broker, brokers) as servers:
            records = RECORDS if brokers is Brokers.ONE else RECORDS_ON_THREE
            asyncio.run(_prepare(servers, records))
            orders.write(wanted)
            _run_to_the_end(kind, servers, directory, master)
            assert asyncio.run(_copied(servers)) == Counter(range(records))
        left = {int(path.name) for path in orders.left()}
        return [order for number, order in enumerate(wanted) if number not in left]
    finally:
        shutil.rmtree(directory)


def _run_to_the_end(kind: str, servers: str, directory: Path, master: str) -> None:
    checkpoint = str(directory / "checkpoint")
    for _ in range(SESSIONS_MAX):
        with Run(directory, "copying_query", kind, servers, checkpoint, master) as run:
            is_done = run.finish()
            assert run.remains() == []
        if is_done:
            return
    raise AssertionError(f"it came to no end: {(directory / 'log').read_text()[-5_000:]}")


async def _prepare(servers: str, records: int) -> None:
    async with Admin(**WAITS_FOR_CLUSTER, bootstrap_servers=servers) as admin:
        topics = [NewTopic(SOURCE, PARTITIONS), NewTopic(OUT, PARTITIONS)]
        (await admin.create_topics(topics)).raise_errors()
    async with Producer(**WAITS_FOR_CLUSTER, bootstrap_servers=servers) as producer:
        for number in range(records):
            await producer.send(SOURCE, b"%d" % number, key=b"%d" % number)


async def _copied(servers: str) -> Counter[int]:
    """How often each record is in the copy, for readers with read_committed. Waits for nothing: transactions have ended."""
    values: list[int] = []
    async with RangeReader(
        **WAITS_FOR_CLUSTER, bootstrap_servers=servers, isolation_level="read_committed"
    ) as reader:
        for partition, end in (await reader.offsets(OUT, -1)).items():
            async for rows in reader.read(OUT, partition, 0, end):
                values += [int(value) for value in rows.column("value").to_pylist()]
    return Counter(values)
