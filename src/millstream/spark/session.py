"""A Spark session fit for small, frequent micro-batches that run Python.

Every setting here removes a measured cost or a known trap of Spark 4.3; `docs/guide/spark/configure.md` tells each with
its figure. Must not decide anything about a pipeline.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from millstream.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA_MISSING = (
    "Apache Spark needs Java 17 and none was found: install it (Debian: apt-get install openjdk-17-jre-headless) "
    "or set JAVA_HOME to an existing one."
)

_SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
"""Set by spark-submit for the program that it starts; its JVM knows the master."""
_WORKERS_PYTHON: Final = "spark.pyspark.python"
"""Heard by spark-submit only; PySpark itself goes by an environment variable."""
_LAUNCH_MECHANISM: Final = "jdk.lang.Process.launchMechanism"
_CHEAP_FORKS: Final = f"-D{_LAUNCH_MECHANISM}=VFORK"
_SHORT_LIVED_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkOptions:
    master: str | None = None
    """None: what spark-submit was given; without spark-submit `local[*]`."""
    app_name: str = "millstream"
    stream_tasks: int = 2
    """Tasks a stateful stage is split into. Spark's default of 200 opens 200 state stores per operator."""
    ui: bool = False
    short_lived: bool = False
    """For programs that end within minutes: the JVM compiles lightly, and starts with 40 % less processor time."""


def settings(options: SparkOptions) -> dict[str, str]:
    """Spark settings by name; all of them take effect only when the session is created with them."""
    java = f"{_SHORT_LIVED_JAVA if options.short_lived else ''}{_CHEAP_FORKS}"
    return {
        # Python workers over Unix sockets: TCP costs about 40 ms a micro-batch (Nagle against delayed acknowledgement).
        "spark.python.unix.domain.socket.enabled": "true",
        # The offset and commit logs through plain java.io: the default manager forks about 20 processes a micro-batch.
        "spark.sql.streaming.checkpointFileManagerClass": (
            "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
        ),
        # What is still forked is forked cheaply.
        "spark.driver.extraJavaOptions": java,
        "spark.executor.extraJavaOptions": java,
        "spark.sql.shuffle.partitions": str(options.stream_tasks),
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
        "spark.python.worker.reuse": "true",
        # Workers are forked with pyarrow, pandas and the kernel loaded; each would import them for seconds.
        "spark.python.daemon.module": "millstream.spark.worker_daemon",
        # Two attempts of one task fence each other.
        "spark.speculation": "false",
        "spark.ui.enabled": str(options.ui).lower(),
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
    }


def configure(options: SparkOptions | None = None, **overrides: str) -> SparkSession:
    """A session with `settings()`, then `overrides` by their Spark names: `configure(**{"spark.ui.port": "4050"})`.

    Raises ConfigError when Java is missing, or when a session with other settings runs already in this process.
    """
    options = options or SparkOptions()
    _require_java()
    # Workers start from this variable or from a bare `python3`, which would miss the environment.
    os.environ.setdefault("PYSPARK_PYTHON", overrides.get(_WORKERS_PYTHON, sys.executable))
    master = options.master
    if master is None and _SUBMITTED not in os.environ:
        master = "local[*]"
    if master is not None and master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    wanted = settings(options) | overrides
    builder = SparkSession.builder.appName(options.app_name)
    if master is not None:
        builder = builder.master(master)
    for name, value in wanted.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    _require_settings(session, wanted)
    _tell_what_comes_too_late(session)
    disable_checksum_files(session)
    from millstream.spark.data_source import register

    register(session)
    return session


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") or (home and shutil.which("java", path=f"{home}/bin")):
        return
    raise ConfigError(JAVA_MISSING)


def _require_settings(session: SparkSession, wanted: dict[str, str]) -> None:
    """A running session keeps the start-up settings it has and only warns; here that is an error.

    Spark puts options of its own in front of extraJavaOptions, so a value counts when the actual one ends with it.
    """
    actual = session.sparkContext.getConf()
    differing = [
        f"{name}={actual.get(name)}"
        for name, value in wanted.items()
        if not (actual.get(name) or "").endswith(value)
    ]
    if differing:
        raise ConfigError(
            f"a Spark session runs already with other settings ({', '.join(differing)}); "
            "call millstream.spark.configure() before anything else creates a session, or stop that session"
        )


def _tell_what_comes_too_late(session: SparkSession) -> None:
    """The JVM that spark-submit has started keeps the options that it was started with, and works with them."""
    jvm: Any = session.sparkContext._jvm  # py4j objects have no types
    if _SUBMITTED in os.environ and jvm.java.lang.System.getProperty(_LAUNCH_MECHANISM) is None:
        _LOGGER.info(
            "spark-submit has started the driver without %s: give it --driver-java-options, or the properties file that "
            "`millstream pipeline conf` writes",
            _CHEAP_FORKS,
        )


def disable_checksum_files(session: SparkSession) -> None:
    """Has no `.crc` file written beside each checkpoint file: they are forked for, and
    Spark does not sync either to disk.
    """
    jvm: Any = session.sparkContext._jvm  # py4j objects have no types
    hadoop: Any = session.sparkContext._jsc.hadoopConfiguration()  # py4j objects have no types
    jvm.org.apache.hadoop.fs.FileSystem.getLocal(hadoop).setWriteChecksum(False)
