"""`millstream server`: starts a node in this process. SIGTERM and Ctrl-C are a clean shutdown.

Standard output has one line, printed when the node answers; everything else goes to standard error.
Exit code 0 after a clean shutdown, 1 when the node could not start or run, 2 when it was told something it cannot understand.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import click

from millstream.broker.config import BrokerConfig, broker_config, parse_override, with_client_port
from millstream.broker.node_process import NodeProcess, ReadyReport
from millstream.broker.properties import parse_properties
from millstream.errors import ConfigError, MillstreamError
from millstream.net.event_loop import event_loop_factory
from millstream.runtime.system import SystemClock, SystemFileSystem, SystemRandom

_EPHEMERAL_PREFIX = "millstream-"
_FLUSH_WORDS = {
    "auto": "acks=all waits for fsync where a partition has one replica",
    "always": "every acknowledged write waits for fsync",
    "never": "writes are never waited for: a power failure loses the newest",
}


@click.command(short_help="Start a node.")
@click.argument("config", type=click.Path(exists=True, dir_okay=False), required=False)
@click.option("--port", type=click.IntRange(0, 65535), help="Port for clients; 0: any free one.")
@click.option("--data", type=click.Path(file_okay=False), help="Directory of all logs.")
@click.option("--ephemeral", is_flag=True, help="Keep nothing: temporary data, never synced.")
@click.option(
    "--cluster-id",
    envvar="CLUSTER_ID",
    help="Id of a new cluster, or the one that an existing data directory must have.",
)
@click.option(
    "--override",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting that wins over CONFIG; may be repeated.",
)
@click.option("--until-end-of-input", is_flag=True, hidden=True)
def server(
    config: str | None,
    *,
    port: int | None,
    data: str | None,
    ephemeral: bool,
    cluster_id: str | None,
    overrides: tuple[str, ...],
    until_end_of_input: bool,
) -> None:
    """Start a node: a broker and its controller, with all logs in one directory.

    CONFIG is a server.properties as Kafka has it. An empty data directory is formatted. The line
    "millstream ready bootstrap=HOST:PORT ..." says that the node answers.
    """
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    with _data_directory(data, ephemeral=ephemeral) as directory:
        try:
            settings = _settings(config, port, overrides)
            if directory is not None:
                settings["log.dirs"] = directory
            if ephemeral:
                settings.setdefault("millstream.flush.on.ack", "never")
            node_config = broker_config(settings)
        except ConfigError as error:
            _fail(error, code=2)
        try:
            with asyncio.Runner(loop_factory=event_loop_factory()) as runner:
                runner.run(_serve(node_config, cluster_id, until_end_of_input=until_end_of_input))
        except (MillstreamError, OSError) as error:
            _fail(error, code=1)


async def _serve(config: BrokerConfig, cluster_id: str | None, *, until_end_of_input: bool) -> None:
    process = NodeProcess(config, SystemClock(), SystemRandom(), SystemFileSystem())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, process.request_stop)
    if until_end_of_input:
        loop.add_reader(sys.stdin, process.request_stop)
    _show_banner(config)
    await process.run(_announce, cluster_id)


def _announce(report: ReadyReport) -> None:
    click.echo(f"{report.line} pid={os.getpid()}")


def _show_banner(config: BrokerConfig) -> None:
    listeners = ", ".join(
        f"{each.name}://{each.host}:{each.port or '(a free port)'}" for each in config.listeners
    )
    click.echo(
        f"Millstream node {config.node_id}\n"
        f"  listeners   {listeners}\n"
        f"  data        {config.data_directory}\n"
        f"  durability  {config.millstream_flush_on_ack}: {_FLUSH_WORDS[config.millstream_flush_on_ack]}\n"
        "  security    none: every client may do everything; keep it on a private network",
        err=True,
    )


def _settings(config: str | None, port: int | None, overrides: tuple[str, ...]) -> dict[str, str]:
    """The file's settings, then what the command line says."""
    settings = parse_properties(Path(config).read_text()) if config else {}
    settings.update(parse_override(text) for text in overrides)
    return settings if port is None else with_client_port(settings, port)


@contextlib.contextmanager
def _data_directory(data: str | None, *, ephemeral: bool) -> Iterator[str | None]:
    if data is None and ephemeral:
        with tempfile.TemporaryDirectory(prefix=_EPHEMERAL_PREFIX) as temporary:
            yield temporary
    else:
        yield data


def _fail(error: BaseException, code: int) -> NoReturn:
    click.echo(f"millstream server: {error}", err=True)
    sys.exit(code)
