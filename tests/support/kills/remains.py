"""What an application has left behind: processes, files of its task hosts, and files that somebody still has open."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tests.support.kills.orders import session_of, words_of


def remains(session: int, directory: Path) -> list[str]:
    """What holds something: processes, and files that somebody has open. `directory` has the stores."""
    processes = [f"process {pid}: {' '.join(words_of(pid))[:200]}" for pid in session_of(session)]
    return [*processes, *held_below(directory)]


def files_of_hosts(temporary: Path) -> list[str]:
    """The files of task hosts; what Spark leaves there is Spark's own.

    A host that is killed leaves its files to the next one of this machine.
    """
    return [str(each) for each in temporary.glob("millstream-*/*/**/*")]


def held_below(directory: Path) -> Iterator[str]:
    """A store's lock is an open file; one that is not open locks nothing."""
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            target = os.readlink(descriptor)
        except OSError:
            continue  # the process has ended, or is not ours
        if Path(target).is_relative_to(directory):
            yield f"process {descriptor.parts[2]} has {target} open"
