"""A query from topic to topic that is killed, over everything that there is: `python -m ... KIND SERVERS SOURCE OUT CHECKPOINT`."""

from __future__ import annotations

import sys
from typing import Any

from millstream.spark import SparkOptions, configure, write_atomically
from tests.integration.spark.formats.late_workers import started
from tests.support.kills.application import SETTINGS, say
from tests.support.kills.orders import Orders
from tests.support.kills.sink_moments import SinkMoment, observe_sinks

RECORDS_PER_TRIGGER = 60


def main(kind: str, servers: str, source: str, out: str, checkpoint: str) -> None:
    session = configure(SparkOptions(master="local[2,4]", short_lived=True), **SETTINGS)
    session.sparkContext.setLogLevel("OFF")
    orders = Orders.from_environment()
    to = {"bootstrap.servers": servers, "topic": out, "deliveryGuarantee": "exactly-once"}

    def write(rows: Any, batch: int) -> None:  # rows: a DataFrame
        if kind == "atomic":
            write_atomically(rows, batch, {**to, "transactionalIdPrefix": "killed"})
        else:
            sink = rows.write.format("millstream").options(**to, transactionalIdPrefix="killed")
            sink.mode("append").save()
        orders.observe(SinkMoment.WRITTEN)

    def run() -> None:
        rows = session.readStream.format("millstream").options(
            subscribe=source,
            startingOffsets="earliest",
            maxRecordsPerTrigger=str(RECORDS_PER_TRIGGER),
            **{"bootstrap.servers": servers},
        )
        copied = rows.load().select("key", "value").writeStream
        sink = (
            copied.format("millstream").options(**to)
            if kind == "append"
            else copied.foreachBatch(write)
        )
        query = sink.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()

    observe_sinks()  # the driver of an atomic write begins and ends its transactions
    started(run)
    say("done")
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
