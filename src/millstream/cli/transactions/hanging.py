"""Transactions that are open in a partition and that no coordinator will end (KIP-664); producers of partitions.

They hold the last stable offset, so readers with read_committed wait for ever. A writer that does not have its
partitions verified leaves them (Kafka before 3.6, or transaction.partition.verification.enable=false).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.cluster_options import ClusterOptions, cluster_options
from millstream.cli.command import ClientCommand
from millstream.cli.completion.names import topic_names
from millstream.cli.near_names import check_up
from millstream.cli.rows import (
    Row,
    confirm,
    dry_run_option,
    finish,
    for_people,
    note,
    output_option,
    print_rows,
    yes_option,
)
from millstream.errors import InvalidRequest, KafkaError
from millstream.quoting import counted, some_of

if TYPE_CHECKING:
    from millstream.clients.admin import OpenTransaction, PartitionDescription, ProducerState
    from millstream.clients.blocking import Admin
    from millstream.model import TopicPartition

_FOUND: Final = (
    "topic",
    "partition",
    "producer_id",
    "producer_epoch",
    "coordinator_epoch",
    "start_offset",
    "open_ms",
)
_ABORTED: Final = ("topic", "partition", "producer_id", "start_offset", "result")
_PRODUCERS: Final = (
    "topic",
    "partition",
    "producer_id",
    "producer_epoch",
    "coordinator_epoch",
    "last_sequence",
    "last_timestamp_ms",
    "start_offset",
)
_MISSING_COORDINATOR_EPOCH: Final = 0
"""Of a producer whose first transaction hangs. As kafka-transactions has it: no leader's epoch is lower."""

_some_partitions = click.argument("items", nargs=-1, metavar="[TOPIC[:P,P]]...", shell_complete=topic_names)  # fmt: skip
_partitions = click.argument("items", nargs=-1, required=True, metavar="TOPIC[:P,P]...", shell_complete=topic_names)  # fmt: skip
_broker = click.option("--broker", "--broker-id", "broker_id", type=click.IntRange(0), metavar="ID", help="Only partitions with a replica on this broker, as that one sees them.")  # fmt: skip
_timeout = click.option(
    "--max-transaction-timeout", "timeout", metavar="DURATION", default="15m", show_default=True,
    help="transaction.max.timeout.ms of the cluster: what is younger ends by itself.",
)  # fmt: skip


@click.command("find-hanging", cls=ClientCommand)
@cluster_options
@output_option
@_broker
@_timeout
@_some_partitions
def find_hanging(
    items: tuple[str, ...], *, cluster: ClusterOptions, output: str, broker_id: int | None, timeout: str
) -> None:  # fmt: skip
    """Find transactions that are open in a partition though their coordinator does not know of it: in all topics,
    or in these.
    """
    with cluster.admin() as admin:
        found, unseen = _hanging(admin, items, broker_id, timeout)
    now_ms = _now_ms()
    print_rows([_found_row(each, now_ms) for each in found], output, _FOUND)
    if found:
        note("millstream transactions abort-hanging ends them", output)
    else:
        note(f"no transaction hangs{' elsewhere' if unseen else ''}", output)
    _finish_unseen(unseen, output)


@click.command("abort-hanging", cls=ClientCommand)
@cluster_options
@output_option
@yes_option
@dry_run_option
@_broker
@_timeout
@click.option(
    "--start-offset", type=click.IntRange(0), metavar="OFFSET",
    help="End the transaction that began there in the one partition named, whether it hangs or not, as kafka-transactions abort.",
)  # fmt: skip
@_partitions
def abort_hanging(
    items: tuple[str, ...], *, cluster: ClusterOptions, output: str, yes: bool, dry_run: bool,
    broker_id: int | None, timeout: str, start_offset: int | None,
) -> None:  # fmt: skip
    """End transactions that hang in these partitions: an abort marker is written behind each.

    What `find-hanging` does not find is left alone: a coordinator ends it.
    """
    with cluster.admin() as admin:
        unseen: Mapping[TopicPartition, KafkaError] = {}
        if start_offset is None:
            found, unseen = _hanging(admin, items, broker_id, timeout)
        else:
            found = [_begun_at(admin, items, start_offset)]
        if not found:
            note(f"no transaction hangs there{' elsewhere' if unseen else ''}", output)
            _finish_unseen(unseen, output)
            return
        errors: dict[tuple[TopicPartition, int], KafkaError] = {}
        if not dry_run:
            confirm(f"Abort {counted(len(found), 'transaction')} in {counted(len({each.partition for each in found}), 'partition')}", yes=yes)  # fmt: skip
            errors = _abort(admin, found)
    result = "would be aborted" if dry_run else "aborted"
    done = [each for each in found if (each.partition, each.producer.producer_id) not in errors]
    print_rows([{**_place(each), "result": result} for each in done], output, _ABORTED)
    finish(errors, output)
    _finish_unseen(unseen, output)


