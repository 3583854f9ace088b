"""The topologies of topologies.py that quixstreams has, with the same arguments; for the interpreter of build/peers.

Runs one instance until its standard input ends. Counts lie in RocksDB and in a changelog, as ours do; every update goes out.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

from quixstreams import Application, State
from quixstreams.dataframe import StreamingDataFrame
from quixstreams.models import Topic


def pass_through(stream: StreamingDataFrame) -> StreamingDataFrame:
    return stream


def map_values(stream: StreamingDataFrame) -> StreamingDataFrame:
    return stream.apply(lambda value: value.upper())


def count(stream: StreamingDataFrame) -> StreamingDataFrame:
    def counted(_value: object, state: State) -> int:
        total: int = state.get("count", 0) + 1
        state.set("count", total)
        return total

    return stream.apply(counted, stateful=True)


def window_count(stream: StreamingDataFrame) -> StreamingDataFrame:
    windows = stream.tumbling_window(timedelta(seconds=10)).count().current()
    return windows.apply(lambda window: window["value"])


TOPOLOGIES: Final[Mapping[str, Callable[[StreamingDataFrame], StreamingDataFrame]]] = {
    "pass_through": pass_through,
    "map_values": map_values,
    "count": count,
    "window_count": window_count,
}
READ_AS: Final = {"pass_through": "bytes", "map_values": "str"}
WRITTEN_AS: Final = {"pass_through": "bytes", "map_values": "str"}


def topic(application: Application, name: str, value: str) -> Topic:
    serde: Any = value  # its literal types have no name
    return application.topic(name, key_serializer="bytes", key_deserializer="bytes", value_serializer=serde, value_deserializer=serde)  # fmt: skip


def main(topology: str, source: str, out: str, *given: str) -> None:
    settings = dict(each.split("=", 1) for each in given)
    application = Application(
        broker_address=settings["bootstrap.servers"],
        consumer_group=settings["application.id"],
        auto_offset_reset="earliest",
        commit_interval=int(settings["commit.interval.ms"]) / 1_000,
        state_dir=settings["state.dir"],
        loglevel="WARNING",
    )
    stream = application.dataframe(topic(application, source, READ_AS.get(topology, "bytes")))
    written = topic(application, out, WRITTEN_AS.get(topology, "int"))
    TOPOLOGIES[topology](stream).to_topic(written)

    def end_with_input() -> None:
        sys.stdin.read()
        application.stop()
        threading.Timer(10, os._exit, (0,)).start()

    threading.Thread(target=end_with_input, daemon=True).start()
    application.run()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
