"""A Declarative Pipeline from topic to topic that is killed: `spark-pipelines run`, as its users start it.

The first process of the session is a JVM that starts the program in Python, which starts the JVM of the driver, declares the pipeline
to it and waits for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NoReturn

import orjson

SOURCE, OUT = "source", "out"
"""The topics."""
_PROGRAM: Final = """\
from pyspark import pipelines as dp
from pyspark.sql import SparkSession

spark = SparkSession.active()
dp.create_sink("copies", "watched", {sink!r})


@dp.append_flow(target="copies")
def copied():
    return spark.readStream.format("watched").options(**{source!r}).load().select("key", "value")
"""


def become(
    directory: Path,
    master: str,
    settings: Mapping[str, str],
    source: Mapping[str, str],
    sink: Mapping[str, str],
) -> NoReturn:
    """This process becomes that of the pipeline. `directory` has its files and its checkpoints; Spark writes there, too."""
    program = directory / "transformations" / "copies.py"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(_PROGRAM.format(sink=dict(sink), source=dict(source)))
    specification = {
        "name": "killed",
        "storage": (directory / "storage").as_uri(),
        "libraries": [{"glob": {"include": "transformations/**"}}],
    }
    (directory / "spark-pipeline.yml").write_bytes(orjson.dumps(specification))  # YAML, too
    os.chdir(directory)
    defaults = directory / "conf" / "spark-defaults.conf"  # both of the JVMs read it
    defaults.parent.mkdir(exist_ok=True)
    defaults.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    starts = Path(os.environ["SPARK_HOME"], "bin", "spark-pipelines")
    environment = {"PYSPARK_PYTHON": sys.executable, "SPARK_CONF_DIR": str(defaults.parent)}
    os.execve(starts, [str(starts), "run", "--remote", master], os.environ | environment)
