"""Random cases of Kafka Streams against ours: over random topologies, the committed specifications, and these changed.

    MILLSTREAM_STREAMS_ORACLE=DIR python tests/oracle/run_random.py [--seed N] [--count N]

Chunks of cases go through processes of the Java oracle, while those that it has answered go through our test driver.
A case that differs is shrunk and written to `--differences DIR` as a case file for run_cases.py. A case depends only
on the seed and its number; exit 1 if any differed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from run_cases import OWN_DATA, load_specs, say
from streams.generator import mutated, random_inputs, random_spec
from streams.java_oracle import JavaOracle, OracleMissing
from streams.shrink import differences, shrink

TOPOLOGIES, COMMITTED, MUTATED = KINDS = ("topologies", "committed", "mutated")
CACHE_SETTING = "statestore.cache.max.bytes"
CACHE_BYTES = (1, 100, 150, 200, 250, 300, 400, 600, 1000, 4000, 10 << 20)
"""From one that holds nothing to one that is never full; some hold a row or two, so that every byte counts."""


def random_cases(
    seed: int, count: int, kinds: tuple[str, ...], *, cached: bool = False
) -> Iterator[dict]:
    """Cases without results; committed specifications take turns. Every case carries its specification.

    `cached`: each with a record cache of some size.
    """
    committed = [spec for spec in load_specs([OWN_DATA]).values() if _has_inputs(spec)]
    for number in range(count):
        kind = kinds[number % len(kinds)]
        rng = random.Random(f"{seed}/{kind}/{number}")
        if kind == TOPOLOGIES:
            spec = random_spec(f"random-{seed}-{number}", rng)
        else:
            spec = committed[number // len(kinds) % len(committed)]
            if kind == MUTATED:
                spec = mutated(spec, rng)
        if cached:
            size = random.Random(f"{seed}/cache/{number}").choice(CACHE_BYTES)
            spec = {**spec, "config": {**spec.get("config", {}), CACHE_SETTING: str(size)}}
        case = {"id": f"{spec['name']}/{seed}-{number}", "spec": spec}
        case["inputs"] = random_inputs(spec, rng)
        if rng.random() < 0.5:
            case["internal"] = True
        yield case


def _has_inputs(spec: dict) -> bool:
    return any("in" in topic for topic in spec["topics"].values())


class Comparison:
    """Goes through the cases in chunks, and keeps count."""

    def __init__(self, oracle: JavaOracle, directory: Path, *, shrinks: bool) -> None:
        self._oracle = oracle
        self._directory = directory
        self._shrinks = shrinks
        self.equal = 0
        self.failed_in_kafka = 0
        self.different: list[str] = []

    def run(self, answered: list[dict]) -> None:
        for case in answered:
            self.failed_in_kafka += "error" in case["expect"]
            found = differences(case)
            if not found:
                self.equal += 1
                continue
            self.different.append(case["id"])
            say(f"{case['id']}: {found[0]}")
            if self._shrinks and not found[0].startswith("not supported"):
                self._write(shrink(case, self._oracle.answer))

    def _write(self, case: dict) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        path = self._directory / f"{case['id'].partition('~')[0].replace('/', '-')}.jsonl"
        path.write_text(json.dumps(case, separators=(",", ":")) + "\n")
        for line in differences(case):
            say(f"    {line}")
        say(f"    {path}")


def answered_chunks(
    oracle: JavaOracle, chunks: list[list[dict]], processes: int
) -> Iterator[list[dict]]:
    """The chunks in their order; so many more are with the oracle while one is looked at."""
    waiting: deque[Future[list[dict]]] = deque()
    with ThreadPoolExecutor(processes) as pool:
        for chunk in chunks:
            waiting.append(pool.submit(oracle.answer, chunk))
            if len(waiting) > processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="default: one that nobody has seen")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--chunk", type=int, default=200, help="cases for one start of Java")
    parser.add_argument("--processes", type=int, default=2, help="of Java, at the same time")
    parser.add_argument("--only", choices=KINDS)
    parser.add_argument("--cached", action="store_true", help="every case has a record cache")
    parser.add_argument("--differences", type=Path, default=Path("out/streams-differences"))
    parser.add_argument("--no-shrink", action="store_true")
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(10**9)
    try:
        oracle = JavaOracle.from_environment()
    except OracleMissing as missing:
        say(str(missing))
        return 2
    sys.stdout.reconfigure(line_buffering=True)  # a log that can be followed
    say(f"seed {seed}")
    kinds = (arguments.only,) if arguments.only else KINDS
    comparison = Comparison(oracle, arguments.differences, shrinks=not arguments.no_shrink)
    cases = list(random_cases(seed, arguments.count, kinds, cached=arguments.cached))
    started = time.perf_counter()
    chunks = [
        cases[start : start + arguments.chunk] for start in range(0, len(cases), arguments.chunk)
    ]
    done = 0
    for chunk, answered in zip(
        chunks, answered_chunks(oracle, chunks, arguments.processes), strict=True
    ):
        comparison.run(answered)
        done += len(chunk)
        seconds = time.perf_counter() - started
        say(f"{done} of {len(cases)} cases, {len(comparison.different)} differ, {seconds:.0f} s")
    for case_id in oracle.refused:
        say(f"{case_id}: the oracle's language does not allow it")
    say(
        f"seed {seed}: {comparison.equal} equal ({comparison.failed_in_kafka} of all fail in Kafka Streams),"
        f" {len(comparison.different)} different, {len(oracle.refused)} refused"
    )
    return 1 if comparison.different else 0


if __name__ == "__main__":
    sys.exit(main())
