"""`millstream cluster reassign plan | execute | verify | cancel | list`: replicas move to other brokers
(kafka-reassign-partitions).

`plan` and `execute` print JSON of Kafka's tool and nothing else on standard output: what shall be,
and what was, to go back to it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.arguments import broker_ids, given_text
from millstream.cli.cluster.options import AskedNodes, whom_to_ask
from millstream.cli.cluster.reassignment.balance import balanced
from millstream.cli.cluster.reassignment.files import (
    ReassignmentTarget,
    read_target,
    read_topics,
    target_text,
)
from millstream.cli.cluster.reassignment.progress import (
    COLUMNS,
    DIRECTORY_COLUMNS,
    directory_rows,
    goes_on,
    is_done,
    progress_rows,
)
from millstream.cli.command import FAILED, ClientGroup
from millstream.cli.completion.names import topic_names
from millstream.cli.rows import (
    confirm,
    dry_run_option,
    finish,
    for_people,
    note,
    output_option,
    print_rows,
    yes_option,
)
from millstream.cli.terminal import printable
from millstream.model import TopicPartition
from millstream.quoting import counted, some_of

if TYPE_CHECKING:
    from millstream.cli.cluster.reassignment.moves import Moves

_ONGOING_COLUMNS: Final = ("topic", "partition", "replicas", "adding", "removing")
_file = click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
_output = output_option
_preserve = click.option(
    "--preserve-throttles", is_flag=True, help="Leave the limits of --throttle where they are."
)
_timeout = click.option(
    "--timeout",
    "timeout_ms",
    type=click.IntRange(min=0),
    default=10_000,
    show_default=True,
    help="Milliseconds to wait until replicas are where their directory can be chosen.",
)


@click.group(cls=ClientGroup, short_help="Move replicas to other brokers.")
def reassign() -> None:
    """Move replicas to other brokers: plan, execute, verify, cancel, list.

    Files are those of kafka-reassign-partitions.
    """


@reassign.command()
@whom_to_ask
@click.argument("topics", nargs=-1, metavar="[TOPIC]...", shell_complete=topic_names)
@click.option("--topics-to-move-json-file", "topics_file", type=click.Path(exists=True, dir_okay=False), help="A file that names the topics, as for Kafka's tool.")  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="All topics, internal ones too.")
@click.option("--broker-list", "broker_list", metavar="ID,...", help="Brokers that shall have the replicas. Default: all that are up and take new ones.")  # fmt: skip
@click.option("--replication-factor", type=click.IntRange(min=1), help="Replicas that each partition shall have. Default: as many as now.")  # fmt: skip
@click.option("--disable-rack-aware", is_flag=True, help="Do not look at racks.")
def plan(
    topics: tuple[str, ...],
    *,
    asked: AskedNodes,
    topics_file: str | None,
    everything: bool,
    broker_list: str | None,
    replication_factor: int | None,
    disable_rack_aware: bool,
) -> None:
    """Print where replicas would be if they were spread evenly, with as few moves as that takes. Changes nothing."""
    named = [
        *topics,
        *([] if topics_file is None else read_topics(given_text(topics_file), topics_file)),
    ]
    if bool(named) == everything:
        raise click.UsageError("name TOPICs, or give --all")
    brokers = None if broker_list is None else broker_ids(broker_list, "--broker-list")
    with _moves(asked) as moves:
        current = moves.replicas(None if everything else named)
        racks = moves.racks(brokers)
        if disable_rack_aware:
            racks = dict.fromkeys(racks)
    planned = balanced(current, racks, replication_factor)
    moved = sum(set(planned[key]) != set(current[key]) for key in current)
    led = sum(planned[key][0] != current[key][0] for key in current)
    click.echo(target_text(planned))
    click.echo(
        f"of {counted(len(current), 'partition')}, {moved} would have other replicas and {led} another preferred leader; save this as a "
        "file and give it to `millstream cluster reassign execute FILE`",
        err=True,
    )


@reassign.command()
@whom_to_ask
@_file
@click.option("--throttle", type=click.IntRange(min=1), help="Most bytes a second that each broker sends, and takes, for this.")  # fmt: skip
@click.option("--replica-alter-log-dirs-throttle", "directory_throttle", type=click.IntRange(min=1), help="Most bytes a second that each broker copies between its directories.")  # fmt: skip
@click.option("--additional", is_flag=True, help="Begin though other partitions move already, and set their throttle anew.")  # fmt: skip
@click.option("--disallow-replication-factor-change", is_flag=True, help="Refuse partitions that would have more or fewer replicas than now.")  # fmt: skip
@_timeout
@dry_run_option
def execute(
    file: str,
    *,
    asked: AskedNodes,
    throttle: int | None,
    directory_throttle: int | None,
    additional: bool,
    disallow_replication_factor_change: bool,
    timeout_ms: int,
    dry_run: bool,
) -> None:
    """Begin the moves of FILE. Prints the replicas until now, which take the partitions back when they are executed."""
    target = read_target(given_text(file), file)
    with _moves(asked) as moves:
        before = moves.check(target, file, additional=additional)
        click.echo(target_text(before))
        if dry_run:
            moving, errors = moves.planned(target, before, keeps_factor=disallow_replication_factor_change)  # fmt: skip
            click.echo(f"{counted(len(moving), 'partition')} would move; without --dry-run they do", err=True)  # fmt: skip
            finish(errors, "table")
            return
        try:
            moves.throttle(target, before, throttle, directory_throttle)
            errors = moves.begin(
                target,
                keeps_factor=disallow_replication_factor_change,
                timeout_ms=timeout_ms,
            )
        except KeyboardInterrupt:
            click.echo(
                f"interrupted: what has begun goes on; `millstream cluster reassign verify {printable(file)}` shows how far it is, "
                "`cancel` in place of `verify` calls it off",
                err=True,
            )
            raise
    begun = len(target.replicas) - len(errors.keys() & target.replicas.keys())
    click.echo(
        f"{counted(begun, 'partition')} on the way; save the line above to go back, and watch with `millstream cluster reassign verify {printable(file)}`"
        + _about_throttles(throttle, directory_throttle),
        err=True,
    )
    finish(errors, "table")


def _about_throttles(throttle: int | None, directory_throttle: int | None) -> str:
    if throttle is None and directory_throttle is None:
        return ""
    return ", which takes the throttle away once all is done"


@reassign.command()
@whom_to_ask
@_output
@_file
@_preserve
def verify(file: str, *, asked: AskedNodes, output: str, preserve_throttles: bool) -> None:
    """Show how far the moves of FILE are. Exits 0 once all are completed, else 1.

    Takes throttles away when nothing moves any more.
    """
    target = read_target(given_text(file), file)
    with _moves(asked) as moves:
        ongoing = moves.ongoing()
        rows = progress_rows(target, moves.replicas(target.topics, or_none=True), ongoing)
        of_directories = directory_rows(target, moves.directories(target))
        ends = not ongoing and not goes_on(of_directories)
        if ends and not preserve_throttles:
            _tell_limited(moves.take_throttles_away(target.topics), output)
    if for_people(output):
        print_rows(rows, output, COLUMNS)
        if of_directories:
            click.echo()
            print_rows(of_directories, output, DIRECTORY_COLUMNS)
    else:
        print_rows([*rows, *of_directories], output, ())
    if is_done((*rows, *of_directories)):
        note("all moves are completed", output)
        return
    if goes_on((*rows, *of_directories)):
        note(
            "replicas are on the way: ask again, or `millstream cluster reassign cancel` calls it off",
            output,
        )
    else:
        note(
            "nothing moves, and not all is as the file says: was it executed, or called off?",
            output,
        )
    sys.exit(FAILED)


@reassign.command()
@whom_to_ask
@_output
@yes_option
@dry_run_option
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True), required=False)  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="All moves that are under way.")
@_preserve
def cancel(
    file: str | None,
    *,
    asked: AskedNodes,
    output: str,
    yes: bool,
    dry_run: bool,
    everything: bool,
    preserve_throttles: bool,
) -> None:
    """Call moves off: those of FILE that are under way, or all. Partitions go on with the replicas that they had."""
    if (file is None) != everything:
        raise click.UsageError("give FILE, or --all")
    target = None if file is None else read_target(given_text(file), file)
    with _moves(asked) as moves:
        ongoing = moves.ongoing()
        wanted = [key for key in ongoing if target is None or key in target.replicas]
        if dry_run:
            moving = {} if target is None else moves.moving_directories(target)
            on_the_way = {*wanted, *(each.topic_partition for each in moving)}
            _print_called_off(on_the_way, output, "would be called off")
            return
        if wanted:
            confirm(f"Call off the moves of {some_of([str(key) for key in wanted])}", yes=yes)
        try:
            errors = moves.call_off(wanted)
            of_directories = {} if target is None else moves.call_off_directories(target)
            if not preserve_throttles:
                topics = {key.topic for key in (*wanted, *_keys(target))}
                _tell_limited(moves.take_throttles_away(topics), output)
        except KeyboardInterrupt:
            click.echo(
                "interrupted: moves may be called off or not, and throttles may stay; `millstream cluster reassign list` shows what "
                "moves still: run this again",
                err=True,
            )
            raise
    done = {*wanted, *of_directories} - errors.keys()
    if done or not errors:
        _print_called_off(done, output, "called off")
    finish(errors, output)


def _print_called_off(partitions: Iterable[TopicPartition], output: str, result: str) -> None:
    rows = [
        {"topic": key.topic, "partition": key.partition, "result": result}
        for key in sorted(partitions)
    ]
    print_rows(rows, output, ("topic", "partition", "result"))
    if not rows:
        note("nothing of it moves", output)


@reassign.command("list")
@whom_to_ask
@_output
def list_ongoing(*, asked: AskedNodes, output: str) -> None:
    """Show the partitions whose replicas are on their way."""
    with _moves(asked) as moves:
        ongoing = moves.ongoing()
    rows = [
        {
            "topic": key.topic,
            "partition": key.partition,
            "replicas": move.replicas,
            "adding": move.adding_replicas,
            "removing": move.removing_replicas,
        }
        for key, move in sorted(ongoing.items())
    ]
    print_rows(rows, output, _ONGOING_COLUMNS)
    if not rows:
        note("no partition moves", output)


def _moves(asked: AskedNodes) -> Moves:
    if asked.asks_controllers:
        raise click.UsageError("controllers do not describe topics: give --bootstrap-server")
    from millstream.cli.cluster.reassignment.moves import Moves

    return Moves(asked.admin())


def _tell_limited(silent: list[int], output: str) -> None:
    """What was called off is called off: a broker that is away must not make it look otherwise."""
    for broker in silent:
        note(
            f"broker {broker} does not answer, and keeps its throttle: run this again later", output
        )


def _keys(target: ReassignmentTarget | None) -> list[TopicPartition]:
    return [] if target is None else [*target.replicas]
