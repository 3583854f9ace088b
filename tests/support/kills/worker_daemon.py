"""Spark's daemon of Python workers, which start the task hosts of this package and come to the moments of a sink."""

from __future__ import annotations

from pyspark import daemon

from millstream.spark.collecting import freeze_what_is_loaded
from millstream.spark.pipeline import host_link
from tests.support.kills.sink_moments import observe_sinks

if __name__ == "__main__":
    host_link.HOST_MODULE = "tests.support.kills.host"  # type: ignore[misc]  # the product has one alone
    observe_sinks()
    freeze_what_is_loaded()
    daemon.manager()
