"""Topologies of the rules in docs/seed-coverage/streams-rules.md are fed and read as text, so that a test reads like a table.

Inputs: `topic:value@ts` for key k, or `topic:key=value@ts`; `-` is null; `+5` moves the wall clock by 5 ms.
Outputs: `i:key=value@ts` after input i; a windowed key is `key@start/end`, as the window object has its end.
Unless a test says otherwise, what is expected was obtained from Kafka Streams 4.3.1.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from millstream.streams import KStream, KTable, StreamsBuilder, StreamsConfig, Topology, Windowed
from millstream.streams.serdes import Serde, string
from millstream.testing.streams.topology_test_driver import TopologyTestDriver


def ms(count: int) -> timedelta:
    return timedelta(milliseconds=count)


def shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, Windowed):
        return f"{value.key}@{value.start_ms}/{value.end_ms}"
    return str(value)


TEXT: Serde[Any] = Serde("text", lambda value: shown(value).encode(), bytes.decode)
NUMBER: Serde[int] = Serde("number", lambda value: str(value).encode(), int, immutable=True)


def pair(left: object, right: object) -> str:
    return f"{left}|{right}"


def before_dot(value: str) -> str | None:
    """What is in front of the first dot; None without one."""
    head, dot, _ = value.partition(".")
    return head if dot else None


def write(result: KStream[Any, Any] | KTable[Any, Any]) -> None:
    """To topic `out`, as text."""
    stream = result.to_stream() if isinstance(result, KTable) else result
    stream.to("out", key=TEXT, value=TEXT)


def driver_of(builder: StreamsBuilder | Topology, **settings: Any) -> TopologyTestDriver:
    topology = builder if isinstance(builder, Topology) else builder.build()
    defaults: dict[str, Any] = {"default_key": string(), "default_value": string()}
    return TopologyTestDriver(topology, StreamsConfig("app", **(defaults | settings)))


def pipe(driver: TopologyTestDriver, token: str) -> None:
    if token.startswith("+"):
        driver.advance_wall_clock(ms(int(token)))
        return
    topic, _, rest = token.partition(":")
    given, _, at = rest.rpartition("@")
    key, found, value = given.rpartition("=")
    key = key if found else "k"
    driver.input_topic(topic, key=TEXT, value=TEXT).pipe(
        None if key == "-" else key, None if value == "-" else value, at=int(at)
    )


def read(driver: TopologyTestDriver, topic: str = "out") -> list[str]:
    rows = driver.output_topic(topic, key=TEXT, value=TEXT).read()
    return [f"{shown(row.key)}={shown(row.value)}@{row.timestamp}" for row in rows]


def run(builder: StreamsBuilder | Topology, inputs: str, **settings: Any) -> str:
    """Everything that reaches topic `out`, in order."""
    found = []
    with driver_of(builder, **settings) as driver:
        for number, token in enumerate(inputs.split(), 1):
            pipe(driver, token)
            found += [f"{number}:{row}" for row in read(driver)]
    return " ".join(found)


def dropped(builder: StreamsBuilder | Topology, inputs: str, **settings: Any) -> int:
    """How many records are counted as dropped."""
    with driver_of(builder, **settings) as driver:
        for token in inputs.split():
            pipe(driver, token)
        return driver.dropped_records
