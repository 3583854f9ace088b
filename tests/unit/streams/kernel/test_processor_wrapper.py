"""Processor wrappers (KIP-1112): what is wrapped, and as which kind, is what 4.3.1 wraps."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from millstream.streams import (
    ContextualProcessor,
    Materialized,
    ProcessorContext,
    Record,
    SessionWindows,
    StreamsBuilder,
    StreamsConfig,
    TopologyBuilder,
)
from millstream.streams.errors import StreamsError
from millstream.streams.processor import Processor, ProcessorSupplier, TableChange
from millstream.streams.serdes import long, string
from millstream.streams.topology import StoreKind, StoreSpec
from millstream.testing import TestRecord, TopologyTestDriver

CONFIG = StreamsConfig("app", string(), string())


class Forwards(ContextualProcessor):
    def process(self, record: Record) -> None:
        self.context.forward(record)


class Traced:
    """A processor around another one."""

    def __init__(self, name: str, inner: Processor, trace: list[object]) -> None:
        self._name, self._inner, self._trace = name, inner, trace

    def init(self, context: ProcessorContext) -> None:
        self._trace.append(f"init {self._name}")
        self._inner.init(context)  # type: ignore[attr-defined]  # every processor of these tests has one

    def process(self, record: Record) -> None:
        self._trace.append((f"before {self._name}", record.value))
        self._inner.process(record)
        self._trace.append(f"after {self._name}")


class Tracer:
    """Wraps every processor; notes the names of both kinds."""

    def __init__(self) -> None:
        self.free: list[str] = []
        self.fixed: list[str] = []
        self.trace: list[object] = []

    def wrap_processor_supplier(self, name: str, supplier: ProcessorSupplier) -> ProcessorSupplier:
        self.free.append(name)
        return self._around(name, supplier)

    def wrap_fixed_key_processor_supplier(
        self, name: str, supplier: ProcessorSupplier
    ) -> ProcessorSupplier:
        self.fixed.append(name)
        return self._around(name, supplier)

    def _around(self, name: str, supplier: ProcessorSupplier) -> ProcessorSupplier:
        return lambda: Traced(name, supplier(), self.trace)


def test_every_processor_of_the_dsl_is_wrapped_as_its_kind() -> None:
    tracer = Tracer()
    builder = StreamsBuilder(processor_wrapper=tracer)
    stream = builder.stream("in")
    flat = stream.filter_not(lambda *_: False, name="filterNot").peek(print, name="peek")
    flat = flat.flat_map_values(lambda value: [value], name="flatMapValues")
    flat.flat_map(lambda key, value: [(key, value)], name="flatMap").print(name="print")
    table = builder.table("tab")
    table.filter(lambda *_: True, name="tfilter").to_stream(name="tostream")
    table.map_values(lambda value: value, name="tmv")
    grouped = stream.group_by_key()
    grouped.count(name="cnt", materialized=Materialized("c"))
    stream.process_values(Forwards, name="pv")
    sessions = SessionWindows.of(timedelta(milliseconds=5))
    grouped.windowed_by(sessions).count(name="sess", materialized=Materialized("se"))
    stream.split(name="sp").branch(lambda *_: True, name="x").default_branch()
    stream.repartition(name="rp")
    builder.global_table("global")
    builder.build()
    assert tracer.fixed == [
        "filterNot",
        "peek",
        "flatMapValues",
        "tostream",
        "pv",
        "rp-repartition-filter",
    ]
    assert tracer.free == [
        "flatMap",
        "print",
        "KTABLE-SOURCE-0000000008",
        "tfilter",
        "tmv",
        "cnt",
        "sess",
        "sp",
        "spx",
        "sp0",
    ]


def test_wrappers_stand_around_calls_of_each_other() -> None:
    tracer = Tracer()
    builder = StreamsBuilder(processor_wrapper=tracer)
    builder.stream("in").map_values(str.upper, name="upper").process(Forwards, name="own").to("out")
    with TopologyTestDriver(builder.build(), CONFIG) as driver:
        driver.input_topic("in").pipe("k", "v", at=3)
        assert driver.output_topic("out").read() == [TestRecord("k", "V", 3)]
    assert tracer.trace == [
        "init upper",
        "init own",
        ("before upper", "v"),
        ("before own", "V"),
        "after own",
        "after upper",
    ]


def test_tables_show_old_and_new_values() -> None:
    tracer = Tracer()
    builder = StreamsBuilder(processor_wrapper=tracer)
    table = builder.table("in", materialized=Materialized("rows"))
    table.group_by(lambda key, value: (value, key), name="grouped").count(name="cnt")
    with TopologyTestDriver(builder.build(), CONFIG) as driver:
        records = driver.input_topic("in")
        records.pipe("k", "a")
        records.pipe("k", "b")
    select = [
        each for each in tracer.trace if isinstance(each, tuple) and each[0] == "before grouped"
    ]
    assert [value for _, value in select] == [TableChange("a", None), TableChange("b", "a")]


def test_a_wrapper_may_drop_records_and_bring_stores() -> None:
    seen = StoreSpec("seen", StoreKind.KEY_VALUE, persistent=False, key=string(), value=long())

    class Deduplicating(ContextualProcessor):
        def __init__(self, inner: Processor) -> None:
            self._inner = inner

        def init(self, context: ProcessorContext) -> None:
            super().init(context)
            self._inner.init(context)  # type: ignore[attr-defined]  # the library's have one

        def process(self, record: Record) -> None:
            store = self.context.store("seen")
            if store.get(record.key) is None:
                store.put(record.key, 1)
                self._inner.process(record)

    class Supplier:
        stores = (seen,)

        def __init__(self, inner: ProcessorSupplier) -> None:
            self._inner = inner

        def __call__(self) -> Processor:
            return Deduplicating(self._inner())

    class Wrapper(Tracer):
        def _around(self, name: str, supplier: ProcessorSupplier) -> ProcessorSupplier:
            return Supplier(supplier) if name == "once" else supplier

    builder = StreamsBuilder(processor_wrapper=Wrapper())
    builder.stream("in").map_values(str.upper, name="once").to("out")
    topology = builder.build()
    assert "Processor: once (stores: [seen])" in topology.describe()
    with TopologyTestDriver(topology, CONFIG) as driver:
        driver.input_topic("in").pipe_key_values([("a", "x"), ("a", "y"), ("b", "z")])
        assert driver.output_topic("out").read_values() == ["X", "Z"]


def test_in_the_processor_api_those_that_fill_stores_from_topics_are_left_alone() -> None:
    tracer = Tracer()
    rows = StoreSpec("rows", StoreKind.KEY_VALUE, key=string(), value=string())
    shared = StoreSpec("shared", StoreKind.KEY_VALUE, key=string(), value=string())
    builder = TopologyBuilder(processor_wrapper=tracer)
    builder.add_source("s", "in").add_processor("p", Forwards, "s")
    _add_filling(builder.add_read_only_state_store, rows, "r")
    _add_filling(builder.add_global_store, shared, "g")
    assert (tracer.free, tracer.fixed) == (["p"], [])


def _add_filling(add: Callable[..., object], store: StoreSpec, name: str) -> None:
    add(store, f"{name}s", f"{name}t", f"{name}p", Forwards)


def test_a_wrapper_that_gives_no_supplier_is_refused_by_name() -> None:
    class Broken(Tracer):
        def _around(self, name: str, supplier: ProcessorSupplier) -> ProcessorSupplier:
            return None  # type: ignore[return-value]  # the mistake of the test

    builder = StreamsBuilder(processor_wrapper=Broken())
    builder.stream("in").filter(lambda *_: True, name="mine")
    with pytest.raises(StreamsError, match="the processor wrapper gave None for mine"):
        builder.build()


def test_a_library_processor_needs_the_context_it_was_given() -> None:
    class Other(Tracer):
        def _around(self, name: str, supplier: ProcessorSupplier) -> ProcessorSupplier:
            def make() -> Processor:
                processor = supplier()
                processor.init(object())  # type: ignore[attr-defined]  # the mistake of the test
                return processor

            return make

    builder = StreamsBuilder(processor_wrapper=Other())
    builder.stream("in").filter(lambda *_: True)
    with pytest.raises(StreamsError, match="pass on the one that init was called with"):
        TopologyTestDriver(builder.build(), CONFIG)
