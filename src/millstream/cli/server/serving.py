"""Runs a node in this process, from its settings to its exit code. Signals are its clean shutdown.

The first SIGTERM, SIGINT or SIGHUP is logged by name and begins the shutdown, the second ends it at
once. A node of `millstream cluster` says on standard output when its broker has stopped, and keeps
its controller until the end of input.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn

import click

from millstream import __version__
from millstream.broker.config.broker_config import BrokerConfig, broker_config, with_client_port
from millstream.broker.node.long_lived_objects import LongLivedObjects
from millstream.broker.node.process import NodeProcess, ReadyReport
from millstream.cli.private_files import private_files
from millstream.cli.server.child_process import BROKER_STOPPED, wake_at_parent_death
from millstream.cli.server.log_output import write_log
from millstream.cli.server.settings import check_stays_secure, proves_clients, read_settings
from millstream.errors import ConfigError, MillstreamError
from millstream.net.network import event_loop_factory
from millstream.runtime.native import interpreted_note
from millstream.runtime.system import SystemClock, SystemFileSystem, SystemRandom

if TYPE_CHECKING:
    from millstream.cli.secure.secure_node import SecureNode

_LOGGER = logging.getLogger(__name__)
_EPHEMERAL_PREFIX: Final = "millstream-"
_EPHEMERAL_SETTINGS: Final = {
    "millstream.flush.on.ack": "never",
    "group.initial.rebalance.delay.ms": "0",
}
"""For trying things out: nothing is kept, and a group's first member starts at once instead of after 3 s."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_FLUSH_WORDS: Final = {
    "auto": "acks=all waits for fsync where a partition has one replica",
    "always": "every acknowledged write waits for fsync",
    "never": "writes are never waited for: a power failure loses the newest",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """The command line of `millstream server`."""

    config: str | None
    port: int | None
    data: str | None
    ephemeral: bool
    secure: bool
    cluster_id: str | None
    overrides: tuple[str, ...]
    log_format: str
    until_end_of_input: bool
    controller_until_end_of_input: bool
    """For `millstream cluster`: signals stop the broker only, and say so; the end of input stops the rest."""


def serve(options: ServerOptions) -> None:
    """Serves until the node ends.

    Exits with 1 when it could not start or run, with 2 when its settings cannot be understood.
    """
    _raise_descriptor_limit()
    with _data_directory(options) as directory:
        try:
            config, secure = _node_config(options, directory)
        except (ConfigError, OSError) as error:
            _fail(error, code=2)
        try:
            with (
                private_files(are_wanted=bool(config.protection.logins)),
                asyncio.Runner(loop_factory=event_loop_factory()) as runner,
            ):
                if secure is not None:
                    secure.begin(options.cluster_id)
                runner.run(_run_node(config, options, secure))
        except (MillstreamError, OSError) as error:
            _fail(error, code=1)
        except Exception as error:
            _LOGGER.critical("the node failed", exc_info=True)
            _fail(error, code=1)


def _raise_descriptor_limit() -> None:
    """Has as many files and connections as the system allows this process, as the JVM by itself:
    shells give 1,024 of them at first.
    """
    _, allowed = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):  # some systems say more than they let have
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, allowed))


def _node_config(
    options: ServerOptions, directory: str | None
) -> tuple[BrokerConfig, SecureNode | None]:
    """Logging is set up on the way, so that warnings of settings are written like everything else."""
    gathered = read_settings(options.config, options.overrides)
    settings = gathered.values
    if directory is not None:
        settings["log.dirs"] = directory
    secure = None
    if options.secure:
        from millstream.cli.secure.secure_node import SecureNode

        secure = SecureNode(gathered, settings, options.port)
        settings = dict(secure.settings)
    elif options.port is not None:
        settings = with_client_port(settings, options.port)
    if options.ephemeral:  # after `secure`, whose file keeps what it was given
        settings = {**_EPHEMERAL_SETTINGS, **settings}
    node_id = settings.get("node.id", settings.get("broker.id", "1"))
    write_log(options.log_format, int(node_id) if node_id.isdecimal() else -1, os.environ)
    if gathered.not_understood:
        _LOGGER.warning(
            "variables of the environment that are no setting: %s",
            ", ".join(gathered.not_understood),
        )
    config = broker_config(settings)
    if secure is None:
        check_stays_secure(config)
    return config, secure


