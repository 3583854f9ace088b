"""Starts instances that are killed, by forks of a process that has imported everything: `python -m ... MODULE`.

A line of its input has where the log of an instance is, and the arguments of its `main`, which is that of the module. Lines of its output say which process was started, and which one
has ended with which code.
"""

from __future__ import annotations

import importlib
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable

import orjson

_READ_BYTES = 65_536


def main() -> None:
    """Until its input ends; then, and whatever fails, nothing that it has started goes on."""
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes)
    running: set[int] = set()
    instance: Callable[..., None] = importlib.import_module(sys.argv[1]).main
    try:
        _serve(instance, woken, running)
    finally:
        for pid in running:
            os.kill(pid, signal.SIGKILL)


def _serve(instance: Callable[..., None], woken: int, running: set[int]) -> None:
    rest = b""
    while True:
        readable, _, _ = select.select([sys.stdin, woken], [], [])
        if woken in readable:
            os.read(woken, _READ_BYTES)
            running -= _told_ends()
        if sys.stdin in readable:
            data = os.read(sys.stdin.fileno(), _READ_BYTES)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                running.add(_started(instance, *orjson.loads(line)))


def _told_ends() -> set[int]:
    """Returns the processes that have ended."""
    told: set[int] = set()
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return told
        if not pid:
            return told
        _say("ended", pid, os.waitstatus_to_exitcode(status))
        told.add(pid)


def _started(instance: Callable[..., None], log: str, *arguments: str) -> int:
    pid = os.fork()
    if pid:
        _say("started", pid)
        return pid
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        written, nothing = (
            os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT),
            os.open(os.devnull, os.O_RDONLY),
        )
        for given, standard in ((nothing, 0), (written, 1), (written, 2)):
            os.dup2(given, standard)
        instance(*arguments)
        code = 0
    except BaseException:  # noqa: BLE001  # it must not go on as the process that it was forked from
        traceback.print_exc()
    finally:
        os._exit(code)


def _say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
