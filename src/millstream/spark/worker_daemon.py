"""Spark's daemon of Python workers, which has imported what tasks need before it forks the first of them.

`session` names this module to Spark, which starts it as `python -m`. A worker that imports pyarrow, pandas and the
kernel by itself needs seconds of processor time, and a query starts several at once.
"""

from __future__ import annotations

from socket import socket

import numpy as np
import pandas as pd  # type: ignore[import-untyped]  # only its import matters
import pyarrow as pa
import pyarrow.compute as pc
import pyspark.sql.pandas.serializers
import rocksdict
from pyspark import daemon

import millstream.clients.core.arrow_batches
import millstream.records.arrow
import millstream.spark.data_source
import millstream.spark.pipeline.host_link
import millstream.spark.pipeline.jobs
from millstream.spark.collecting import freeze_what_is_loaded

PRELOADED = (
    millstream.clients.core.arrow_batches,
    millstream.records.arrow,
    millstream.spark.data_source,
    millstream.spark.pipeline.host_link,
    millstream.spark.pipeline.jobs,
    np,
    pa,
    pc,
    pd,
    pyspark.sql.pandas.serializers,
    rocksdict,
)


_worker = daemon.worker


def worker(sock: socket, authenticated: bool) -> int:
    """Runs Spark's worker, and ends without a word where Spark has closed its connection: no more
    rows of its task are wanted.
    """
    try:
        return int(_worker(sock, authenticated))
    except (BrokenPipeError, ConnectionResetError):
        return 1


if __name__ == "__main__":
    freeze_what_is_loaded()
    daemon.worker = worker
    daemon.manager()
