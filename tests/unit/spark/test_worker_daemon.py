"""The daemon that Spark forks its Python workers from."""

from __future__ import annotations

import subprocess
import sys

_SHOW_WHAT_THE_COLLECTOR_SEES = """
import gc, runpy
from pyspark import daemon
daemon.manager = lambda: print(len(gc.get_objects()), gc.get_freeze_count())
runpy.run_module("millstream.spark.worker_daemon", run_name="__main__")
"""


def test_workers_are_forked_when_the_collector_sees_nothing_of_what_was_loaded() -> None:
    """Spark collects after every task: it cost a worker 50 ms."""
    shown = subprocess.run(
        [sys.executable, "-c", _SHOW_WHAT_THE_COLLECTOR_SEES],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    seen, frozen = map(int, shown.split())
    assert seen < 1_000
    assert frozen > 100_000


_END_AS_SPARK_ENDS_A_WORKER = """
import socket, sys
from pyspark import daemon
def worker(sock, authenticated):
    raise {error}
daemon.worker = worker
import millstream.spark.worker_daemon as ours
print(ours.worker(socket.socket(), True))
"""


def test_a_worker_whose_connection_spark_has_closed_ends_without_a_word() -> None:
    """As when no more rows are wanted: it was a traceback between the lines of a run that went well."""
    for error in ("BrokenPipeError", "ConnectionResetError"):
        ended = subprocess.run(
            [sys.executable, "-c", _END_AS_SPARK_ENDS_A_WORKER.format(error=error)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert (ended.stdout, ended.stderr) == ("1\n", "")
