"""`millstream pipeline`: how far applications and queries on Spark have come, how an application is paused and begins
anew, and what its executors need.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.application_reset import require_application, reset
from millstream.cli.cluster_options import ClusterOptions, cluster_options
from millstream.cli.command import ClientGroup
from millstream.cli.completion.names import group_names, topic_names
from millstream.cli.near_names import with_near_topics
from millstream.cli.progress import PaceLine, at_terminal
from millstream.cli.rows import Row, dry_run_option, note, output_option, print_rows
from millstream.quoting import some_of

if TYPE_CHECKING:
    from millstream.clients import OffsetAndMetadata
    from millstream.clients.blocking import Admin
    from millstream.model import TopicPartition

_STATUS_COLUMNS: Final = ("topic", "partition", "committed", "readable", "lag", "dropped")
_QUERY_COLUMNS: Final = (
    "query",
    "topic",
    "partition",
    "completed",
    "end",
    "lag",
    "committed",
    "failed_commits",
    "time",
)
_STATE_COLUMNS: Final = ("application", "state")
_MB: Final = 1_000_000

_application = click.argument("application_id", metavar="APPLICATION", shell_complete=group_names)


@click.group(cls=ClientGroup)
def pipeline() -> None:
    """Show how far applications and queries have come; pause or reset an application; prepare what
    its executors need.
    """


@pipeline.command()
@cluster_options
@output_option
@_application
def status(application_id: str, *, cluster: ClusterOptions, output: str) -> None:
    """Show what each task has committed, what lies before it, which transactions are open, and
    whether the application is paused.

    A topic is readable up to its last stable offset: what lies behind an open transaction is not counted as lag.
    `dropped` is how many records the application has left out since its offsets were begun or reset; its log says why.
    """
    from millstream.streams.runtime.committed import dropped_of
    from millstream.streams.runtime.reset import pause_topic

    with cluster.admin() as admin:
        committed = _committed(admin, application_id)
        dropped = dropped_of(committed)
        readable = _readable(admin, list(committed))
        is_paused = pause_topic(application_id) in admin.list_topics()
        is_open = [
            each.transactional_id
            for each in admin.list_transactions(states=["Ongoing"])
            if each.transactional_id.startswith(f"{application_id}@")
        ]
    rows = [
        {
            "topic": tp.topic,
            "partition": tp.partition,
            "committed": found.offset,
            "readable": readable.get(tp),
            "lag": None if tp not in readable else max(0, readable[tp] - found.offset),
            "dropped": dropped.get(tp),
        }
        for tp, found in sorted(committed.items())
    ]
    print_rows(rows, output, _STATUS_COLUMNS)
    if not rows:
        note(f"application {application_id} has committed nothing", output)
    if is_paused:
        note(f"paused: millstream pipeline resume {application_id} lets it go on", output)
    if is_open:
        note(f"open transactions: {some_of(is_open)}", output)


@pipeline.command()
@cluster_options
@output_option
@click.option(
    "--last", "records_max", type=click.IntRange(1), default=10_000, show_default=True, metavar="N",
    help="How many records to look through at the end of each partition.",
)  # fmt: skip
@click.argument("topic", shell_complete=topic_names)
def queries(topic: str, *, cluster: ClusterOptions, output: str, records_max: int) -> None:
    """Show how far each query on Spark was when it last wrote its metrics to TOPIC.

    Queries write there through `millstream.spark.MetricsTopic`. A query that has ended keeps its last row.
    """
    from millstream.cli.query_progress import last_documents, partition_rows
    from millstream.clients.blocking import Consumer
    from millstream.clients.config import ConsumerConfig

    with cluster.admin() as admin:
        with_near_topics(admin, admin.describe_topics([topic])).raise_errors()
    with Consumer(**cluster.settings(ConsumerConfig)) as consumer:
        rows = list(partition_rows(last_documents(consumer, topic, records_max)))
    print_rows(rows, output, _QUERY_COLUMNS)
    if not rows:
        note(f"no query has written its metrics to {topic}", output)


@pipeline.command()
@cluster_options
@output_option
@dry_run_option
@_application
def pause(application_id: str, *, cluster: ClusterOptions, output: str, dry_run: bool) -> None:
    """Have an application begin no more micro-batches, wherever it runs, until it is resumed.

    It notices within two seconds and finishes what is under way. A topic says so while it is there:
    APPLICATION-millstream-paused.
    """
    from millstream.clients.admin import NewTopic
    from millstream.streams.runtime.reset import pause_topic

    with cluster.admin() as admin:
        require_application(admin, application_id)
        is_paused = pause_topic(application_id) in admin.list_topics()
        if not is_paused:
            new = NewTopic(pause_topic(application_id), 1)
            admin.create_topics([new], validate_only=dry_run).raise_errors()
    state = "would be paused" if dry_run and not is_paused else "paused"
    print_rows([{"application": application_id, "state": state}], output, _STATE_COLUMNS)


@pipeline.command()
@cluster_options
@output_option
@dry_run_option
@_application
def resume(application_id: str, *, cluster: ClusterOptions, output: str, dry_run: bool) -> None:
    """Let an application go on that was paused."""
    from millstream.streams.runtime.reset import pause_topic

    with cluster.admin() as admin:
        require_application(admin, application_id)
        is_paused = pause_topic(application_id) in admin.list_topics()
        if is_paused and not dry_run:
            admin.delete_topics([pause_topic(application_id)]).raise_errors()
    state = "would be resumed" if dry_run and is_paused else "resumed"
    print_rows([{"application": application_id, "state": state}], output, _STATE_COLUMNS)


pipeline.add_command(reset)


@pipeline.command()
def conf() -> None:
    """Write the settings of a session that `configure()` would make, as a properties file for spark-submit."""
    from millstream.spark.session import SparkOptions, settings

    for name, value in settings(SparkOptions()).items():
        click.echo(f"{name} {value}")


@pipeline.command()
@output_option
@click.option(
    "--with", "also", multiple=True, metavar="NAME",
    help="Another installed distribution that the topology needs, as fastavro. May be repeated.",
)  # fmt: skip
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def pack(file: Path, *, output: str, also: tuple[str, ...]) -> None:
    """Write an archive of this installation for the executors of a cluster: FILE.tar.gz.

    It holds millstream and what it needs for pipelines, without PySpark and without Python, which executors have. An
    existing file is replaced.
    """
    from millstream.spark.packing import pack as write_archive

    with at_terminal(_now_ms) as progress:
        found = write_archive(
            file, also, lambda done, total: progress.tell(done // _MB, total // _MB, "MB")
        )
    rows = [{"distribution": each.metadata["Name"], "version": each.version} for each in found]
    print_rows(rows, output, ("distribution", "version"))
    note(
        f"spark-submit --archives {file}#environment --conf spark.pyspark.python=./environment/bin/python "
        f"--conf spark.pyspark.driver.python={sys.executable} …",
        output,
    )


@pipeline.command("compile-pyspark")
@output_option
def compile_pyspark(*, output: str) -> None:
    """Add bytecode to the archives from which Spark's Python workers load PySpark: each query with a Python
    source starts 0.4 s sooner.

    They are those of SPARK_HOME, or of the installed PySpark. Run it once on every machine of a cluster, with the
    Python of the workers, while no session runs there.
    """
    from millstream.spark.compiling import archives, compile_archive

    rows: list[Row] = []
    with at_terminal(_now_ms) as progress:
        for path in archives():
            tell = partial(_tell_files, progress, path.name)
            rows.append({"archive": str(path), "compiled": compile_archive(path, tell)})
    print_rows(rows, output, ("archive", "compiled"))


def _tell_files(progress: PaceLine, archive: str, done: int, total: int) -> None:
    progress.tell(done, total, f"files of {archive}")


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def _committed(admin: Admin, application_id: str) -> dict[TopicPartition, OffsetAndMetadata]:
    found = admin.list_consumer_group_offsets([application_id]).result(application_id)
    return {tp: found.result(tp) for tp in found}


def _readable(admin: Admin, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
    """The last stable offsets; those of topics that are gone are left out."""
    from millstream.clients.admin import OffsetSpec

    found = admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST), read_committed=True)
    gone = found.errors()
    return {tp: found.result(tp).offset for tp in found if tp not in gone}
