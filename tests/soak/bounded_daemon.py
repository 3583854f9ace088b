"""Spark's daemon of Python workers, which start task hosts whose RocksDB may hold little."""

from __future__ import annotations

from pyspark import daemon

from millstream.spark.collecting import freeze_what_is_loaded
from millstream.spark.pipeline import host_link

if __name__ == "__main__":
    host_link.HOST_MODULE = "tests.soak.bounded_host"  # type: ignore[misc]  # the product has one alone
    freeze_what_is_loaded()
    daemon.manager()
