"""A query from topic to topic that is killed, over everything that there is: `python -m ... KIND SERVERS CHECKPOINT MASTER`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Final

from millstream.spark import SparkOptions, configure, write_atomically
from millstream.spark.session import settings
from tests.patience import LONG_ENOUGH_MS
from tests.support.kills.application import SETTINGS, say
from tests.support.kills.copying_pipeline import OUT, SOURCE, become
from tests.support.kills.orders import Orders
from tests.support.kills.sink_moments import SinkMoment, observe_sinks
from tests.support.late_workers import started

RECORDS_PER_TRIGGER: Final = 60
ROWS_OF_ARROW: Final = {"spark.sql.execution.arrow.maxRecordsPerBatch": "10"}
"""A task sends its thirty rows in three times."""
ON_PATH: Final = Path(__file__).parent / "on_path"


def main(kind: str, servers: str, checkpoint: str, master: str) -> None:
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ON_PATH), os.environ["PYTHONPATH"]])
    cluster = {"bootstrap.servers": servers, "kafka.bootstrap.wait.ms": str(LONG_ENOUGH_MS)}
    given = {
        **cluster,
        "subscribe": SOURCE,
        "startingOffsets": "earliest",
        "maxRecordsPerTrigger": str(RECORDS_PER_TRIGGER),
    }
    to = {**cluster, "topic": OUT, "deliveryGuarantee": "exactly-once"}
    options = SparkOptions(master=master, short_lived=True)
    if kind == "pipeline":
        become(Path(checkpoint), master, settings(options) | SETTINGS | ROWS_OF_ARROW, given, to)
    session = configure(options, **SETTINGS, **ROWS_OF_ARROW)
    session.sparkContext.setLogLevel("OFF")
    orders = Orders.from_environment()

    def write(rows: Any, batch: int) -> None:  # rows: a DataFrame
        if kind == "atomic":
            write_atomically(rows, batch, {**to, "transactionalIdPrefix": "killed"})
        else:
            sink = rows.write.format("millstream").options(**to, transactionalIdPrefix="killed")
            sink.mode("append").save()
        orders.observe(SinkMoment.WRITTEN)

    def run() -> None:
        rows = session.readStream.format("watched").options(**given).load()
        copied = rows.select("key", "value").writeStream
        sink = (
            copied.format("watched").options(**to)
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
