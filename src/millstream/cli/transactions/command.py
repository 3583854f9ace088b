"""`millstream transactions`: list, describe, abort; and those that hang."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.cluster_options import ClusterOptions, cluster_options
from millstream.cli.command import ClientGroup
from millstream.cli.near_names import with_near_transactional_ids
from millstream.cli.rows import (
    Row,
    confirm,
    dry_run_option,
    finish,
    note,
    output_option,
    print_rows,
    yes_option,
)
from millstream.cli.transactions.hanging import abort_hanging, find_hanging, producers
from millstream.quoting import some_of

if TYPE_CHECKING:
    from millstream.clients.admin import TransactionDescription
    from millstream.clients.blocking import Admin

_LISTED: Final = ("transactional_id", "producer_id", "state", "coordinator")
_DESCRIBED: Final = (
    "transactional_id",
    "state",
    "producer_id",
    "producer_epoch",
    "timeout_ms",
    "open_ms",
    "partitions",
)
_ABORTED: Final = ("transactional_id", "result")
_ids = click.argument("transactional_ids", nargs=-1, metavar="[TRANSACTIONAL_ID]...")


@click.group(cls=ClientGroup)
def transactions() -> None:
    """List, describe and abort transactions; find and end those that hang."""


for _command in (find_hanging, abort_hanging, producers):
    transactions.add_command(_command)


@transactions.command("list")
@cluster_options
@output_option
@click.option("--prefix", default="", help="Only ids that begin so.")
@click.option("--state", "states", multiple=True, metavar="STATE", help="Only those, as Ongoing.")
@click.option(
    "--open-for-ms",
    type=click.IntRange(min=0),
    help="Only transactions that have been open for at least so long (Kafka 3.8).",
)
def list_command(
    *,
    cluster: ClusterOptions,
    output: str,
    prefix: str,
    states: tuple[str, ...],
    open_for_ms: int | None,
) -> None:
    """List transactional ids with the state of their last transaction."""
    with cluster.admin() as admin:
        listed = admin.list_transactions(
            states=states, min_duration_ms=-1 if open_for_ms is None else open_for_ms
        )
    rows: list[Row] = [
        each._asdict() | {"state": str(each.state)}
        for each in listed
        if each.transactional_id.startswith(prefix)
    ]
    print_rows(rows, output, _LISTED)
    if not rows:
        is_chosen = bool(prefix or states or open_for_ms is not None)
        note(
            "no transactional id is like that"
            if is_chosen
            else "there are no transactional ids that you may see",
            output,
        )


@transactions.command()
@cluster_options
@output_option
@_ids
def describe(transactional_ids: tuple[str, ...], *, cluster: ClusterOptions, output: str) -> None:
    """Show state, producer, age and partitions of transactions."""
    if not transactional_ids:
        raise click.UsageError("name one transactional id or more: millstream transactions list")
    now_ms = time.time_ns() // 1_000_000
    with cluster.admin() as admin:
        found = with_near_transactional_ids(admin, admin.describe_transactions(transactional_ids))
    good = [name for name in transactional_ids if name not in found.errors()]
    print_rows([_described(name, found.result(name), now_ms) for name in good], output, _DESCRIBED)
    finish(found.errors(), output)


@transactions.command()
@cluster_options
@output_option
@yes_option
@dry_run_option
@click.option("--prefix", help="All ids that begin so and have an open transaction.")
@_ids
def abort(
    transactional_ids: tuple[str, ...],
    *,
    cluster: ClusterOptions,
    output: str,
    yes: bool,
    dry_run: bool,
    prefix: str | None,
) -> None:
    """Abort open transactions, and fence the producers that have them.

    For transactions that a dead producer has left, which readers with read_committed would wait for until their
    time-out. The sink of a query on Spark aborts its own when it starts again.
    """
    if bool(transactional_ids) == (prefix is not None):
        raise click.UsageError("name transactional ids, or give --prefix")
    with cluster.admin() as admin:
        wanted = list(transactional_ids) if prefix is None else _open(admin, prefix)
        if not wanted:
            note(f"no id that begins with {prefix!r} has an open transaction", output)
            return
        if not dry_run:
            confirm(f"Abort what is open and fence the producers of {some_of(wanted)}", yes=yes)
        known = with_near_transactional_ids(admin, admin.describe_transactions(wanted))
        errors = known.errors()
        if not dry_run:
            fenced = admin.fence_producers([name for name in wanted if name not in errors])
            errors |= fenced.errors()
    rows = [
        {"transactional_id": name, "result": _planned(known.result(name)) if dry_run else "aborted"}
        for name in wanted
        if name not in errors
    ]
    print_rows(rows, output, _ABORTED)
    finish(errors, output)


def _planned(found: TransactionDescription) -> str:
    is_open = str(found.state) == "Ongoing"
    return "would be aborted" if is_open else "nothing is open; its producer would be fenced"


def _open(admin: Admin, prefix: str) -> list[str]:
    listed = admin.list_transactions(states=["Ongoing"])
    return [each.transactional_id for each in listed if each.transactional_id.startswith(prefix)]


def _described(name: str, found: TransactionDescription, now_ms: int) -> Row:
    started_ms = found.start_time_ms
    return {
        "transactional_id": name,
        "state": str(found.state),
        "producer_id": found.producer_id,
        "producer_epoch": found.producer_epoch,
        "timeout_ms": found.timeout_ms,
        "open_ms": None if started_ms is None else max(0, now_ms - started_ms),
        "coordinator": found.coordinator,
        "partitions": [f"{topic}-{number}" for topic, number in sorted(found.partitions)],
    }
