"""Runs cases one after another on one cluster, compares each with the judge, and counts what differs."""

from __future__ import annotations

import random
import shutil
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Final, Protocol

from live_cases.cluster import Cluster, Written
from run_cases import say

from alignment.case import APPLICATION, SLICE_MS, Case, is_internal
from alignment.comparison import (
    compared_topics,
    differences_by_record,
    differences_of_invariant,
    invariant,
)
from alignment.judge import Candidate, Order, TooLarge, Verdict, judge

ORDERS: Final = 4
"""Of arrival, besides that of the rule."""
SHOWN_MAX: Final = 4
_NUMBERS = count()


class Running(Protocol):
    """One case by one runner. `run` works through its input and leaves the topics."""

    def run(self) -> None: ...


class Runner(Protocol):
    """One of the ways to run cases."""

    def running(
        self, case: Case, chance: str, cluster: Cluster, application_id: str, directory: Path
    ) -> tuple[str, Running]:
        """The case's application, and how it is run. `chance` decides what is left open."""

    def all_ways(self) -> Sequence[Runner]:
        """One runner for each way in which the case of orders is run."""


class Counts:
    def __init__(self) -> None:
        self.runs: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()
        self.different: list[str] = []
        self.records = self.dropped = 0

    def lines(self) -> Iterator[str]:
        for reason, number in sorted(self.left_out.items()):
            yield f"{number:6} cases left out: {reason}"
        for way, number in sorted(self.runs.items()):
            yield f"{number:6} run: {way}"
        yield (
            f"{self.runs.total()} cases with {self.records} records, {self.dropped} dropped by the judge, {len(self.different)} different"
        )
        yield from self.different


class Comparison:
    """Cases on one cluster by one runner."""

    def __init__(self, cluster: Cluster, runner: Runner, directory: Path) -> None:
        self._cluster, self._runner, self._directory = cluster, runner, directory
        self.counts = Counts()
        self.found: dict[tuple[str, int], list[Written]] = {}
        """What the last case has left in each partition of the topics that are compared."""

    def run(self, case: Case, chance: str) -> list[str]:
        """The differences, which are counted and said, too."""
        try:
            verdict = judge(case)
            others = [judge(case, order) for order in _orders(case, chance)]
        except TooLarge:
            self.counts.left_out["too many records"] += 1
            return []
        application_id = f"{APPLICATION}-{next(_NUMBERS)}"
        directory = self._directory / application_id
        way, running = self._runner.running(case, chance, self._cluster, application_id, directory)
        kind = "a backlog" if len(case.portions) == 1 else "live"
        self.counts.runs[f"{kind}, {way}"] += 1
        self.counts.records += len(case.inputs)
        self.counts.dropped += sum(verdict.dropped.values())
        self.found = {}
        try:
            self.found = self._found(case, running, application_id)
            internal = self._internal_counts(case, application_id)
            if not internal.items() <= case.counts.items():
                case = replace(case, internal=internal)
                verdict, others = (
                    judge(case),
                    [judge(case, order) for order in _orders(case, chance)],
                )
            lines = list(_differences(case, [verdict, *others], self.found))
        except Exception:  # noqa: BLE001  # told as the difference that it is
            lines = [traceback.format_exc()]
        self._cluster.delete_all()
        shutil.rmtree(directory, ignore_errors=True)
        if lines:
            told = f"case {case.id} ({kind}, {way})"
            self.counts.different.append(told)
            say(f"{told}: {len(lines)} differences\n    " + "\n    ".join(lines[:SHOWN_MAX]))
        return lines

    def _found(
        self, case: Case, running: Running, application_id: str
    ) -> dict[tuple[str, int], list[Written]]:
        self._cluster.create(case.partitions)
        running.run()
        names = {_real(topic, application_id): topic for topic in compared_topics(case)}
        found: dict[tuple[str, int], list[Written]] = {}
        for _, record in self._cluster.written(names):
            topic = names[record.topic]
            found.setdefault((topic, record.partition), []).append(record._replace(topic=topic))
        return found

    def _internal_counts(self, case: Case, application_id: str) -> dict[str, int]:
        """The partitions of repartition topics as they are."""
        admin, names = self._cluster.admin, [name for name in case.counts if is_internal(name)]
        real = [_real(name, application_id) for name in names]
        described = self._cluster.run(admin.describe_topics(real))
        return {
            name: len(described.result(topic).partitions)
            for name, topic in zip(names, real, strict=True)
        }


def _differences(
    case: Case, verdicts: list[Verdict], found: dict[tuple[str, int], list[Written]]
) -> Iterator[str]:
    if len(case.portions) == 1:
        return differences_by_record(case, verdicts[0], found)
    return differences_of_invariant(invariant(case, verdicts), found)


def _real(topic: str, application_id: str) -> str:
    prefix = f"{APPLICATION}-"
    return f"{application_id}-{topic.removeprefix(prefix)}" if topic.startswith(prefix) else topic


def _orders(case: Case, chance: str) -> Iterator[Order]:
    """Orders in which records may come that are put portion by portion."""
    if len(case.portions) == 1:
        return
    for number in range(ORDERS):
        yield _arrival(f"{chance}/{number}")


def _arrival(seed: str) -> Order:
    """Slice by slice, and in each one upstream task after another."""

    def ordered(candidates: list[Candidate]) -> list[Candidate]:
        rng = random.Random(seed)
        upstreams = sorted({(each.topic, each.upstream) for each in candidates})
        ranks = {upstream: rng.random() for upstream in upstreams}
        return sorted(
            candidates,
            key=lambda each: (each.origin // SLICE_MS, ranks[each.topic, each.upstream], each.at),
        )

    return ordered
