"""Builds a topology with our DSL from a specification of the oracle: one op is one method call."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from streams.spec_functions import Unsupported
from streams.spec_processors import StepSupplier, Transformer

from millstream.streams import (
    CogroupedKStream,
    EmitStrategy,
    GlobalKTable,
    JoinWindows,
    KGroupedTable,
    KStream,
    KTable,
    Materialized,
    OffsetReset,
    SessionWindowedCogroupedKStream,
    SessionWindows,
    SlidingWindows,
    StoreSupplier,
    StoreType,
    StreamJoined,
    StreamsBuilder,
    Suppressed,
    TimeWindowedCogroupedKStream,
    TimeWindows,
    UnlimitedWindows,
)
from millstream.streams import serdes as all_serdes
from millstream.streams.topology import (
    StoreKind,
    StoreSpec,
    TopologyBuilder,
)
from streams import spec_functions as fn

COGROUPED = (CogroupedKStream, TimeWindowedCogroupedKStream, SessionWindowedCogroupedKStream)


def serde(name: str | None):
    if name is None:
        return None
    head, *parts = name.split(":")
    simple = {
        "string": all_serdes.string,
        "long": all_serdes.long,
        "integer": all_serdes.integer,
        "bytes": all_serdes.bytes_,
    }
    if head in simple:
        return simple[head]()
    if head == "time_windowed":
        return all_serdes.time_windowed(serde(parts[0]), int(parts[1]))
    return all_serdes.session_windowed(serde(parts[0]))


def ms(count: int) -> timedelta:
    return timedelta(milliseconds=count)


def given(options: dict, **readers: Callable) -> dict:
    """Keyword arguments for the fields that are there; a field that nobody reads is not supported."""
    unread = set(options) - set(readers)
    if unread:
        raise Unsupported(f"option {min(unread)}")
    return {name: readers[name](value) for name, value in options.items()}


def as_is(value):
    return value


def consumed(op: dict) -> dict:
    return given(
        op.get("consumed", {}),
        key=serde,
        value=serde,
        timestamps=fn.timestamps,
        reset=OffsetReset,
        name=as_is,
    )


def materialized(op: dict) -> Materialized | None:
    options = op.get("materialized")
    if options is None:
        return None
    return Materialized(
        **given(
            options,
            store=as_is,
            key=serde,
            value=serde,
            type=StoreType,
            caching=as_is,
            logging=as_is,
            retention=ms,
            supplier=store_supplier,
        )
    )


def store_supplier(options: dict) -> StoreSupplier:
    plain = options["kind"] in {"key_value", "window"} and not options.get("duplicates")
    # `segment` says how Kafka Streams cuts its files; ours are not cut.
    left_out = {"kind", "impl", "segment"}
    renamed = {"duplicates": "retain_duplicates", "max": "entries_max"}
    fields = {name: value for name, value in options.items() if name not in left_out}
    return StoreSupplier(
        type=StoreType.ROCKSDB if options.get("impl") == "persistent" else StoreType.IN_MEMORY,
        timestamped=not (plain and options.get("impl") == "persistent"),
        **given(
            {renamed.get(n, n): v for n, v in fields.items()},
            name=as_is,
            retention=ms,
            window_size=ms,
            retain_duplicates=as_is,
            history=ms,
            entries_max=as_is,
        ),
    )


def windows(options: dict):
    kind = options["type"]
    grace = ms(options.get("grace", 0))
    if kind == "tumbling":
        return TimeWindows.tumbling(ms(options["size"]), grace=grace)
    if kind == "hopping":
        return TimeWindows.hopping(ms(options["size"]), ms(options["advance"]), grace=grace)
    if kind == "unlimited":
        return UnlimitedWindows(options.get("start", 0))
    if kind == "sliding":
        return SlidingWindows.of(ms(options["diff"]), grace=grace)
    return SessionWindows.of(ms(options["gap"]), grace=grace)


def store_spec(options: dict) -> StoreSpec:
    kind = options["kind"]
    kinds = {
        "key_value": StoreKind.KEY_VALUE,
        "timestamped_key_value": StoreKind.TIMESTAMPED_KEY_VALUE,
        "versioned": StoreKind.VERSIONED,
        "window": StoreKind.WINDOW,
        "session": StoreKind.SESSION,
    }
    if kind not in kinds:
        raise Unsupported(f"store {options.get('impl')} {kind}")
    logging = options.get("logging", True)
    return StoreSpec(
        options["name"],
        kinds[kind],
        persistent=options.get("impl") not in {"in_memory", "lru"},
        entries_max=options.get("max"),
        key=serde(options.get("key")),
        value=serde(options.get("value")),
        caching=options.get("caching", False),
        logging=logging is not False,
        log_config=logging if isinstance(logging, dict) else {},
        retention_ms=options.get("retention", options.get("history")),
        window_size_ms=options.get("window_size"),
        retain_duplicates=options.get("duplicates", False),
    )


def supplier(options: dict):
    return StepSupplier(options, [store_spec(each) for each in options.get("provides", ())])


class SpecTopology:
    """Runs the ops of one specification against a StreamsBuilder."""

    def __init__(self, builder: StreamsBuilder, trace: Callable[[str, object, object], None]):
        self._builder = builder
        self._trace = trace
        self._results: dict[str, object] = {}
        self.branches: dict[str, list[str]] = {}

    def run(self, ops: list[dict]) -> None:
        for op in ops:
            result = self._apply(op)
            if "id" in op:
                self._results[op["id"]] = result

    def _apply(self, op: dict):
        kind = op["op"]
        method = getattr(self, f"_{kind}", None)
        if method is None:
            raise Unsupported(f"op {kind}")
        if "from" in op:
            return method(op, self._results[op["from"]])
        return method(op)

    # Sources.

    def _stream(self, op: dict):
        if "pattern" in op:
            return self._builder.stream(pattern=op["pattern"], **consumed(op))
        return self._builder.stream(op.get("topics") or op["topic"], **consumed(op))

    def _table(self, op: dict):
        return self._builder.table(op["topic"], materialized=materialized(op), **consumed(op))

    def _global_table(self, op: dict):
        return self._builder.global_table(
            op["topic"], materialized=materialized(op), **consumed(op)
        )

    def _add_state_store(self, op: dict):
        self._builder.add_state_store(store_spec(op["store"]))

    def _add_global_store(self, op: dict):
        self._builder.add_global_store(
            store_spec(op["store"]), op["topic"], supplier(op["processor"]), **consumed(op)
        )

    def _process(self, op: dict, stream: KStream):
        given = supplier(op["processor"])
        return stream.process(given, stores=op.get("stores", ()), name=op.get("name"))

    def _process_values(self, op: dict, stream: KStream):
        given = supplier(op["processor"])
        return stream.process_values(given, stores=op.get("stores", ()), name=op.get("name"))

    # Streams and tables.

    def _filter(self, op: dict, source):
        return source.filter(fn.predicate(op["fn"]), **self._table_options(op, source))

    def _filter_not(self, op: dict, source):
        return source.filter_not(fn.predicate(op["fn"]), **self._table_options(op, source))

    def _map_values(self, op: dict, source):
        with_key = op.get("with_key", False)
        mapper = (fn.keyed_value_mapper if with_key else fn.value_mapper)(op["fn"])
        options = self._table_options(op, source)
        return source.map_values(mapper, with_key=with_key, **options)

    def _table_options(self, op: dict, source) -> dict:
        options = {"name": op.get("name")}
        if isinstance(source, KTable):
            options["materialized"] = materialized(op)
        return options

    def _to_stream(self, op: dict, table: KTable):
        mapper = fn.key_selector(op["fn"]) if "fn" in op else None
        return table.to_stream(mapper, name=op.get("name"))

    def _transform_values(self, op: dict, table: KTable):
        options = self._table_options(op, table)
        transformer = op["transformer"]
        return table.transform_values(
            lambda: Transformer(transformer), stores=op.get("stores", ()), **options
        )

    def _suppress(self, op: dict, table: KTable):
        options = op["suppressed"]
        buffer = options["buffer"]
        shared = {
            "max_records": buffer.get("max_records"),
            "max_bytes": buffer.get("max_bytes"),
            "logging": buffer.get("logging", True),
            "name": options.get("name"),
        }
        if options["until"] == "window_closes":
            return table.suppress(Suppressed.until_window_closes(**shared))
        early = buffer.get("on_full", "emit_early") == "emit_early"
        limit = ms(options["ms"])
        return table.suppress(Suppressed.until_time_limit(limit, emit_early=early, **shared))

    def _select_key(self, op: dict, stream: KStream):
        return stream.select_key(fn.key_selector(op["fn"]), name=op.get("name"))

    def _map(self, op: dict, stream: KStream):
        key, value = fn.key_selector(op["key_fn"]), fn.value_mapper(op["value_fn"])
        return stream.map(lambda k, v: (key(k, v), value(v)), name=op.get("name"))

    def _flat_map(self, op: dict, stream: KStream):
        parts = [
            (
                fn.predicate(each.get("if", "true")),
                fn.key_selector(each["key_fn"]),
                fn.value_mapper(each["value_fn"]),
            )
            for each in op["each"]
        ]

        def mapper(k, v):
            return [(key(k, v), value(v)) for when, key, value in parts if when(k, v)]

        return stream.flat_map(mapper, name=op.get("name"))

    def _flat_map_values(self, op: dict, stream: KStream):
        with_key = op.get("with_key", False)
        mapper = (fn.keyed_flat_mapper if with_key else fn.flat_mapper)(op["fn"])
        return stream.flat_map_values(mapper, with_key=with_key, name=op.get("name"))

    def _peek(self, op: dict, stream: KStream):
        return stream.peek(lambda k, v: self._trace(op["id"], k, v), name=op.get("name"))

    def _foreach(self, op: dict, stream: KStream):
        stream.foreach(lambda k, v: self._trace(op["id"], k, v), name=op.get("name"))

    def _print(self, op: dict, stream: KStream):
        stream.print(label=op.get("label"), write=lambda line: None, name=op.get("name"))

    def _merge(self, op: dict, stream: KStream):
        return stream.merge(self._results[op["other"]], name=op.get("name"))

    def _split(self, op: dict, stream: KStream):
        split = stream.split(name=op.get("name"))
        for branch in op["branches"]:
            split.branch(
                fn.predicate(branch["fn"]), name=branch.get("as"), then=self._catch(branch)
            )
        if "default" in op:
            branch = op["default"]
            streams = split.default_branch(name=branch.get("as"), then=self._catch(branch))
        else:
            streams = split.no_default_branch()
        self.branches[op["id"]] = sorted(streams)

    def _catch(self, branch: dict):
        def then(stream):
            if "id" in branch:
                self._results[branch["id"]] = stream
            if branch.get("consume"):
                return None
            if "chain" in branch:
                self.run(branch["chain"])
                return self._results[branch["result"]]
            return stream

        return then

    def _to(self, op: dict, stream: KStream):
        options = given(
            op.get("produced", {}),
            key=serde,
            value=serde,
            partitioner=lambda _: fn.zero_partition,
            name=as_is,
        )
        topic = fn.TopicByName(op["topic_fn"]) if "topic_fn" in op else op["topic"]
        stream.to(topic, **options)

    def _to_table(self, op: dict, stream: KStream):
        return stream.to_table(name=op.get("name"), materialized=materialized(op))

    def _repartition(self, op: dict, stream: KStream):
        options = given(
            op.get("repartitioned", {}),
            key=serde,
            value=serde,
            partitions=as_is,
            partitioner=lambda _: fn.zero_partition,
            name=as_is,
        )
        return stream.repartition(**options)

    def _join(self, op: dict, stream):
        return self._joined(op, stream, "join")

    def _left_join(self, op: dict, stream):
        return self._joined(op, stream, "left_join")

    def _outer_join(self, op: dict, stream):
        return self._joined(op, stream, "outer_join")

    def _joined(self, op: dict, stream, method: str):
        other = self._results[op["other"]]
        if isinstance(stream, KTable) and isinstance(other, KTable):
            options = self._table_options(op, stream)
            return getattr(stream, method)(other, fn.joiner(op["fn"]), **options)
        if isinstance(stream, KStream) and isinstance(other, GlobalKTable):
            with_key = op.get("with_key", False)
            joiner = (fn.keyed_joiner if with_key else fn.joiner)(op["fn"])
            on = fn.key_selector(op["key_fn"])
            method = getattr(stream, method)
            return method(other, joiner, on=on, with_key=with_key, name=op.get("name"))
        if isinstance(stream, KStream) and isinstance(other, KStream):
            with_key = op.get("with_key", False)
            joiner = (fn.keyed_joiner if with_key else fn.joiner)(op["fn"])
            options = given(op["windows"], diff=ms, before=ms, after=ms, grace=ms)
            window = JoinWindows.of(options.pop("diff"), **options)
            joined = given(
                op.get("stream_joined", {}),
                key=serde,
                value=serde,
                other_value=serde,
                name=as_is,
                store_name=as_is,
                type=StoreType,
                logging=as_is,
                this_supplier=store_supplier,
                other_supplier=store_supplier,
            )
            method = getattr(stream, method)
            joined = StreamJoined(**joined)
            return method(other, joiner, windows=window, with_key=with_key, joined=joined)
        if not isinstance(stream, KStream) or not isinstance(other, KTable):
            raise Unsupported(f"{method} of {type(stream).__name__} and {type(other).__name__}")
        joined = dict(op.get("joined", {}))
        joined.pop("other_value", None)
        options = given(joined, key=serde, value=serde, name=as_is, grace=ms)
        with_key = op.get("with_key", False)
        joiner = (fn.keyed_joiner if with_key else fn.joiner)(op["fn"])
        return getattr(stream, method)(other, joiner, with_key=with_key, **options)

    def _fk_join(self, op: dict, table: KTable):
        return self._joined_on_foreign_key(op, table, "join")

    def _fk_left_join(self, op: dict, table: KTable):
        return self._joined_on_foreign_key(op, table, "left_join")

    def _joined_on_foreign_key(self, op: dict, table: KTable, method: str):
        with_key = "fk_with_key" in op
        extractor = fn.key_selector(op["fk_with_key"]) if with_key else fn.value_mapper(op["fk"])
        joined = op.get("table_joined", {})
        options = {"name": joined.get("name"), "materialized": materialized(op)}
        if "partitioner" in joined or "other_partitioner" in joined:
            options["partitioners"] = (
                fn.zero_partition if "partitioner" in joined else None,
                fn.zero_partition if "other_partitioner" in joined else None,
            )
        return getattr(table, method)(
            self._results[op["other"]],
            fn.joiner(op["fn"]),
            foreign_key=extractor,
            with_key=with_key,
            **options,
        )

    # Groups.

    def _group_by_key(self, op: dict, stream: KStream):
        return stream.group_by_key(
            **given(op.get("grouped", {}), key=serde, value=serde, name=as_is)
        )

    def _group_by(self, op: dict, stream):
        options = given(op.get("grouped", {}), key=serde, value=serde, name=as_is)
        if isinstance(stream, KTable):
            key, value = fn.key_selector(op["key_fn"]), fn.value_mapper(op["value_fn"])
            return stream.group_by(lambda k, v: (key(k, v), value(v)), **options)
        return stream.group_by(fn.key_selector(op["fn"]), **options)

    def _cogroup(self, op: dict, grouped):
        if "other" in op:
            return grouped.cogroup(self._results[op["other"]], fn.aggregator(op["fn"]))
        return grouped.cogroup(fn.aggregator(op["fn"]))

    def _windowed_by(self, op: dict, grouped):
        return grouped.windowed_by(windows(op["windows"]))

    def _emit_strategy(self, op: dict, windowed):
        return windowed.emit_strategy(EmitStrategy(op["strategy"]))

    def _count(self, op: dict, grouped):
        return grouped.count(name=op.get("name"), materialized=materialized(op))

    def _reduce(self, op: dict, grouped):
        if isinstance(grouped, KGroupedTable):
            return grouped.reduce(
                fn.reducer(op["add"]),
                fn.reducer(op["sub"]),
                name=op.get("name"),
                materialized=materialized(op),
            )
        return grouped.reduce(
            fn.reducer(op["fn"]), name=op.get("name"), materialized=materialized(op)
        )

    def _aggregate(self, op: dict, grouped):
        if isinstance(grouped, KGroupedTable):
            return grouped.aggregate(
                fn.initializer(op["init"]),
                fn.aggregator(op["add"]),
                fn.aggregator(op["sub"]),
                name=op.get("name"),
                materialized=materialized(op),
            )
        if isinstance(grouped, COGROUPED):
            mergers = [fn.merger(op["merge"])] if "merge" in op else []
            options = {"name": op.get("name"), "materialized": materialized(op)}
            return grouped.aggregate(fn.initializer(op["init"]), *mergers, **options)
        mergers = [fn.merger(op["merge"])] if "merge" in op else []
        return grouped.aggregate(
            fn.initializer(op["init"]),
            fn.aggregator(op["fn"]),
            *mergers,
            name=op.get("name"),
            materialized=materialized(op),
        )


class SpecProcessorTopology:
    """Runs the ops of a specification of the Processor API against a TopologyBuilder."""

    def __init__(self, builder: TopologyBuilder) -> None:
        self._builder = builder

    def run(self, ops: list[dict]) -> None:
        for op in ops:
            getattr(self, f"_{op['op']}")(op)

    def _add_source(self, op: dict) -> None:
        self._builder.add_source(
            op["name"],
            *op.get("topics", ()),
            pattern=op.get("pattern"),
            reset=OffsetReset(op["reset"]) if "reset" in op else None,
            **_reading(op),
        )

    def _add_processor(self, op: dict) -> None:
        self._builder.add_processor(op["name"], supplier(op["processor"]), *op["parents"])

    def _add_sink(self, op: dict) -> None:
        topic = fn.TopicByName(op["topic_fn"]) if "topic_fn" in op else op["topic"]
        serdes = {"key": serde(op.get("key")), "value": serde(op.get("value"))}
        self._builder.add_sink(op["name"], topic, *op["parents"], **serdes)

    def _add_state_store(self, op: dict) -> None:
        self._builder.add_state_store(store_spec(op["store"]), *op.get("processors", ()))

    def _connect(self, op: dict) -> None:
        self._builder.connect_processor_and_state_stores(op["processor"], *op["stores"])

    def _add_global_store(self, op: dict) -> None:
        self._builder.add_global_store(*_filled_store(op), **_reading(op))

    def _add_read_only_state_store(self, op: dict) -> None:
        self._builder.add_read_only_state_store(*_filled_store(op), **_reading(op))


def _reading(op: dict) -> dict:
    """How a source reads its topics."""
    extractor = fn.timestamps(op["timestamps"]) if "timestamps" in op else None
    return {"key": serde(op.get("key")), "value": serde(op.get("value")), "timestamps": extractor}


def _filled_store(op: dict) -> tuple:
    """A store, and the names of the source, topic and processor that fill it."""
    store, process = store_spec(op["store"]), supplier(op["processor"])
    return store, op["source"], op["topic"], op["processor_name"], process
