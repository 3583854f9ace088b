"""Every recorded case of Kafka Streams 4.3.1 against our DSL, topology, kernel and stores.

A case passes when description, outputs after every input, stores, dropped records, internal topics and errors
are equal. found.jsonl.gz has random cases that once differed, cached.jsonl.gz
cases with a record cache (large, or of so few bytes that every one counts) in which it changed what Kafka Streams did, headers.jsonl.gz cases
in which `dsl.store.format=HEADERS` did, names.jsonl.gz every overload with and without a name, a Materialized and a
store, whose numbers show in the descriptions; audit.jsonl.gz what is used least, each with all its options: cogrouped
streams in every kind of windows, the order of unmatched records, waiting for versioned tables, foreign keys with
partitioners, emission on close, punctuations that cancel themselves, splits, buffers; guarantee.jsonl.gz what
`processing.guarantee` may be, and that it changes nothing else. What is not built yet is listed, by area, in unsupported.txt; that list
may only become shorter.
"""

from __future__ import annotations

import sys
from functools import cache, partial
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from run_cases import load_cases, load_specs, spec_of
from streams.case_runner import CaseRunner

from millstream.streams import StreamsBuilder, TopologyBuilder
from millstream.streams.processor import ProcessorSupplier
from streams import case_runner

HERE = Path(__file__).parent
NOT_SUPPORTED = "not supported: "


@cache
def specs() -> dict[str, dict]:
    return load_specs([HERE])


@cache
def unsupported_areas() -> frozenset[str]:
    return frozenset((HERE / "unsupported.txt").read_text().splitlines())


def by_spec() -> dict[str, list[dict]]:
    cases: dict[str, list[dict]] = {}
    for case in load_cases(
        [
            HERE / f"{name}.jsonl.gz"
            for name in ("cases", "found", "cached", "headers", "names", "audit", "guarantee")
        ]
    ):
        spec = case["spec"]
        name = spec if isinstance(spec, str) else spec["name"].partition(" ")[0]
        cases.setdefault(name, []).append(case)
    return cases


CASES = by_spec()


def differences(case: dict) -> list[str]:
    found = CaseRunner(case, spec_of(case, specs())).differences()
    if len(found) == 1 and found[0].startswith(NOT_SUPPORTED):
        area = found[0].removeprefix(NOT_SUPPORTED)
        return [] if area in unsupported_areas() else [f"{area} is not listed in unsupported.txt"]
    return [f"{case['id']}: {line}" for line in found]


@pytest.mark.parametrize("spec", sorted(CASES))
def test_the_topology_does_what_kafka_streams_does(spec: str) -> None:
    assert [line for case in CASES[spec] for line in differences(case)] == []


def test_every_listed_area_is_really_missing() -> None:
    missing = set()
    for cases in CASES.values():
        found = CaseRunner(cases[0], spec_of(cases[0], specs())).differences()
        missing.update(
            line.removeprefix(NOT_SUPPORTED) for line in found if line.startswith(NOT_SUPPORTED)
        )
    assert unsupported_areas() == missing


class AroundEverything:
    """A wrapper whose processors do what the wrapped ones do."""

    def wrap_processor_supplier(self, _name: str, supplier: ProcessorSupplier) -> ProcessorSupplier:
        class Around:
            stores = getattr(supplier, "stores", ())

            def __init__(self) -> None:
                self.inner = supplier()
                self.init = getattr(self.inner, "init", lambda _context: None)
                self.process = self.inner.process

        return Around

    wrap_fixed_key_processor_supplier = wrap_processor_supplier


def test_behind_a_processor_wrapper_topologies_do_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every operator of the library as a processor, record by record; one case of each topology, caches included."""
    wrapping = partial(StreamsBuilder, processor_wrapper=AroundEverything())
    wrapping_nodes = partial(TopologyBuilder, processor_wrapper=AroundEverything())
    monkeypatch.setattr(case_runner, "StreamsBuilder", wrapping)
    monkeypatch.setattr(case_runner, "TopologyBuilder", wrapping_nodes)
    assert [line for cases in CASES.values() for line in differences(cases[0])] == []
