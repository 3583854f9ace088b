"""The program of the cluster tests: a word count in a process of its own, which says after each micro-batch where its tasks are.

`python -m tests.integration.spark.cluster_application MASTER BOOTSTRAP SETTINGS`, with settings as JSON; it ends with its input,
or with a signal where the settings say so.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping

from millstream.spark import Progress, RunnerOptions, SparkOptions, SparkStreams, configure
from millstream.streams import StreamsBuilder
from millstream.streams.config import StreamsConfig
from millstream.streams.serdes import long, string
from millstream.streams.topology import Topology

SOURCE, OUT = "words", "counts"
PAUSE_S = 0.002


def word_count(pause_s: float) -> Topology:
    def slowly(word: str) -> str:
        time.sleep(pause_s)
        return word

    builder = StreamsBuilder()
    (
        builder.stream(SOURCE, key=string(), value=string())
        .map_values(slowly)
        .group_by(lambda _, word: word, key=string(), value=string())
        .count()
        .to_stream()
        .to(OUT, value=long())
    )
    return builder.build()


def tell(line: Mapping[str, object]) -> None:
    sys.stdout.write(f"{json.dumps(line)}\n")
    sys.stdout.flush()


def reporting(application: SparkStreams) -> Callable[[Progress], None]:
    def report(progress: Progress) -> None:
        line = {
            "sub_topology": progress.sub_topology,
            "records": progress.input_records,
            "restored": progress.restored_records,
            "ms": progress.duration_ms,
            "places": places(application.explain()),
            "standbys": standbys(application.explain()),
        }
        tell(line)

    return report


def places(explained: str) -> dict[str, str]:
    """The executor of each task, out of lines as `  tasks   0_0 on 127.0.0.1_1, 0_1 on 127.0.0.1_0`."""
    found = {}
    for line in explained.splitlines():
        if line.startswith("  tasks "):
            for placed in line.removeprefix("  tasks ").split(","):
                task, _, executor = placed.strip().partition(" on ")
                found[task] = executor.rpartition("_")[2]
    return found


def standbys(explained: str) -> dict[str, str]:
    """The executor of each standby, out of lines as `  standby 1_0 on 127.0.0.1_1`."""
    lines = [each.split() for each in explained.splitlines() if each.startswith("  standby ")]
    return {task: executor.rpartition("_")[2] for _, task, _, executor in lines}


def main(master: str, bootstrap: str, settings: str) -> None:
    given = json.loads(settings)
    options = SparkOptions(master=master or None, app_name="cluster", short_lived=True)
    session = configure(options, **given["spark"])
    session.sparkContext.setLogLevel("ERROR")
    application = SparkStreams(
        word_count(given.get("pause_s", PAUSE_S)),
        StreamsConfig(
            application_id=given["application_id"],
            num_standby_replicas=given.get("standbys", 0),
        ),
        session,
        RunnerOptions(
            bootstrap_servers=bootstrap,
            directory=given["directory"],
            records_per_trigger_max=given.get("records_max"),
        ),
    )
    application.on_progress(reporting(application))
    tell({"started": session.sparkContext.applicationId})
    if given.get("until_end"):
        application.run_available()
    elif given.get("until_signal"):
        application.start()
        application.await_termination()
    else:
        application.start()
        sys.stdin.read()
    application.close()
    session.stop()
    tell({"closed": True})


if __name__ == "__main__":
    main(*sys.argv[1:])
