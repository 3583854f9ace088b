"""`millstream verify`: reads the logs of a stopped node, and says what is wrong with them. It changes none."""

from __future__ import annotations

import errno
import fcntl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.command import FAILED, ClientCommand
from millstream.cli.rows import Row, for_people, output_option, print_rows
from millstream.cli.terminal import printable
from millstream.errors import ConfigError
from millstream.quoting import counted

if TYPE_CHECKING:
    from millstream.cli.verify.expectations import DataDirectory
    from millstream.cli.verify.findings import Finding
    from millstream.cli.verify.partition import PartitionReport
    from millstream.runtime import File, FileSystem

_COLUMNS: Final = ("partition", "segments", "batches", "bytes", "end_offset", "result")


@click.command(cls=ClientCommand)
@click.argument(
    "directories", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False), metavar="DIRECTORY..."
)  # fmt: skip
@output_option
@click.option("--topic", "-t", "topics", multiple=True, help="Only partitions of this topic; may be repeated.")  # fmt: skip
def verify(directories: tuple[str, ...], *, output: str, topics: tuple[str, ...]) -> None:
    """Check the logs of a stopped node: every checksum, the order of offsets and epochs, indexes, snapshots
    of producers, checkpoints.

    DIRECTORY is a data directory (log.dirs), or that of one partition. Exit code 1: something is
    wrong, and it is said what to do.
    """
    from millstream.runtime.system import SystemFileSystem

    file_system = SystemFileSystem()
    rows: list[Row] = []
    found: list[Finding] = []
    for directory in directories:
        for partition, report in _reports(file_system, directory.rstrip("/"), topics):
            rows.append(_row(partition, report))
            found += report.findings
    _show_progress("")
    print_rows(rows, output, _COLUMNS)
    _print_findings(found, output)
    if any(not each.is_expected for each in found):
        sys.exit(FAILED)


def _reports(
    file_system: FileSystem, directory: str, topics: tuple[str, ...]
) -> Iterator[tuple[str, PartitionReport]]:
    """Yields the partitions of a directory; before them, under its own name, the data directory
    where its checkpoints are damaged.

    Raises ConfigError, OSError.
    """
    from millstream.cli.verify.expectations import (
        Expected,
        is_data_directory,
        read_data_directory,
        topic_of,
    )
    from millstream.cli.verify.partition import PartitionReport, verify_partition

    path = Path(directory)
    if not is_data_directory(file_system, directory):
        if not any(name.endswith(".log") for name in file_system.list(directory)):
            raise ConfigError(f"{directory} is no data directory and no directory of a partition: give one of log.dirs")  # fmt: skip
        with _kept_stopped(file_system, str(path.absolute().parent)):
            yield path.name, verify_partition(file_system, directory, Expected())
        return
    with _kept_stopped(file_system, directory):
        data = read_data_directory(file_system, directory)
        topic_by_name = {name: topic for name in file_system.list(directory) if (topic := topic_of(name))}  # fmt: skip
        wanted = [name for name, topic in sorted(topic_by_name.items()) if not topics or topic in topics]  # fmt: skip
        _check_topics(topics, set(topic_by_name.values()))
        _note_stop(directory, data)
        if data.findings:
            yield directory, PartitionReport(findings=data.findings)
        for number, name in enumerate(wanted, 1):
            _show_progress(f"{number} of {len(wanted)}: {name}")
            yield name, verify_partition(file_system, f"{directory}/{name}", data.expected(name))


@contextmanager
def _kept_stopped(file_system: FileSystem, directory: str) -> Iterator[None]:
    """Keeps nodes from starting on the files that are read. Raises ConfigError where one runs.

    Who may only read takes a shared lock, which keeps nodes out as well.
    """
    from millstream.log.directory.text_checkpoints import LOCK_FILE

    if not file_system.exists(f"{directory}/{LOCK_FILE}"):
        yield  # no node has ever used it, or it is a copy
        return
    try:
        lock = _lock(file_system, f"{directory}/{LOCK_FILE}")
    except BlockingIOError as error:
        raise ConfigError(f"a node is running with {directory}: stop it first, or look at one file with `millstream dump`") from error  # fmt: skip
    if lock is None:
        click.echo(f"note: {printable(directory)}: this user may not lock it: whether a node of another user runs with it is not known", err=True)  # fmt: skip
    try:
        yield
    finally:
        if lock is not None:
            lock.close()


def _lock(file_system: FileSystem, path: str) -> File | None:
    """None where the lock can be had in no way. Raises BlockingIOError where a node has it."""
    try:
        return file_system.lock(path)
    except PermissionError:
        pass
    except OSError as error:
        if error.errno != errno.EROFS:
            raise
    try:
        file = file_system.open_read_only(path)
    except OSError:
        return None
    try:
        # The two kinds that nodes take (`SystemFileSystem.lock`): ours takes both, Java the second. To share them a right to read is enough.
        fcntl.flock(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.lockf(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise
    except OSError:
        file.close()
        return None  # a disk of the network, which knows no locks
    return file


def _show_progress(text: str) -> None:
    """Overwrites one line on a terminal; a log gets nothing."""
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{printable(text)}", err=True, nl=False)


def _check_topics(topics: tuple[str, ...], known: set[str]) -> None:
    """Raises ConfigError for a topic of which nothing is here."""
    from millstream.cli.suggestions import or_near

    for topic in topics:
        if topic not in known:
            raise ConfigError(f"there is no partition of {topic} here{or_near(topic, known)}")


def _note_stop(directory: str, data: DataDirectory) -> None:
    if not data.was_clean:
        click.echo(f"note: {printable(directory)}: the node was not stopped in order: its next start reads again what lies beyond the recovery points", err=True)  # fmt: skip


def _row(partition: str, report: PartitionReport) -> Row:
    wrong = sum(not each.is_expected for each in report.findings)
    return {
        "partition": partition,
        "segments": report.segments,
        "batches": report.batches,
        "bytes": report.size_bytes,
        "end_offset": report.end_offset,
        "result": counted(wrong, "fault") if wrong else "ok",
        "findings": [_finding_row(each) for each in report.findings],
    }


def _finding_row(finding: Finding) -> Row:
    return {
        "file": finding.path,
        "position": finding.position,
        "reason": finding.reason,
        "remedy": finding.remedy.value,
        "is_expected": finding.is_expected,
    }


def _print_findings(found: list[Finding], output: str) -> None:
    """Programs find them in the rows."""
    if not for_people(output):
        return
    for finding in found:
        word = "note" if finding.is_expected else "error"
        click.echo(printable(f"{word}: {finding.sentence()}"), err=True)
    remedies = dict.fromkeys(each.remedy for each in found if not each.is_expected)
    for remedy in remedies:
        files = sum(each.remedy is remedy and not each.is_expected for each in found)
        click.echo(f"to do ({counted(files, 'fault')}): {remedy.value}", err=True)
