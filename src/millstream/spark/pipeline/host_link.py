"""A Spark worker's way to the task hosts of its executor: finds one, starts it where it is not
there, ends it where it is stuck.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from millstream.runtime.system import SystemClock
from millstream.spark.pipeline.driver_secret import is_of_this_user, name_of, pid_of_peer
from millstream.spark.pipeline.executor import executor_pid
from millstream.spark.pipeline.messages import (
    Application,
    ApplicationWanted,
    AskStore,
    CloseTasks,
    Hello,
    KeepStandbys,
    Reply,
    RunTasks,
    StandbysKept,
    TaskFailed,
    Working,
)
from millstream.streams.runtime.process import LENGTH, decode, encode

HELLO_TIMEOUT_S: Final = 20.0
"""A host answers at once, unless code that holds the interpreter keeps its loop: longer than that it is stuck."""
WORKING_TIMEOUT_S: Final = 60.0
"""A host says every few seconds that it still works. One that has stopped saying it is ended."""
START_TIMEOUT_S: Final = 60.0
"""A host imports pyarrow, RocksDB and the kernel: seconds of processor time, and as many start at once as are cores."""
HOST_MODULE: Final = "millstream.spark.pipeline.host_process"
"""The module that is run as a task host."""


class HostUnreachable(Exception):
    """The host did not start, or has ended before it answered."""


class NoAnswerInTime(Exception):
    """The host has not answered a question in time; it may be busy."""


def run_tasks(
    request: RunTasks, application: Callable[[], bytes], number: int, secret: bytes
) -> tuple[Reply, ...]:
    """Has tasks run by the host of this number in this executor.

    Those of a host that ends meanwhile have failed, and may be repeated.
    """
    try:
        with _connected(number, secret) as host:
            answer = _answered(host, request, application)
    except HostUnreachable as error:
        text = f"{type(error).__name__}: {error}"
        tasks = (f"{run.sub_topology}_{run.partition}" for run in request.runs)
        return tuple(TaskFailed(task, text, is_retriable=True) for task in tasks)
    assert isinstance(answer, tuple), "a host answers with replies"
    return answer


def ask_host(path: Path, secret: bytes, message: AskStore | CloseTasks, timeout_s: float) -> object:
    """Asks the host of this socket, which may be another executor's. Starts and ends nothing.

    Raises HostUnreachable, and NoAnswerInTime: the task is in a run that takes longer.
    """
    try:
        host = _connection(path, secret)
    except OSError as error:
        raise HostUnreachable(f"there is no task host at {path}: {error}") from error
    with host:
        host.settimeout(timeout_s)
        try:
            host.sendall(encode(message))
            (length,) = LENGTH.unpack(_exactly(host, LENGTH.size))
            return decode(_exactly(host, length))
        except TimeoutError as error:
            raise NoAnswerInTime(f"no answer within {timeout_s:g} s") from error
        except OSError as error:
            raise HostUnreachable(f"the task host has ended: {error}") from error


def keep_standbys(
    request: KeepStandbys, application: Callable[[], bytes], number: int, secret: bytes
) -> StandbysKept:
    """Has the host of this number in this executor keep standbys. Raises HostUnreachable."""
    with _connected(number, secret) as host:
        answer = _answered(host, request, application)
    assert isinstance(answer, StandbysKept), "a host answers so"
    return answer


def close_tasks(application_id: str, hosts: int, secret: bytes) -> None:
    """Closes the tasks of an application in the hosts of this executor that are there.

    One that does not answer in time is left alone: it may be busy with tasks of another application of the driver.
    """
    for number in range(hosts):
        with contextlib.suppress(OSError, HostUnreachable, NoAnswerInTime):
            ask_host(socket_of(number, secret), secret, CloseTasks(application_id), HELLO_TIMEOUT_S)


@contextlib.contextmanager
def _connected(number: int, secret: bytes) -> Iterator[socket.socket]:
    """A connection to a host that answers. Raises HostUnreachable."""
    failure: Exception | None = None
    for _ in range(2):
        # A host that ends takes its files along, and the directory if it was the last one there: between any two of
        # these lines. Then all of it is made anew, once.
        path = socket_of(number, secret)
        try:
            host = _there_or_started(path, secret)
        except OSError as error:
            failure = error
            continue
        try:
            _ask(host, Hello(), HELLO_TIMEOUT_S)
        except HostUnreachable as error:
            host.close()
            failure = error
            continue
        with host:
            yield host
        return
    raise HostUnreachable(f"task host {number} does not answer: {failure}") from failure


def _there_or_started(path: Path, secret: bytes) -> socket.socket:
    try:
        return _connection(path, secret)
    except OSError:
        _start(path, secret)
        return _connection(path, secret)


def _connection(path: Path, secret: bytes) -> socket.socket:
    """A connection that has shown the secret, to a host of this user. Raises OSError, HostUnreachable."""
    connection = socket.socket(socket.AF_UNIX)
    with contextlib.ExitStack() as unless_it_is_trusted:
        unless_it_is_trusted.enter_context(connection)
        connection.connect(str(path))
        if not is_of_this_user(connection):
            raise HostUnreachable(f"another user listens at {path}: remove it")
        connection.sendall(secret)
        unless_it_is_trusted.pop_all()
    return connection


def _answered(
    host: socket.socket, request: RunTasks | KeepStandbys, application: Callable[[], bytes]
) -> object:
    """Asks, brings the application where the host does not know it, and waits for as long as it works."""
    answer = _ask(host, request, WORKING_TIMEOUT_S)
    if isinstance(answer, ApplicationWanted):
        answer = _ask(host, Application(application(), tuple(sys.path)), WORKING_TIMEOUT_S)
    while isinstance(answer, Working):
        answer = _receive(host, WORKING_TIMEOUT_S)
    return answer


def _ask(host: socket.socket, message: object, timeout_s: float) -> object:
    try:
        host.settimeout(timeout_s)
        host.sendall(encode(message))
    except OSError as error:
        raise HostUnreachable(f"the task host has ended: {error}") from error
    return _receive(host, timeout_s)


def _receive(host: socket.socket, timeout_s: float) -> object:
    """Ends the host where it says nothing: it is stuck or stopped, and holds stores that the next one needs."""
    host.settimeout(timeout_s)
    try:
        (length,) = LENGTH.unpack(_exactly(host, LENGTH.size))
        return decode(_exactly(host, length))
    except TimeoutError as error:
        pid = pid_of_peer(host)
        _end(pid)
        raise HostUnreachable(
            f"the task host, process {pid}, did not answer for {timeout_s:g} s and was ended"
        ) from error
    except OSError as error:
        raise HostUnreachable(f"the task host has ended: {error}") from error


def _exactly(host: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = host.recv(size - len(data))
        if not part:
            raise HostUnreachable("the task host has ended")
        data += part
    return bytes(data)


def _end(pid: int) -> None:
    """Kills a process, and waits until it has ended: until then its socket takes connections."""
    with contextlib.suppress(ProcessLookupError):
        try:
            descriptor = os.pidfd_open(pid)
        except AttributeError:  # not on this system
            os.kill(pid, signal.SIGKILL)
            return
        try:
            os.kill(pid, signal.SIGKILL)
            select.select([descriptor], [], [], HELLO_TIMEOUT_S)
        finally:
            os.close(descriptor)


def _start(path: Path, secret: bytes) -> None:
    """Starts the host of this socket, unless another worker is doing so. Returns when it can be connected to."""
    with path.with_suffix(".start").open("w") as starting:
        fcntl.flock(starting, fcntl.LOCK_EX)
        with contextlib.suppress(OSError):
            _connection(path, secret).close()
            return  # another worker was first
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        process = subprocess.Popen(  # noqa: S603  # our own module
            [sys.executable, "-m", HOST_MODULE, str(path), str(executor_pid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env=environment,
            close_fds=True,
        )  # fmt: skip
        assert process.stdin is not None, "it was asked for"
        with (
            contextlib.suppress(BrokenPipeError),
            process.stdin as pipe,
        ):  # of one that has ended its code is told
            pipe.write(secret)
        _wait_for(path, secret, process)


def _wait_for(path: Path, secret: bytes, process: subprocess.Popen[bytes]) -> None:
    clock = SystemClock()
    deadline_ms = clock.now().monotonic_ms + int(START_TIMEOUT_S * 1000)
    while clock.now().monotonic_ms < deadline_ms:
        with contextlib.suppress(OSError):
            _connection(path, secret).close()
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = process.wait(0.02)
            raise HostUnreachable(
                f"the task host ended with code {code} at its start; its error is in the executor's log"
            )
    process.kill()
    raise HostUnreachable(f"the task host did not start within {START_TIMEOUT_S:g} s")


def socket_of(number: int, secret: bytes) -> Path:
    """Returns the path of a host's socket: in a directory of this user and executor, which nobody else may enter.

    Raises HostUnreachable where somebody else may, or has put something else in its place.
    """
    directory = Path(tempfile.gettempdir(), f"millstream-{os.getuid()}")
    with contextlib.suppress(FileExistsError):
        directory.mkdir(mode=0o700)
    # Not of what a link points to: another user may have made it to a directory of ours, in which hosts would then remove files.
    known = directory.lstat()
    if not stat.S_ISDIR(known.st_mode) or known.st_uid != os.getuid() or known.st_mode & 0o077:
        raise HostUnreachable(
            f"others may enter {directory}: remove it, or give it to this user alone (chmod 700)"
        )
    directory /= str(executor_pid())
    directory.mkdir(exist_ok=True)
    return directory / f"host-{number}-{name_of(secret)}.socket"
