"""What the command line of an executor says, and how many cores there are where the driver is one."""

from __future__ import annotations

import pytest

from millstream.spark.pipeline.executor import Executor, from_command_line
from millstream.spark.pipeline.jobs import cores_of_driver

STANDALONE = (
    "java -cp jars/* -Xmx480M org.apache.spark.executor.CoarseGrainedExecutorBackend --driver-url "
    "spark://CoarseGrainedScheduler@10.0.0.1:41965 --executor-id 12 --hostname 10.0.0.7 --cores 4 --app-id app-1"
)


def test_an_executor_is_named_as_the_scheduler_names_it() -> None:
    executor = from_command_line(7, STANDALONE.split())
    assert executor == Executor(7, "executor_10.0.0.7_12", 4)
    assert executor.number == "12"


def test_the_driver_has_no_name_and_leaves_its_cores_to_the_master() -> None:
    words = "java -Xmx1g org.apache.spark.deploy.SparkSubmit --conf spark.cores=3 pyspark-shell"
    executor = from_command_line(7, words.split())
    assert executor == Executor(7, None, None)
    assert executor.number == "driver"


@pytest.mark.parametrize(
    ("master", "cores"),
    [
        ("local", 1),
        ("local[3]", 3),
        ("local[2,4]", 2),
        ("local[*]", 16),
        ("local[*, 2]", 16),
        ("local-cluster[2,3,1024]", 0),
        ("spark://10.0.0.1:7077", 0),
    ],
)
def test_only_in_local_mode_the_master_says_how_many_hosts_there_are(
    master: str, cores: int
) -> None:
    """`spark.default.parallelism` says something else; executors know their cores themselves."""
    assert cores_of_driver(master, lambda: 16) == cores
