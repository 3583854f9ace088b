"""`millstream dump`: what stands in the files of a log.

It reads files alone, of a stopped or a running node, ours or Kafka's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.command import ClientGroup
from millstream.cli.dump.output import output_choice, reporting

if TYPE_CHECKING:
    from millstream.cli.dump.decoders import Decoder
    from millstream.cli.dump.log_files import LogReading
    from millstream.cli.dump.output import Report
    from millstream.cli.dump.text import TextStyle
    from millstream.log.producers.snapshot import ProducerSnapshotEntry

_VERB_OF: Final = {
    ".log": "log",
    ".checkpoint": "metadata",
    ".index": "index",
    ".timeindex": "index",
    ".txnindex": "index",
    ".snapshot": "snapshot",
}
_IN_PROGRESS: Final = (".deleted", ".cleaned", ".swap")
_FILE = click.Path(exists=True, dir_okay=False)
_files = click.argument("files", nargs=-1, type=_FILE, metavar="FILE...", required=True)
_skip_metadata = click.option(
    "--skip-record-metadata", is_flag=True, help="Of records print keys and values alone."
)
_bytes_max = click.option(
    "--max-bytes", type=click.IntRange(min=1), help="Read no more than this of each file."
)


@click.group(cls=ClientGroup)
def dump() -> None:
    """Print what stands in the files of a log: batches and records, indexes, snapshots, metadata.

    Files are read as they are, of Millstream or Kafka. A damaged file is said on standard error with its
    position, and the exit code is 1.
    """


@dump.command("log")
@_files
@output_choice
@click.option("--records", "--print-data-log", "contents", is_flag=True, help="Print the records of each batch, with keys and values.")  # fmt: skip
@click.option("--deep-iteration", "records", is_flag=True, help="Print offsets, times, sizes and header keys of the records.")  # fmt: skip
@_skip_metadata
@_bytes_max
@click.option("--cluster-metadata-decoder", "decoder", flag_value="metadata", help="Decode records of __cluster_metadata.")  # fmt: skip
@click.option("--offsets-decoder", "decoder", flag_value="offsets", help="Decode records of __consumer_offsets.")  # fmt: skip
@click.option("--transaction-log-decoder", "decoder", flag_value="transactions", help="Decode records of __transaction_state.")  # fmt: skip
@click.option("--share-group-state-decoder", "decoder", flag_value="share", help="Decode records of __share_group_state.")  # fmt: skip
@click.option("--remote-log-metadata-decoder", "decoder", flag_value="remote", help="Decode records of __remote_log_metadata.")  # fmt: skip
def log_command(
    files: tuple[str, ...],
    *,
    output: str,
    contents: bool,
    records: bool,
    skip_record_metadata: bool,
    max_bytes: int | None,
    decoder: str | None,
) -> None:
    """Print the batches of log files, and their records where they are asked for."""
    from millstream.cli.dump.log_files import LogReading
    from millstream.cli.dump.text import TextStyle

    chosen = decoder or ("content" if contents else None)
    reading = LogReading(None if chosen is None else _decoder(chosen), records, max_bytes)
    _check_files(files, "log")
    style = TextStyle(with_metadata=not skip_record_metadata)
    with reporting(output) as report:
        for file in files:
            with report.going_on():
                _dump_batches(report, file, reading, style)


@dump.command()
@_files
@output_choice
@_skip_metadata
@_bytes_max
def metadata(
    files: tuple[str, ...], *, output: str, skip_record_metadata: bool, max_bytes: int | None
) -> None:
    """Print the records of the metadata log, and of its snapshots (.checkpoint), decoded."""
    from millstream.cli.dump.log_files import LogReading
    from millstream.cli.dump.text import TextStyle

    _check_files(files, "metadata", "log")
    reading = LogReading(_decoder("metadata"), with_records=True, bytes_max=max_bytes)
    style = TextStyle(with_metadata=not skip_record_metadata)
    with reporting(output) as report:
        for file in files:
            with report.going_on():
                _dump_batches(report, file, reading, style)


@dump.command()
@_files
@output_choice
def index(files: tuple[str, ...], *, output: str) -> None:
    """Print the entries of indexes (.index, .timeindex, .txnindex), and compare them with the log file beside them."""
    from millstream.cli.dump.index_report import report_index

    _check_files(files, "index")
    with reporting(output) as report:
        for file in files:
            with report.going_on():
                report_index(report, file)


@dump.command()
@_files
@output_choice
def snapshot(files: tuple[str, ...], *, output: str) -> None:
    """Print what snapshots of producers hold: sequences, epochs and open transactions."""
    from millstream.cli.dump.text import producer_line, producer_row
    from millstream.log.producers.snapshot import CorruptSnapshot, decode_producer_snapshot

    _check_files(files, "snapshot")
    with reporting(output) as report:
        for file in files:
            report.begin(file)
            entries: Sequence[ProducerSnapshotEntry] = ()
            with report.going_on():
                try:
                    entries = decode_producer_snapshot(Path(file).read_bytes())
                except CorruptSnapshot as error:
                    report.damage(f"{error}: a node replaces it from the log when it starts")
            for entry in entries:
                report.add_line(partial(producer_row, entry), partial(producer_line, entry))


def _dump_batches(report: Report, file: str, reading: LogReading, style: TextStyle) -> None:
    from millstream.cli.dump.log_files import DamagedBytes, read_log
    from millstream.cli.dump.text import batch_lines, batch_row, snapshot_head
    from millstream.log.segments.files import LOG_SUFFIX, offset_of
    from millstream.runtime.system import SystemFileSystem

    name = _plain_name(file)
    base_offset = offset_of(name, LOG_SUFFIX)
    head = snapshot_head(name) if base_offset is None else f"Log starting offset: {base_offset}"
    report.begin(file, *([] if head is None else [head]))
    opened = SystemFileSystem().open_read_only(file)
    try:
        for found in read_log(opened, reading):
            if isinstance(found, DamagedBytes):
                report.damage(found.reason, found.position)
            else:
                report.add(partial(batch_row, found), partial(batch_lines, found, style))
    finally:
        opened.close()


def _decoder(name: str) -> Decoder:
    from millstream.cli.dump import decoders

    known: dict[str, Decoder] = {
        "content": decoders.decode_content,
        "metadata": decoders.decode_metadata,
        "offsets": decoders.decode_offsets,
        "transactions": decoders.decode_transactions,
        "share": decoders.decode_share_state,
        "remote": decoders.decode_remote_log,
    }
    return known[name]


def _plain_name(file: str) -> str:
    """The name of the file, without what a cleaning or a deletion added to it."""
    name = Path(file).name
    for suffix in _IN_PROGRESS:
        name = name.removesuffix(suffix)
    return name


def _check_files(files: tuple[str, ...], *verbs: str) -> None:
    """Raises BadParameter for a file of another kind, with the verb that reads it."""
    for file in files:
        suffix = Path(_plain_name(file)).suffix
        verb = _VERB_OF.get(suffix)
        if verb in verbs:
            continue
        if verb is None:
            known = ", ".join(suffix for suffix, each in _VERB_OF.items() if each in verbs)
            raise click.BadParameter(f"{file} is no file of a log: its name must end with one of {known}")  # fmt: skip
        raise click.BadParameter(f"{file} is read by: millstream dump {verb} {file}")