@click.command(cls=ClientCommand)
@cluster_options
@output_option
@_broker
@_partitions
def producers(
    items: tuple[str, ...], *, cluster: ClusterOptions, output: str, broker_id: int | None
) -> None:
    """Show the producers that partitions remember, with where their open transactions begin."""
    from millstream.cli.records.partition_choice import chosen_partitions

    with cluster.admin() as admin:
        if broker_id is not None:
            check_up(admin, broker_id)
        chosen = _on_broker(chosen_partitions(admin, items), broker_id)
        found = admin.describe_producers(chosen, broker_id=broker_id)
    errors = found.errors()
    rows = [
        _producer_row(partition, producer)
        for partition in chosen
        if partition not in errors
        for producer in found.result(partition)
    ]
    print_rows(rows, output, _PRODUCERS)
    finish(errors, output)


def _hanging(
    admin: Admin, items: tuple[str, ...], broker_id: int | None, timeout: str
) -> tuple[list[OpenTransaction], dict[TopicPartition, KafkaError]]:
    """Returns what hangs, and the partitions of which nobody could say."""
    from millstream.cli.records.offset_choice import duration_ms
    from millstream.cli.records.partition_choice import chosen_partitions

    limit_ms = duration_ms(timeout)
    if broker_id is not None:
        check_up(admin, broker_id)
    chosen = chosen_partitions(admin, items) if items else None
    topics = None if chosen is None else {each.topic for each in chosen}
    told = admin.find_hanging_transactions(topics, broker_id=broker_id, max_transaction_timeout_ms=limit_ms)  # fmt: skip
    hanging, unseen = [], {}
    for partition in sorted(each for each in told if chosen is None or each in chosen):
        found = told[partition]
        if isinstance(found, KafkaError):
            unseen[partition] = found
        else:
            hanging += found
    return hanging, unseen


def _finish_unseen(unseen: Mapping[TopicPartition, KafkaError], output: str) -> None:
    """Tells a person in one sentence for each kind of error, a program of each partition; exits as one that failed."""
    if not for_people(output):
        finish(unseen, output)
    kinds: dict[type[KafkaError], list[str]] = {}
    for partition, error in unseen.items():
        kinds.setdefault(type(error), []).append(str(partition))
    finish({kind: kind(f"{counted(len(which), 'partition')} could not be looked at ({some_of(which)}): {kind.sentence}") for kind, which in kinds.items()}, output)  # fmt: skip


def _begun_at(admin: Admin, items: tuple[str, ...], start_offset: int) -> OpenTransaction:
    """Raises InvalidRequest where no transaction that is open began there."""
    from millstream.cli.records.partition_choice import chosen_partitions
    from millstream.clients.admin import OpenTransaction

    chosen = list(chosen_partitions(admin, items))
    if len(chosen) != 1:
        raise click.UsageError(f"--start-offset is one of one partition, not of {len(chosen)}: write TOPIC:P")  # fmt: skip
    (partition,) = chosen
    open_ones = [
        each
        for each in admin.describe_producers(chosen).result(partition)
        if each.transaction_start_offset is not None
    ]
    for each in open_ones:
        if each.transaction_start_offset == start_offset:
            return OpenTransaction(partition, each)
    begin = ", ".join(str(each.transaction_start_offset) for each in open_ones) or "none"
    raise InvalidRequest(f"{partition} has no open transaction that began at {start_offset}; those that are open began at: {begin}")  # fmt: skip


def _abort(
    admin: Admin, found: Iterable[OpenTransaction]
) -> dict[tuple[TopicPartition, int], KafkaError]:
    from millstream.clients.admin import AbortTransactionSpec

    errors: dict[tuple[TopicPartition, int], KafkaError] = {}
    for partition, producer in found:
        epoch = producer.coordinator_epoch
        spec = AbortTransactionSpec(
            partition,
            producer.producer_id,
            producer.producer_epoch,
            _MISSING_COORDINATOR_EPOCH if epoch is None else epoch,
        )
        try:
            admin.abort_transaction(spec)
        except KafkaError as error:
            errors[partition, producer.producer_id] = error
    return errors


def _on_broker(
    chosen: Mapping[TopicPartition, PartitionDescription], broker_id: int | None
) -> list[TopicPartition]:
    return [each for each, of in chosen.items() if broker_id is None or broker_id in of.replicas]


def _place(found: OpenTransaction) -> dict[str, object]:
    return {
        "topic": found.partition.topic,
        "partition": found.partition.partition,
        "producer_id": found.producer.producer_id,
        "start_offset": found.producer.transaction_start_offset,
    }


def _found_row(found: OpenTransaction, now_ms: int) -> Row:
    row = _producer_row(*found)
    return {**row, "open_ms": max(0, now_ms - found.producer.last_timestamp_ms)}


def _producer_row(partition: TopicPartition, producer: ProducerState) -> dict[str, object]:
    return {
        "topic": partition.topic,
        "partition": partition.partition,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.producer_epoch,
        "coordinator_epoch": producer.coordinator_epoch,
        "last_sequence": producer.last_sequence,
        "last_timestamp_ms": producer.last_timestamp_ms,
        "start_offset": producer.transaction_start_offset,
    }


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
