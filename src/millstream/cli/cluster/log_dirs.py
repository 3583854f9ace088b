"""`millstream cluster log-dirs`: what lies where on the disks of brokers. As JSON it is what kafka-log-dirs prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.arguments import broker_ids
from millstream.cli.cluster.brokers import ANSWER_MS
from millstream.cli.cluster.options import AskedNodes, whom_to_ask
from millstream.cli.command import ClientCommand
from millstream.cli.near_names import with_near_topics
from millstream.cli.rows import Row, finish, for_people, print_rows
from millstream.errors import ConfigError, KafkaError

if TYPE_CHECKING:
    from millstream.clients.admin import LogDirDescription, LogDirs
    from millstream.model import TopicPartition

Answers = Mapping[int, "LogDirs | KafkaError"]
_VERSION: Final = 1
_COLUMNS: Final = ("broker", "log_dir", "state", "replicas", "bytes", "usable_bytes", "total_bytes")
_REPLICA_COLUMNS: Final = ("topic", "partition", "broker", "log_dir", "bytes", "offset_lag", "is_future")  # fmt: skip


@click.command("log-dirs", cls=ClientCommand, short_help="Show what lies where on the disks.")
@whom_to_ask
@click.option("--output", type=click.Choice(["table", "wide", "json", "jsonl"]), default="table", show_default=True, help="A table for people, or JSON for programs, as kafka-log-dirs prints it; or one object for each broker.")  # fmt: skip
@click.option("--broker-list", metavar="ID,...", help="Ask these brokers. Default: all that are up.")  # fmt: skip
@click.option("--topic-list", metavar="TOPIC,...", help="Tell the replicas of these topics. Default: of all.")  # fmt: skip
@click.option("--replicas", is_flag=True, help="A line for each replica, and not for each directory.")  # fmt: skip
def log_dirs(
    *,
    asked: AskedNodes,
    output: str,
    broker_list: str | None,
    topic_list: str | None,
    replicas: bool,
) -> None:
    """Show the log directories of brokers: how full they are, whether they failed, and what they hold."""
    if asked.asks_controllers:
        raise click.UsageError("controllers do not tell of log directories: give --bootstrap-server")  # fmt: skip
    wanted = None if broker_list is None else broker_ids(broker_list, "--broker-list")
    topics = None if topic_list is None else _names(topic_list)
    with asked.admin() as admin:
        if topics is not None:
            with_near_topics(admin, admin.describe_topics(topics)).raise_errors()
        cluster = admin.describe_cluster(include_fenced_brokers=True)
        known = sorted(node.node_id for node in cluster.nodes)
        unknown = sorted(set(wanted or ()) - set(known))
        if unknown:
            raise ConfigError(f"--broker-list names broker {unknown[0]}, and the cluster has {', '.join(map(str, known))}")  # fmt: skip
        if wanted is None:
            wanted = [each for each in known if each not in cluster.fenced_broker_ids]
        found: Answers = admin.describe_log_dirs(wanted, timeout_ms=ANSWER_MS)
    if for_people(output):
        rows = replica_rows(found, topics) if replicas else directory_rows(found, topics)
        print_rows(rows, output, _REPLICA_COLUMNS if replicas else _COLUMNS)
    else:
        _print_json(found, topics, output)
    finish({broker: each for broker, each in found.items() if isinstance(each, KafkaError)}, output)


def directory_rows(found: Answers, topics: Sequence[str] | None) -> list[Row]:
    """Returns a row for each log directory. What cannot be known of one that failed is None."""
    rows: list[Row] = []
    for broker, path, described in _directories(found):
        if isinstance(described, KafkaError):
            told: Row = dict.fromkeys(("replicas", "bytes", "usable_bytes", "total_bytes"))
            state = "offline"
        else:
            held = [described.replicas[key] for key in _held(described, topics)]
            told = {
                "replicas": len(held),
                "bytes": sum(each.size_bytes for each in held),
                "usable_bytes": described.usable_bytes,
                "total_bytes": described.total_bytes,
            }
            state = "cordoned" if described.is_cordoned else "online"
        rows.append({"broker": broker, "log_dir": path, "state": state, **told})
    return rows


def replica_rows(found: Answers, topics: Sequence[str] | None) -> list[Row]:
    """Returns a row for each replica in each directory."""
    rows: list[Row] = [
        {
            "topic": key.topic,
            "partition": key.partition,
            "broker": broker,
            "log_dir": path,
            "bytes": described.replicas[key].size_bytes,
            "offset_lag": described.replicas[key].offset_lag,
            "is_future": described.replicas[key].is_future,
        }
        for broker, path, described in _directories(found)
        if not isinstance(described, KafkaError)
        for key in _held(described, topics)
    ]
    return sorted(rows, key=lambda row: tuple(map(str, (row["topic"], f"{row['partition']:>9}", row["broker"]))))  # fmt: skip


def broker_objects(found: Answers, topics: Sequence[str] | None) -> list[Row]:
    """Returns what kafka-log-dirs has in `brokers`."""
    return [
        {
            "broker": broker,
            "logDirs": [
                _directory_object(path, described, topics)
                for _, path, described in _directories({broker: answer})
            ],
        }
        for broker, answer in sorted(found.items())
        if not isinstance(answer, KafkaError)
    ]


def _directory_object(
    path: str, described: LogDirDescription | KafkaError, topics: Sequence[str] | None
) -> Row:
    if isinstance(described, KafkaError):
        return {"partitions": [], "error": described.name, "logDir": path}
    partitions = [
        {
            "partition": str(key),
            "size": described.replicas[key].size_bytes,
            "offsetLag": described.replicas[key].offset_lag,
            "isFuture": described.replicas[key].is_future,
        }
        for key in _held(described, topics)
    ]
    return {"partitions": partitions, "error": None, "logDir": path}


def _print_json(found: Answers, topics: Sequence[str] | None, output: str) -> None:
    import orjson

    brokers = broker_objects(found, topics)
    if output == "jsonl":
        print_rows(brokers, output, ())
        return
    click.echo(orjson.dumps({"brokers": brokers, "version": _VERSION}))


def _directories(found: Answers) -> list[tuple[int, str, LogDirDescription | KafkaError]]:
    return [
        (broker, path, described)
        for broker, answer in sorted(found.items())
        if not isinstance(answer, KafkaError)
        for path, described in sorted(answer.items())
    ]


def _held(described: LogDirDescription, topics: Sequence[str] | None) -> list[TopicPartition]:
    return sorted(key for key in described.replicas if topics is None or key.topic in topics)


def _names(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]
