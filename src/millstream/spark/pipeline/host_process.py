"""The process of a task host: `python -m millstream.spark.pipeline.host_process SOCKET PID`.

Serves the workers of one executor on a Unix socket, one process a core, if they show the secret that standard input
begins with. Ends with the executor's JVM, whose process id it is given, and on SIGTERM and SIGHUP; then open
transactions are aborted and stores closed. A lock beside the socket keeps it the only one.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import select
import shutil
import signal
import socket
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Final, TypeVar

from millstream.net.client.tasks import TaskGroup
from millstream.runtime.system import SystemClock
from millstream.spark.pipeline.claims import claim, may_stand_by
from millstream.spark.pipeline.driver_secret import (
    SECRET_BYTES,
    SECRET_TIMEOUT_S,
    is_of_this_user,
    is_same,
)
from millstream.spark.pipeline.executor import executor_of
from millstream.spark.pipeline.host import TaskHost
from millstream.spark.pipeline.messages import (
    Application,
    ApplicationWanted,
    AskStore,
    CloseTask,
    CloseTasks,
    Hello,
    KeepStandbys,
    RunTasks,
    Working,
)
from millstream.streams.runtime.process import LENGTH, decode, encode, loop_factory, prepare
from millstream.streams.runtime.steps import Observer, observe_nothing

WORKING_EVERY_S: Final = 5.0
"""A twelfth of WORKING_TIMEOUT_S, after which a worker takes its host for stuck: a busy machine is late by some."""
CLOSE_TIMEOUT_S: Final = 10.0
"""As containers are given between SIGTERM and SIGKILL (docker stop). What is left open the next owner fences."""
_CLOSE_IDLE_EVERY_S: Final = 60.0
"""A tenth of IDLE_MS."""
_CATCH_UP_STANDBYS_EVERY_S: Final = 1.0
"""A copy that lacks a second of records is as good as none that lacks any, and each look costs some requests."""
_LOOK_FOR_EXECUTOR_EVERY_S: Final = 1.0
"""Stores are locked so much longer than the executor lives."""
_LOGGER = logging.getLogger(__name__)
_Result = TypeVar("_Result")


class _Connection:
    """One worker's requests, one after another."""

    def __init__(
        self,
        host: TaskHost,
        secret: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._host = host
        self._secret = secret
        self._reader = reader
        self._writer = writer

    async def serve(self) -> None:
        """Until the secret is there nothing else is read, and nothing is unpickled."""
        try:
            if not await self._is_let_in():
                _LOGGER.warning("a connection without the secret of this host was closed")
                return
            while True:
                await self._answer(await self._receive())
        except (asyncio.IncompleteReadError, ConnectionError, TimeoutError):
            pass  # the worker has ended, or has what it wanted
        finally:
            self._writer.close()

    async def _is_let_in(self) -> bool:
        if not is_of_this_user(self._writer.get_extra_info("socket")):
            return False
        async with asyncio.timeout(SECRET_TIMEOUT_S):
            shown = await self._reader.readexactly(SECRET_BYTES)
        return is_same(self._secret, shown)

    async def _answer(self, message: object) -> None:
        match message:
            case Hello():
                await self._send(message)
            case RunTasks():
                await self._run(message)
            case AskStore():
                await self._send(await self._host.answer(message))
            case KeepStandbys():
                await self._require_application(message.application_digest)
                await self._send(self._host.keep_standbys(message))
            case CloseTask():
                await self._host.close_task(message.application_id, message.task_name)
                await self._send(message)
            case CloseTasks():
                await self._host.close_tasks(message.application_id)
                await self._send(message)
            case _:
                raise AssertionError(f"a host is not sent a {type(message).__name__}")

    async def _run(self, request: RunTasks) -> None:
        """Runs go on when their worker has gone: each is whole, and the next one finds what it has done."""
        await self._require_application(request.application_digest)
        await self._send(await self._while_working(self._host.run(request)))

    async def _while_working(self, work: Coroutine[object, object, _Result]) -> _Result:
        """Says that the host works until the work has ended."""
        async with TaskGroup() as tasks:
            running = tasks.create_task(work)
            with contextlib.suppress(ConnectionError):
                while not (await asyncio.wait((running,), timeout=WORKING_EVERY_S))[0]:
                    await self._send(Working())
        return running.result()

    async def _require_application(self, digest: str) -> None:
        """Asks for it where it is not known."""
        if not self._host.knows(digest):
            await self._send(ApplicationWanted())
            application = await self._receive()
            assert isinstance(application, Application), "it was asked for"
            sys.path += [each for each in application.path if each not in sys.path]
            await self._while_working(self._host.take(digest, application.pickled))

    async def _receive(self) -> object:
        (length,) = LENGTH.unpack(await self._reader.readexactly(LENGTH.size))
        return decode(await self._reader.readexactly(length))

    async def _send(self, message: object) -> None:
        self._writer.write(encode(message))
        await self._writer.drain()


async def serve(path: Path, executor_pid: int, secret: bytes, observe: Observer) -> None:
    """Serves until the executor has ended or a signal says so."""
    ending = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ending.set)
    host = TaskHost(
        SystemClock(),
        observe,
        executor_number=executor_of(executor_pid).number,
        claim=lambda directory, *task: claim(directory, path, secret, *task),
        may_stand_by=lambda directory, task_name: may_stand_by(directory, path, task_name),
    )
    server = await asyncio.start_unix_server(
        lambda reader, writer: _Connection(host, secret, reader, writer).serve(),
        sock=_listening(path),
    )
    async with TaskGroup() as tasks:
        chores = [
            tasks.create_task(_end_with(executor_pid, ending)),
            tasks.create_task(_close_idle(host)),
            tasks.create_task(_catch_up_standbys(host)),
        ]
        await ending.wait()
        for chore in chores:
            chore.cancel()
    server.close()
    with contextlib.suppress(TimeoutError):  # a user's function may not end
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await host.close()


