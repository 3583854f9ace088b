"""Encode and decode against kio and kafka-python, in one run: `python -m benchmarks.codec [--json FILE] [--rounds N]`.

Every codec reads the same bytes and writes what it has read; the three take turns (A B C A B C) so that a noisy
machine hurts all alike; the median of the rounds counts. Ratios are the peer's time divided by ours: above 1 we are
faster.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import kafka.protocol.consumer
import kafka.protocol.metadata
import kafka.protocol.producer
from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer

from benchmarks.codec_messages import WORKLOADS, Workload
from millstream.protocol.api import request_class, response_class

ROUND_SECONDS = 0.02
Action = Callable[[], object]


class Codec(NamedTuple):
    """One codec at one message: two functions without arguments."""

    name: str
    decode: Action
    encode: Action


class Result(NamedTuple):
    """Microseconds per message, by codec name."""

    title: str
    action: str
    microseconds: dict[str, float]

    def ratio(self, peer: str) -> float:
        return self.microseconds[peer] / self.microseconds["millstream"]


def millstream_codec(workload: Workload, raw: bytes) -> Codec:
    kind = (request_class if workload.is_request else response_class)(workload.key)
    view = memoryview(raw)
    message, _ = kind.decode(view, 0, workload.version)

    def encode() -> bytearray:
        out = bytearray()
        message.encode(out, workload.version)
        return out

    return Codec("millstream", lambda: kind.decode(view, 0, workload.version), encode)


def kio_codec(workload: Workload, raw: bytes) -> Codec:
    load = load_request_schema if workload.is_request else load_response_schema
    kind = load(int(workload.key), workload.version)
    read, write = entity_reader(kind), entity_writer(kind)
    message, _ = read(raw, 0)

    class Sink(bytearray):
        """What kio's writers need of a stream."""

        def write(self, data: bytes) -> None:
            self += data

    def encode() -> bytearray:
        out = Sink()
        write(out, message)
        return out

    return Codec("kio", lambda: read(raw, 0), encode)


def kafka_python_codec(workload: Workload, raw: bytes) -> Codec:
    name = workload.key.name.title() + ("Request" if workload.is_request else "Response")
    modules = (kafka.protocol.consumer, kafka.protocol.metadata, kafka.protocol.producer)
    kind = next(getattr(module, name) for module in modules if hasattr(module, name))
    message = kind.decode(raw, version=workload.version)
    message._header = None  # its decoder leaves this unset, its encoder asks for it
    return Codec(
        "kafka-python",
        lambda: kind.decode(raw, version=workload.version),
        lambda: message.encode(version=workload.version),
    )


def calls_per_round(action: Action) -> int:
    """So many calls that a round takes about ROUND_SECONDS."""
    started = time.perf_counter()
    action()
    action()
    return max(1, int(ROUND_SECONDS / ((time.perf_counter() - started) / 2)))


def microseconds(action: Action, calls: int) -> float:
    started = time.process_time()
    for _ in range(calls):
        action()
    return (time.process_time() - started) / calls * 1e6


def compare(title: str, action: str, contestants: dict[str, Action], rounds: int) -> Result:
    calls = {name: calls_per_round(run) for name, run in contestants.items()}
    samples: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, run in contestants.items():
            samples[name].append(microseconds(run, calls[name]))
    return Result(
        title, action, {name: statistics.median(found) for name, found in samples.items()}
    )


def measure(workload: Workload, rounds: int) -> list[Result]:
    out = bytearray()
    workload.build().encode(out, workload.version)
    raw = bytes(out)
    codecs = [make(workload, raw) for make in (millstream_codec, kio_codec, kafka_python_codec)]
    for codec in codecs:
        assert bytes(codec.encode()) == raw, f"{codec.name} writes {workload.title} differently"
    title = f"{workload.title}, v{workload.version}"
    return [
        compare(title, "encode", {codec.name: codec.encode for codec in codecs}, rounds),
        compare(title, "decode", {codec.name: codec.decode for codec in codecs}, rounds),
    ]


def table(results: list[Result]) -> str:
    head = f"{'message':<40} {'':<7} {'millstream':>11} {'kio':>11} {'kafka-python':>13}   kio/ours  kafka-python/ours"
    rows = [
        f"{result.title:<40} {result.action:<7} {result.microseconds['millstream']:>8.1f} µs "
        f"{result.microseconds['kio']:>8.1f} µs {result.microseconds['kafka-python']:>10.1f} µs "
        f"{result.ratio('kio'):>10.2f} {result.ratio('kafka-python'):>18.2f}"
        for result in results
    ]
    return "\n".join([head, *rows])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    options = parser.parse_args(arguments)
    results = [result for workload in WORKLOADS for result in measure(workload, options.rounds)]
    print(table(results))
    if options.json:
        options.json.write_text(
            json.dumps([result._asdict() for result in results], indent=2) + "\n"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
