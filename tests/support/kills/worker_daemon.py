"""Spark's daemon of Python workers, whose workers start the task hosts of this package."""

from __future__ import annotations

from pyspark import daemon

from millstream.spark import worker_daemon
from millstream.spark.pipeline import host_link

if __name__ == "__main__":
    host_link.HOST_MODULE = "tests.support.kills.host"  # type: ignore[misc]  # the product has one alone
    worker_daemon.freeze()
    daemon.manager()