def _listening(path: Path) -> socket.socket:
    """A socket that is at `path` only once it listens. What an earlier host left there is replaced."""
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(new))
    listening.listen()
    new.replace(path)
    return listening


def _remove_files(path: Path, executor_pid: int) -> None:
    """The last host of an executor removes their directory, too, with what hosts have left that were ended by force."""
    # The lock goes last: until then no other host begins here, whose socket would be the one that is removed.
    for suffix in (".socket", ".start", ".lock"):
        path.with_suffix(suffix).unlink(missing_ok=True)
    if not _is_alive(executor_pid) and not any(map(_is_held, path.parent.glob("*.lock"))):
        shutil.rmtree(path.parent, ignore_errors=True)
    with contextlib.suppress(OSError):  # another host has its files there
        path.parent.rmdir()


def _is_held(lock: Path) -> bool:
    with contextlib.suppress(FileNotFoundError), lock.open() as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _remove_what_the_killed_left(directory: Path) -> None:
    """Hosts that are ended by force leave their files, in a directory that is called after an executor that is gone."""
    for each in directory.iterdir():
        if each.name.isdecimal() and not _is_alive(int(each.name)):
            shutil.rmtree(each, ignore_errors=True)


async def _end_with(executor_pid: int, ending: asyncio.Event) -> None:
    """A process id may be given to another process, but not while this one has an open descriptor of it."""
    descriptor = None
    try:
        descriptor = os.pidfd_open(executor_pid)
        asyncio.get_running_loop().add_reader(descriptor, ending.set)
    except ProcessLookupError:
        ending.set()
    except (AttributeError, OSError):  # not on this system
        while _can_be_signalled(executor_pid):  # noqa: ASYNC110  # there is no event to wait for
            await asyncio.sleep(_LOOK_FOR_EXECUTOR_EVERY_S)
        ending.set()


def _is_alive(pid: int) -> bool:
    """A process that has ended is not alive, although its parent has not asked for its code yet."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    except (AttributeError, OSError):  # not on this system
        return _can_be_signalled(pid)
    try:
        return not select.select([descriptor], [], [], 0)[0]
    finally:
        os.close(descriptor)


def _can_be_signalled(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


async def _close_idle(host: TaskHost) -> None:
    while True:
        await asyncio.sleep(_CLOSE_IDLE_EVERY_S)
        await host.close_idle()


async def _catch_up_standbys(host: TaskHost) -> None:
    while True:
        if await host.catch_up_standbys() == 0:
            await asyncio.sleep(_CATCH_UP_STANDBYS_EVERY_S)


def main(arguments: list[str], observe: Observer = observe_nothing) -> None:
    """`observe` is told of the steps of all tasks."""
    path, executor_pid = Path(arguments[0]), int(arguments[1])
    secret = sys.stdin.buffer.read(SECRET_BYTES)
    if len(secret) < SECRET_BYTES:
        sys.exit(f"a task host reads its secret from standard input: {SECRET_BYTES} bytes")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's goes to the driver, which ends us
    with path.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return  # another one serves here
        _remove_what_the_killed_left(path.parent.parent)
        prepare()
        runner = asyncio.Runner(loop_factory=loop_factory())
        code = 1
        try:
            runner.run(serve(path, executor_pid, secret, observe))
            code = 0
        except Exception:
            _LOGGER.exception("the task host has failed")
        finally:
            _remove_files(path, executor_pid)
            logging.shutdown()
            os._exit(code)  # the thread of the kernel may be in a function that does not end


if __name__ == "__main__":
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    main(sys.argv[1:])
