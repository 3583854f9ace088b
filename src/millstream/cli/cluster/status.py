"""`millstream cluster status`: the cluster on one screen: its nodes with their roles, who controls, what is behind,
fenced, out of sync or without a leader.

Brokers know all of it. Controllers know no topics: what those would tell is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.cluster.brokers import ANSWER_MS
from millstream.cli.cluster.options import AskedNodes, whom_to_ask
from millstream.cli.cluster.quorum import described_quorum
from millstream.cli.cluster.troubled_partitions import (
    COLUMNS,
    counts,
    troubled_rows,
)
from millstream.cli.command import ClientCommand
from millstream.cli.rows import Row, for_people, note, output_option, print_rows
from millstream.clients.admin.cluster.nodes import ClusterNode, cluster_nodes, is_cordoned
from millstream.quoting import counted

if TYPE_CHECKING:
    from millstream.clients.admin import ClusterDescription, QuorumInfo, TopicDescription
    from millstream.clients.blocking import Admin

_COLUMNS: Final = (
    "node", "roles", "address", "state", "quorum", "lag", "lag_ms", "leads", "replicas", "out_of_sync",
)  # fmt: skip
_MIN_ISR: Final = "min.insync.replicas"
_TROUBLED_MAX: Final = 20
"""What is more than a screen is read by programs."""
NO_LEADER: Final = -1


@dataclass(frozen=True, slots=True)
class ClusterAnswers:
    """The answers of a cluster to all that its status is made of."""

    cluster: ClusterDescription
    quorum: QuorumInfo
    controllers: Mapping[int, str] = field(default_factory=dict)
    """Addresses of controllers by id, where they were asked."""
    topics: Sequence[TopicDescription] | None = None
    """None where controllers were asked."""
    cordoned: frozenset[int] = frozenset()
    """Brokers that get no new replicas."""
    min_isr: Mapping[str, int | None] = field(default_factory=dict)
    """`min.insync.replicas` by topic."""


@click.command(cls=ClientCommand)
@whom_to_ask
@output_option
def status(*, asked: AskedNodes, output: str) -> None:
    """Show the nodes of a cluster, who controls, who is behind or fenced, and partitions that need attention."""
    with asked.admin() as admin:
        answers = _answers(admin, of_controllers=asked.asks_controllers)
    nodes = node_rows(answers)
    troubled = troubled_rows(answers.topics or (), answers.min_isr)
    if not for_people(output):
        print_rows([summary(answers) | {"nodes": nodes, "troubled": troubled}], output, ())
        return
    for line in head_lines(summary(answers)):
        click.echo(line)
    click.echo()
    print_rows(nodes, output, _COLUMNS)
    if troubled:
        click.echo()
        print_rows(troubled[:_TROUBLED_MAX], output, COLUMNS)
    if len(troubled) > _TROUBLED_MAX:
        note(f"and {len(troubled) - _TROUBLED_MAX} more: --output json has all of them", output)


def _answers(admin: Admin, *, of_controllers: bool) -> ClusterAnswers:
    from millstream.errors import KafkaError

    quorum = described_quorum(admin)
    if of_controllers:
        cluster = admin.describe_cluster()
        told = {node.node_id: str(node.address) for node in cluster.nodes}
        return ClusterAnswers(cluster, quorum, told)
    cluster = admin.describe_cluster(include_fenced_brokers=True)
    topics = admin.describe_topics(admin.list_topics(include_internal=True))
    living = [n.node_id for n in cluster.nodes if n.node_id not in cluster.fenced_broker_ids]
    directories = admin.describe_log_dirs(living, [], timeout_ms=ANSWER_MS)
    cordoned = frozenset(
        broker_id
        for broker_id, found in directories.items()
        if not isinstance(found, KafkaError) and is_cordoned(found.values())
    )
    described = [topic for topic in topics.values() if not isinstance(topic, KafkaError)]
    least = _min_isr(admin, [topic.name for topic in described])
    return ClusterAnswers(cluster, quorum, {}, described, cordoned, least)


def _min_isr(admin: Admin, topics: Sequence[str]) -> dict[str, int | None]:
    from millstream.clients.admin import ConfigResource, ConfigResourceType
    from millstream.errors import KafkaError

    wanted = [ConfigResource(ConfigResourceType.TOPIC, name) for name in topics]
    told = admin.describe_configs(wanted, names=[_MIN_ISR]) if wanted else {}
    return {
        resource.name: int(entries[_MIN_ISR].value or 0)
        for resource, entries in told.items()
        if not isinstance(entries, KafkaError) and _MIN_ISR in entries
    }


def node_rows(answers: ClusterAnswers) -> list[Row]:
    """Returns a row for each node that the cluster knows, by id."""
    of_brokers = None if answers.topics is None else answers.cluster
    nodes = cluster_nodes(of_brokers, answers.quorum, answers.controllers)
    return [
        {
            "node": node.node_id,
            "roles": node.roles,
            "address": node.address,
            "state": _state(node, answers) if node.is_broker else None,
            "quorum": node.place,
            "lag": node.lag,
            "lag_ms": node.lag_ms,
            **(_held(answers.topics or (), node.node_id) if node.is_broker else _HOLDS_NOTHING),
        }
        for node in nodes
    ]


_HOLDS_NOTHING: Final[Row] = dict.fromkeys(("leads", "replicas", "out_of_sync"))


def _state(node: ClusterNode, answers: ClusterAnswers) -> str:
    if node.is_fenced:
        return "fenced"
    return "cordoned" if node.node_id in answers.cordoned else "active"


def _held(topics: Sequence[TopicDescription], node_id: int) -> dict[str, int]:
    """What a broker leads, has replicas of, and is out of sync with."""
    partitions = [each for topic in topics for each in topic.partitions]
    return {
        "leads": sum(each.leader == node_id for each in partitions),
        "replicas": sum(node_id in each.replicas for each in partitions),
        "out_of_sync": sum(node_id in each.out_of_sync for each in partitions),
    }


def summary(answers: ClusterAnswers) -> dict[str, object]:
    """Returns the numbers above the nodes."""
    cluster, quorum = answers.cluster, answers.quorum
    rows = node_rows(answers)
    states = [row["state"] for row in rows if row["state"] is not None]
    told: dict[str, object] = {
        "cluster_id": cluster.cluster_id,
        "active_controller": quorum.leader_id,
        "epoch": quorum.leader_epoch,
        "high_watermark": quorum.high_watermark,
        "voters": len(quorum.voters),
        "observers": len(quorum.observers),
        "lag_max": max((row["lag"] for row in rows if isinstance(row["lag"], int)), default=0),
    }
    if answers.topics is None:
        return told
    return told | {
        "brokers_active": sum(state != "fenced" for state in states),
        "brokers_fenced": states.count("fenced"),
        "brokers_cordoned": len(answers.cordoned),
        "topics": len(answers.topics),
        **counts(answers.topics, answers.min_isr),
    }


def head_lines(told: Mapping[str, object]) -> list[str]:
    leader = told["active_controller"]
    who = "none" if leader == NO_LEADER else f"node {leader}"
    quorum = f"{_count(told, 'voters', 'voter')}, {_count(told, 'observers', 'observer')}"
    lines = [
        f"cluster     {told['cluster_id']}",
        f"controller  {who}, epoch {told['epoch']}, high watermark {told['high_watermark']}",
        f"quorum      {quorum}, {told['lag_max']} records behind at most",
    ]
    if "partitions" not in told:
        return lines
    states = ", ".join(
        f"{told[f'brokers_{each}']} {each}" for each in ("active", "fenced", "cordoned")
    )
    topics = _count(told, "topics", "topic")
    bad = ", ".join(
        f"{told[f'partitions_{key}']} {what}"
        for key, what in (
            ("offline", "without a leader"),
            ("under_replicated", "under-replicated"),
            ("under_min_isr", "under min ISR"),
            ("led_elsewhere", "not led by their first replica"),
        )
    )
    return [
        *lines,
        f"brokers     {states}",
        f"partitions  {told['partitions']} of {topics}, {bad}",
    ]


def _count(told: Mapping[str, object], key: str, noun: str) -> str:
    number = told[key]
    assert isinstance(number, int), f"{key} is a number"
    return counted(number, noun)
