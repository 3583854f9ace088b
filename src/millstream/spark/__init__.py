"""Pipelines on Apache Spark through PySpark. The only package that imports pyspark.

What users call is here, loaded on first use: importing this package, or one of its pure modules, loads no Spark.
"""

from typing import TYPE_CHECKING

from millstream.runtime.lazy import names_of

if TYPE_CHECKING:
    from millstream.spark.position import StoreOutOfDate
    from millstream.spark.reading import DataLoss
    from millstream.spark.runner import MicroBatchRunner, PipelineFailed, Progress, RunnerOptions
    from millstream.spark.session import SparkOptions, configure
    from millstream.spark.source import FORMAT, register
else:
    __getattr__ = names_of(
        __name__,
        {
            "millstream.spark.position": "StoreOutOfDate",
            "millstream.spark.reading": "DataLoss",
            "millstream.spark.runner": "MicroBatchRunner PipelineFailed Progress RunnerOptions",
            "millstream.spark.session": "SparkOptions configure",
            "millstream.spark.source": "FORMAT register",
        },
    )

__all__ = [
    "DataLoss",
    "FORMAT",
    "MicroBatchRunner",
    "PipelineFailed",
    "Progress",
    "RunnerOptions",
    "SparkOptions",
    "StoreOutOfDate",
    "configure",
    "register",
]
