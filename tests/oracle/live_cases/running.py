"""Runs chosen cases in all their ways on one cluster, and counts what was run and what was left out for which reason."""

from __future__ import annotations

import random
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import streams.case_runner
import streams.spec_functions
import streams.spec_processors
import streams.spec_topology
from run_cases import OWN_DATA, load_cases, load_specs, say, spec_of

from live_cases import conversion, on_threads
from live_cases.cluster import Cluster
from live_cases.comparison import differences
from live_cases.conversion import LeftOut, LiveCase, Mode, Way, live_case, ways
from live_cases.live import Driver, LiveApplication

FILES: Final = ("cases", "found", "cached", "headers", "names", "audit", "guarantee")
BROKER_SETTINGS: Final = {
    "log.initial.task.delay.ms": "86400000",
    "log.cleaner.backoff.ms": "86400000",
    "auto.create.topics.enable": "false",
    **on_threads.SETTINGS,
}
"""Neither retention nor compaction: the records of cases are from 1970, and the first marker of a transaction closes their segment."""


class Counts:
    """How many cases were run in which way, and why others were not."""

    def __init__(self) -> None:
        self.cases = 0
        self.runs: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()
        """Cases that are not run at all."""
        self.other_ways: Counter[str] = Counter()
        """Ways in which cases are not run that are run in another."""
        self.different: list[str] = []
        self.restarts = self.crashes = 0

    def lines(self) -> Iterator[str]:
        for reason, count in sorted(self.left_out.items()):
            yield f"{count:6} cases left out: {reason}"
        for reason, count in sorted(self.other_ways.items()):
            yield f"{count:6} cases not run as {reason}"
        for kind, count in sorted(self.runs.items()):
            yield f"{count:6} run: {kind}"
        yield (
            f"{self.cases} cases, {self.runs.total()} runs with {self.restarts} restarts and {self.crashes} crashes, {len(self.different)} different"
        )
        yield from self.different


def all_cases() -> list[dict]:
    return load_cases([OWN_DATA / f"{name}.jsonl.gz" for name in FILES])


def chosen_cases(
    cases: Iterable[dict], seed: int, first: int, count: int | None, patterns: Sequence[str]
) -> list[dict]:
    """`count` of the cases that a pattern fits, from the `first` of the order that the seed decides; all in their own order without a count."""
    found = [
        case
        for case in cases
        if not patterns or any(fnmatchcase(case["id"], pattern) for pattern in patterns)
    ]
    if count is None:
        return found[first:]
    random.Random(seed).shuffle(found)
    return found[first : first + count]


def carry_functions() -> None:
    """Functions of specifications travel to other processes as they are: those do not know their modules."""
    import cloudpickle
    from pyspark import cloudpickle as of_spark

    modules: Iterable[Any] = (
        streams.spec_functions,
        streams.spec_processors,
        streams.spec_topology,
        streams.case_runner,
        conversion,
    )
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
        of_spark.register_pickle_by_value(module)


class Runner:
    """Cases one after another on one cluster, run by one driver."""

    def __init__(self, cluster: Cluster, driver: Driver, directory: Path, seed: int) -> None:
        self._cluster, self._driver, self._directory = cluster, driver, directory
        self._seed = seed
        self._specs = load_specs([OWN_DATA])
        self.counts = Counts()

    def run(self, case: dict, modes: Sequence[Mode]) -> None:
        self.counts.cases += 1
        for live, way in self.chosen(case, modes):
            self.run_way(live, way)

    def chosen(self, case: dict, modes: Sequence[Mode]) -> Iterator[tuple[LiveCase, Way]]:
        """The ways in which a case is run; why it is not run in others is counted."""
        try:
            live = live_case(case, spec_of(case, self._specs))
        except LeftOut as reason:
            self.counts.left_out[str(reason)] += 1
            return
        found = list(ways(live, self._seed, modes, reads_at_once=self._driver.reads_at_once))
        reasons = [str(way) for way in found if isinstance(way, LeftOut)]
        if len(reasons) == len(found):
            self.counts.left_out["; ".join(reasons)] += 1
            return
        self.counts.other_ways.update(reasons)
        yield from ((live, way) for way in found if isinstance(way, Way))

    def run_way(self, live: LiveCase, way: Way) -> None:
        self.counts.runs[kind_of(live, way)] += 1
        application = LiveApplication(live, way, self._cluster, self._driver, self._directory)
        try:
            found = differences(live, way, application.run())
        except Exception:  # noqa: BLE001  # told as the difference that it is
            found = [traceback.format_exc()]
        self.counts.restarts += application.found.restarts
        self.counts.crashes += application.found.crashes
        self._cluster.delete_all()
        if found:
            self.counts.different.append(str(application))
            say(f"{application}\n    " + "\n    ".join(found))


def kind_of(live: LiveCase, way: Way) -> str:
    kind = f"{way.mode}, one record at a time: {way.why_single}" if way.why_single else way.mode
    if way.mode is Mode.RECORDED and not live.reference.is_recorded:
        return f"{kind}, against our test driver"
    return kind
