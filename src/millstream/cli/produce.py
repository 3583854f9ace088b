"""`millstream produce TOPIC`: lines of standard input or of files become records."""

from __future__ import annotations

import sys
from typing import IO

import click


@click.command()
@click.argument("topic")
@click.argument("files", nargs=-1, type=click.File("rb"))
@click.option(
    "--bootstrap-server",
    "-b",
    "bootstrap",
    default="localhost:9092",
    show_default=True,
    help="HOST:PORT[,...]",
)
@click.option(
    "--key-separator", "-K", metavar="TEXT", help="What stands before it in a line is the key."
)
@click.option("--partition", "-p", type=int, help="Default: by key, else sticky.")
@click.option("--compression", "-z", default="none", help="none, gzip, snappy, lz4 or zstd.")
def produce(
    topic: str,
    files: tuple[IO[bytes], ...],
    *,
    bootstrap: str,
    key_separator: str | None,
    partition: int | None,
    compression: str,
) -> None:
    """Write each line as a record to TOPIC. Ends when everything is acknowledged; prints the count on stderr."""
    from millstream.clients import blocking

    separator = None if key_separator is None else key_separator.encode()
    count = 0
    with blocking.Producer(bootstrap_servers=bootstrap, compression_type=compression) as producer:
        for source in files or (sys.stdin.buffer,):
            for line in source:
                key, value = _split(line.rstrip(b"\r\n"), separator)
                producer.send(topic, value, key=key, partition=partition)
                count += 1
        producer.flush()
    click.echo(f"{count} records written to {topic}", err=True)


def _split(line: bytes, separator: bytes | None) -> tuple[bytes | None, bytes]:
    if separator is None or separator not in line:
        return None, line
    key, _, value = line.partition(separator)
    return key, value
