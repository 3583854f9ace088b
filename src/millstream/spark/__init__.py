"""Pipelines on Apache Spark through PySpark. The only package that imports pyspark.

What users call is here, loaded on first use: importing this package, or one of its pure modules, loads no Spark.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millstream.spark.reading import DataLoss
    from millstream.spark.runner import MicroBatchRunner, PipelineFailed, Progress, RunnerOptions
    from millstream.spark.session import SparkOptions, configure
    from millstream.spark.source import FORMAT, register

__all__ = [
    "DataLoss",
    "FORMAT",
    "MicroBatchRunner",
    "PipelineFailed",
    "Progress",
    "RunnerOptions",
    "SparkOptions",
    "configure",
    "register",
]

_MODULES = {
    "FORMAT": "source",
    "DataLoss": "reading",
    "MicroBatchRunner": "runner",
    "PipelineFailed": "runner",
    "Progress": "runner",
    "RunnerOptions": "runner",
    "SparkOptions": "session",
    "configure": "session",
    "register": "source",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
