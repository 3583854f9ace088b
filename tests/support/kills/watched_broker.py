"""A broker that is started again whenever somebody kills it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millstream.testing.broker import Broker
from tests.support.kills.orders import stat_of


@contextmanager
def watched_broker(pid_file: Path) -> Iterator[Broker]:
    """`pid_file` always has its process id."""
    ending = threading.Event()
    with Broker(in_process=False) as broker:
        pid_file.write_text(str(broker.pid))

        def watch() -> None:
            while not ending.wait(0.05):  # how often it looks
                assert broker.pid is not None, "it was started"
                stat = stat_of(broker.pid)
                if stat is None or stat[0] == "Z":
                    broker.kill()
                    broker.restart()
                    pid_file.write_text(str(broker.pid))

        watching = threading.Thread(target=watch)
        watching.start()
        try:
            yield broker
        finally:
            ending.set()
            watching.join()