async def _run_node(
    config: BrokerConfig, options: ServerOptions, secure: SecureNode | None
) -> None:
    process = NodeProcess(config, SystemClock(), SystemRandom(), SystemFileSystem())
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, _on_signal, process, options, number)
    if options.until_end_of_input or options.controller_until_end_of_input:
        wake_at_parent_death()
        loop.add_reader(sys.stdin, process.request_stop)
    _LOGGER.info("starting Millstream %s", __version__)
    with LongLivedObjects() as objects, _broker_stop_told(process, options):

        def announce(report: ReadyReport) -> None:
            objects.freeze_all()
            _announce(report, config, "" if secure is None else secure.ready_at(report.bootstrap))

        await process.run(announce, options.cluster_id)
    _LOGGER.info("shut down completed")


def _on_signal(process: NodeProcess, options: ServerOptions, number: signal.Signals) -> None:
    _LOGGER.info("%s: shutting down", number.name)
    if options.controller_until_end_of_input and not process.is_stopping:
        process.request_broker_stop()
    else:
        process.request_stop()


@contextlib.contextmanager
def _broker_stop_told(process: NodeProcess, options: ServerOptions) -> Iterator[None]:
    """Within it the end of the broker is said on standard output, if its controller goes on then."""

    async def tell() -> None:
        await process.broker_stopped.wait()
        click.echo(BROKER_STOPPED)

    if not options.controller_until_end_of_input:
        yield
        return
    telling = asyncio.get_running_loop().create_task(tell())
    try:
        yield
    finally:
        telling.cancel()


def _security_words(config: BrokerConfig) -> str:
    own = [each.name for each in (*config.listeners, *config.controller_listeners)]
    proven = [name for name in own if proves_clients(config, name)]
    encrypted = [name for name in own if name in config.protection.tls]
    may = (
        "access rules decide" if config.authorizer_class_name else "every client may do everything"
    )
    if not proven and not encrypted:
        return f"no logins: {may}; keep it on a private network"
    words = [
        may,
        f"who a client is must be proven at {', '.join(proven)}"
        if proven
        else "no client proves who it is",
        f"encrypted: {', '.join(encrypted)}" if encrypted else "nothing is encrypted",
    ]
    open_to_all = [name for name in own if name not in proven]
    if open_to_all and proven:
        words.append(f"everybody is served at {', '.join(open_to_all)}")
    if len(encrypted) < len(own) or open_to_all:
        words.append("keep it on a private network")
    return "; ".join(words)


def _announce(report: ReadyReport, config: BrokerConfig, login: str) -> None:
    note = interpreted_note()
    speed = "" if note is None else f"\n  speed       {note}"
    click.echo(
        f"Millstream {__version__}, node {report.node_id} of cluster {report.cluster_id}\n"
        f"  bootstrap   {report.bootstrap}\n"
        f"  listeners   {report.listeners}\n"
        f"  data        {report.data_directory}\n"
        f"  durability  {config.millstream_flush_on_ack}: {_FLUSH_WORDS[config.millstream_flush_on_ack]}\n"
        f"  security    {_security_words(config)}"
        f"{login}{speed}",
        err=True,
    )
    _LOGGER.info("started")
    click.echo(f"{report.line} pid={os.getpid()}")


@contextlib.contextmanager
def _data_directory(options: ServerOptions) -> Iterator[str | None]:
    if options.data is None and options.ephemeral:
        with tempfile.TemporaryDirectory(prefix=_EPHEMERAL_PREFIX) as temporary:
            yield temporary
    else:
        yield options.data


def _fail(error: BaseException, code: int) -> NoReturn:
    sentence = str(error)
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        of_file = f" for {error.filename}" if error.filename else ""
        sentence = f"no space left on the disk of the data directory{of_file}; free some space"
    click.echo(f"millstream server: {sentence}", err=True)
    sys.exit(code)
