"""Ends verbs that talk to a cluster: with one line on standard error, and an exit code for scripts.

0 done, 1 failed, 2 used wrongly, 3 not found, 4 not allowed or not let in, 5 no answer in time, 130 interrupted, 143
terminated. A reader that went away (`| head`) is no failure. What is not a failure on purpose keeps its traceback: it
is a bug.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Final, NoReturn, Protocol

import click

from millstream.cli.arguments import refuse_bytes
from millstream.cli.suggestions import SuggestingGroup
from millstream.cli.terminal import coloured_word, printable
from millstream.errors import ConfigError, KafkaError, MillstreamError

FAILED: Final = 1
USAGE: Final = 2
NOT_FOUND: Final = 3
NOT_AUTHORIZED: Final = 4
TIMED_OUT: Final = 5
INTERRUPTED: Final = 130
TERMINATED: Final = 143
_LEAVE_MS: Final = 1_000
"""A person who pressed Ctrl-C waits no longer for a cluster that does not answer. A group is left, and
records are written, much sooner."""
_AT_ONCE_S: Final = 0.15
"""Nielsen's tenth of a second, and what it takes to leave a group that answers."""
_OF_WRITING: Final = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT})

_CLIENTS: Final = "millstream.clients"

_NOT_FOUND: Final = frozenset(
    {
        "DELEGATION_TOKEN_NOT_FOUND",
        "GROUP_ID_NOT_FOUND",
        "RESOURCE_NOT_FOUND",
        "TRANSACTIONAL_ID_NOT_FOUND",
        "UNKNOWN_TOPIC_ID",
        "UNKNOWN_TOPIC_OR_PARTITION",
    }
)
_NOT_LET_IN: Final = frozenset({"ILLEGAL_SASL_STATE", "UNSUPPORTED_SASL_MECHANISM", "WRONG_LISTENER"})  # fmt: skip
_TIMED_OUT: Final = frozenset({"BROKER_NOT_AVAILABLE", "NETWORK_EXCEPTION", "REQUEST_TIMED_OUT"})
_OF_REGISTRIES: Final = {
    "SubjectNotFound": NOT_FOUND,
    "VersionNotFound": NOT_FOUND,
    "SchemaNotFound": NOT_FOUND,
    "RegistryAccessDenied": NOT_AUTHORIZED,
    "SchemaRegistryUnavailable": TIMED_OUT,
}
"""Errors of a schema registry, by name: other verbs do not import them."""
_NEXT: Final = {
    "DELEGATION_TOKEN_AUTH_DISABLED": "its nodes need delegation.token.secret.key",
    "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED": "name a listener that asks for a login, and log in with a user's own password",
    "SECURITY_DISABLED": "its nodes have no access rules without authorizer.class.name",
}
"""What to do where a broker's words do not say it. Clients leave that to those who call them."""


class TerminationRequested(KeyboardInterrupt):
    """SIGTERM has come. It ends a verb as Ctrl-C does."""


class Leavable(Protocol):
    """A client that can be closed within a time."""

    def close(self, *, timeout_ms: int) -> None: ...


@contextmanager
def leaving_soon(client: Leavable) -> Iterator[None]:
    """Closes an interrupted client within a second: by itself it would wait for a cluster that does not
    answer as long as it may.
    """
    try:
        yield
    except KeyboardInterrupt:
        leave(client)
        raise


def leave(client: Leavable) -> None:
    """Closes a client within a second.

    What could not be done in it is told, and so is that it takes longer than a person takes for at once.
    """
    notice = threading.Timer(_AT_ONCE_S, click.echo, ("ending, within a second; Ctrl-C again ends at once",), {"err": True})  # fmt: skip
    notice.start()
    try:
        client.close(timeout_ms=_LEAVE_MS)
    except MillstreamError as error:
        click.echo(f"warning: {printable(' '.join(str(error).split()))}", err=True)
    finally:
        notice.cancel()


@contextmanager
def _termination_as_interruption() -> Iterator[None]:
    """Has SIGTERM raise TerminationRequested, so that what a verb does at Ctrl-C is done, too."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(_number: int, _frame: FrameType | None) -> NoReturn:
    raise TerminationRequested


class ClientCommand(click.Command):
    """A command that writes its failures, and what the clients log meanwhile, in one line each to standard error."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        refuse_bytes(ctx)
        return rest

    def invoke(self, ctx: click.Context) -> Any:  # Any: click's own signature
        try:
            with client_log_on_terminal(), _termination_as_interruption():
                return super().invoke(ctx)
        except TerminationRequested:
            ctx.exit(TERMINATED)
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)
        except click.Abort as abort:
            cause = abort.__context__  # at a question click makes the one of the other
            if isinstance(cause, KeyboardInterrupt):
                ctx.exit(TERMINATED if isinstance(cause, TerminationRequested) else INTERRUPTED)
            raise
        except BrokenPipeError:
            _forget_standard_output()
        except (MillstreamError, OSError) as error:
            fail(error, as_json=ctx.params.get("output") in {"json", "jsonl"})


class ClientGroup(SuggestingGroup):
    """Verbs of a noun, as `topics create`; each is a ClientCommand."""

    command_class = ClientCommand


def fail(error: Exception, *, as_json: bool = False) -> NoReturn:
    """Write the error to standard error and exit with its code."""
    report_error(error, as_json=as_json)
    sys.exit(exit_code(error))


def report_error(error: Exception, *, as_json: bool = False) -> None:
    """Prints one line: a sentence, or a JSON object with the error's name."""
    name = error.name if isinstance(error, KafkaError) else type(error).__name__
    sentence = printable(" ".join(_sentence(error).split())) or name
    told = f"{coloured_word('error:', 'red')} {sentence}"
    if as_json:
        told = json.dumps({"error": name, "message": sentence})
    with suppress(OSError):  # the exit code tells it still
        click.echo(told, err=True)


def _sentence(error: Exception) -> str:
    """An error of the operating system without its number: the file and the reason say it all."""
    if isinstance(error, KafkaError) and error.name in _NEXT:
        return f"{str(error).rstrip('.')}; {_NEXT[error.name]}"
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    if error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    return f"{'cannot write: ' if error.errno in _OF_WRITING else ''}{error.strerror}"


def exit_code(error: Exception) -> int:
    if isinstance(error, ConfigError):
        return USAGE
    if not isinstance(error, KafkaError):
        return _OF_REGISTRIES.get(type(error).__name__, FAILED)
    if error.name in _NOT_FOUND:
        return NOT_FOUND
    if error.name in _TIMED_OUT:
        return TIMED_OUT
    if error.name in _NOT_LET_IN or error.name.endswith(
        ("AUTHORIZATION_FAILED", "AUTHENTICATION_FAILED")
    ):
        return NOT_AUTHORIZED
    return FAILED


def _forget_standard_output() -> None:
    """Its reader is gone; the interpreter must not complain about that when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def client_log_on_terminal() -> Iterator[None]:
    """Write what the clients log as `warning: ...`, and as `note: ...` for less, where
    Python would print warnings only.
    """
    logger = logging.getLogger(_CLIENTS)
    handler, level = _TerminalHandler(logging.INFO), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)


class _TerminalHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        is_warning = record.levelno >= logging.WARNING
        word = coloured_word("warning:", "yellow") if is_warning else "note:"
        click.echo(f"{word} {printable(record.getMessage())}", err=True)
