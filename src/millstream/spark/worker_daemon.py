"""Spark's daemon of Python workers, which has imported what tasks need before it forks the first of them.

`session` names this module to Spark, which starts it as `python -m`. A worker that imports pyarrow, pandas and the kernel by
itself needs seconds of processor time, and a query starts several at once.
"""

from __future__ import annotations

import gc

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


def freeze() -> None:
    """Takes everything that is loaded out of the garbage collector's sight.

    Spark has a worker collect after every task, which would visit all of it, and copy the memory that it shares.
    """
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    freeze()
    daemon.manager()
