"""Stores, windows and joins that cannot be built are refused by a sentence with the node and the cure.

Each was given to Kafka Streams 4.3.1 as well. A TopologyException there is a TopologyError here, a NullPointerException a
TypeError, an IllegalArgumentException a ValueError. Those marked "stricter" it takes and fails later, or does
what nobody wants.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from millstream.streams import (
    EmitStrategy,
    JoinWindows,
    KTable,
    Materialized,
    Record,
    SessionWindows,
    SlidingWindows,
    StoreSupplier,
    StoreType,
    StreamJoined,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    UnlimitedWindows,
)
from millstream.streams.errors import StreamsError, TopologyError
from millstream.streams.topology import StoreKind, StoreSpec


class Forget:
    def process(self, record: Record) -> None:
        pass


class Same:
    def transform(self, key: object, value: object) -> object:
        return value


def ms(milliseconds: int) -> timedelta:
    return timedelta(milliseconds=milliseconds)


def rows(name: str = "rows") -> StoreSpec:
    return StoreSpec(name, StoreKind.KEY_VALUE, persistent=False)


def both(left: object, right: object) -> object:
    return left, right


def always(key: object, value: object) -> bool:
    return True


def value_of(key: object, value: object) -> object:
    return value


def versioned(builder: StreamsBuilder, history: int = 10) -> KTable:
    supplier = StoreSupplier("history", history=ms(history))
    return builder.table("t", materialized=Materialized(supplier=supplier))


def windowed(builder: StreamsBuilder) -> KTable:
    grouped = builder.stream("in").group_by_key()
    return grouped.windowed_by(TimeWindows.tumbling(ms(10), grace=ms(5))).count()


def counted(windows: object, retention: int) -> Callable[[StreamsBuilder], object]:
    kept = Materialized("counts", retention=ms(retention))
    return lambda b: b.stream("in").group_by_key().windowed_by(windows).count(materialized=kept)


def joined(**options: object) -> Callable[[StreamsBuilder], object]:
    windows = JoinWindows.of(ms(10))
    return lambda b: b.stream("in").join(
        b.stream("other"), both, windows=windows, joined=StreamJoined(**options)
    )


def supplier(retention: int = 20, size: int = 20, *, duplicates: bool = True) -> StoreSupplier:
    return StoreSupplier(
        "kept",
        StoreType.IN_MEMORY,
        retention=ms(retention),
        window_size=ms(size),
        retain_duplicates=duplicates,
    )


def twice(call: Callable[[StreamsBuilder], object]) -> Callable[[StreamsBuilder], object]:
    return lambda builder: (call(builder), call(builder))


Refused = dict[str, tuple[Callable[[StreamsBuilder], object], type[Exception], str]]

STORES: Refused = {
    "unknown store": (
        lambda b: b.stream("in").process(Forget, stores=["rows"]),
        TopologyError,
        "store rows does not exist: add it before connecting KSTREAM-PROCESSOR-0000000001 with it",
    ),
    "unknown store of a transformer": (
        lambda b: b.table("in").transform_values(Same, stores=["rows"]),
        TopologyError,
        "store rows does not exist: add it before connecting KTABLE-TRANSFORMVALUES-0000000003 with it",
    ),
    "store of a global table": (
        lambda b: (
            b.global_table("g", materialized=Materialized("rows")),
            b.stream("in").process(Forget, stores=["rows"]),
        ),
        TopologyError,
        "KSTREAM-PROCESSOR-0000000003 may use global store rows as every processor may: do not connect it",
    ),
    "one text instead of names": (
        lambda b: b.stream("in").process(Forget, stores="rows"),
        TypeError,
        "process: stores are names of stores, not one str: write ['rows']",
    ),
    "two stores of one name": (
        twice(lambda b: b.add_state_store(rows())),
        TopologyError,
        (
            "another store is named rows already: choose another name, "
            "or add one StoreSpec and connect several processors with it"
        ),
    ),
    "two aggregations in one store": (
        lambda b: (
            grouped := b.stream("in").group_by_key(),
            grouped.count(materialized=Materialized("rows")),
            grouped.count(materialized=Materialized("rows")),
        ),
        TopologyError,
        (
            "another store is named rows already: choose another name, "
            "or add one StoreSpec and connect several processors with it"
        ),
    ),
    "store of a table added as well": (
        lambda b: (b.add_state_store(rows()), b.table("t", materialized=Materialized("rows"))),
        TopologyError,
        (
            "another store is named rows already: choose another name, "
            "or add one StoreSpec and connect several processors with it"
        ),
    ),
    "supplier that returns one object": (
        lambda b: (one := Forget(), b.stream("in").process(lambda: one)),
        ValueError,
        "process: the supplier must return a new object each time it is called, but returned ",
    ),
    "supplier of one transformer": (
        lambda b: (one := Same(), b.table("in").transform_values(lambda: one)),
        ValueError,
        "transform_values: the supplier must return a new object each time it is called, but returned ",
    ),
    "supplier of one global processor": (
        lambda b: (one := Forget(), b.add_global_store(rows(), "g", lambda: one)),
        ValueError,
        "add_global_store: the supplier must return a new object each time it is called, but returned ",
    ),
    "no supplier": (
        lambda b: b.stream("in").process(None),
        TypeError,
        "process: supplier must be callable, not None",
    ),
    "store type beside a supplier": (
        lambda b: Materialized(supplier=supplier(), type=StoreType.IN_MEMORY),
        ValueError,
        "store kept: its supplier says where it lives: leave out type=",
    ),
    "store name beside a supplier (stricter)": (
        lambda b: Materialized("rows", supplier=supplier()),
        ValueError,
        "store kept: its supplier names it: leave out 'rows'",
    ),
    "negative retention of a supplier": (
        lambda b: supplier(-1),
        ValueError,
        "store kept: retention must not be negative, it is -1 day, 23:59:59.999000",
    ),
    "retention shorter than the windows": (
        lambda b: supplier(19, 20),
        ValueError,
        "store kept: its retention of 0:00:00.019000 is shorter than its windows of 0:00:00.020000: raise it",
    ),
    "negative retention": (
        lambda b: Materialized("rows", retention=ms(-1)),
        ValueError,
        "store rows: retention must not be negative, it is -1 day, 23:59:59.999000",
    ),
}

WINDOWS: Refused = {
    "retention below window and grace": (
        counted(TimeWindows.tumbling(ms(10), grace=ms(5)), 14),
        ValueError,
        "store counts keeps 14 ms, less than its windows and their grace (15 ms) need: raise its retention",
    ),
    "retention below gap and grace": (
        counted(SessionWindows.of(ms(10), grace=ms(5)), 14),
        ValueError,
        "store counts keeps 14 ms, less than its windows and their grace (15 ms) need: raise its retention",
    ),
    "retention below two differences and grace": (
        counted(SlidingWindows.of(ms(10), grace=ms(5)), 24),
        ValueError,
        "store counts keeps 24 ms, less than its windows and their grace (25 ms) need: raise its retention",
    ),
    "retention of cogrouped windows": (
        lambda b: (
            b.stream("in")
            .group_by_key()
            .cogroup(lambda key, value, total: total)
            .windowed_by(TimeWindows.tumbling(ms(10)))
            .aggregate(int, materialized=Materialized("counts", retention=ms(9)))
        ),
        ValueError,
        "store counts keeps 9 ms, less than its windows and their grace (10 ms) need: raise its retention",
    ),
    "windows that never close": (
        lambda b: (
            b.stream("in")
            .group_by_key()
            .windowed_by(UnlimitedWindows())
            .emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
        ),
        ValueError,
        "emit_strategy: unlimited windows never close, so nothing would be emitted: use EmitStrategy.ON_WINDOW_UPDATE",
    ),
    "windows of another kind": (
        lambda b: b.stream("in").group_by_key().windowed_by(JoinWindows.of(ms(1))),
        TypeError,
        "windowed_by: windows are TimeWindows, UnlimitedWindows, SlidingWindows or SessionWindows, not JoinWindows",
    ),
    "cogrouped sessions without a merger": (
        lambda b: (
            b.stream("in")
            .group_by_key()
            .cogroup(lambda key, value, total: total)
            .windowed_by(SessionWindows.of(ms(10)))
            .aggregate(int, None)
        ),
        TypeError,
        "aggregate: merger must be callable, not None",
    ),
    "suppress without windows": (
        lambda b: b.table("in").suppress(Suppressed.until_window_closes()),
        TopologyError,
        (
            "KTABLE-SUPPRESS-0000000003 waits for windows to close, but the table above is not windowed: "
            "suppress until a time limit instead"
        ),
    ),
    "suppress on a versioned table": (
        lambda b: versioned(b).filter(always).suppress(Suppressed.until_time_limit(ms(5))),
        TopologyError,
        (
            "KTABLE-SUPPRESS-0000000003 cannot hold back changes of a versioned table, whose rows have a history: "
            "suppress an aggregation of it"
        ),
    ),
}

JOINS: Refused = {
    "no windows": (
        lambda b: b.stream("in").join(b.stream("other"), both),
        TypeError,
        "join of two streams needs windows=, see JoinWindows.of",
    ),
    "windows with a table": (
        lambda b: b.stream("in").join(b.table("t"), both, windows=JoinWindows.of(ms(1))),
        TypeError,
        "join with a table has no windows: leave out windows= and joined=",
    ),
    "grace with a stream": (
        lambda b: b.stream("in").join(
            b.stream("other"), both, windows=JoinWindows.of(ms(1)), grace=ms(1)
        ),
        TypeError,
        "join of two streams takes no grace=: its options are in joined=, see StreamJoined",
    ),
    "key of a table": (
        lambda b: b.stream("in").join(b.table("t"), both, on=value_of),
        TypeError,
        "a join with a table is on the record's key: change it before, and leave out on=",
    ),
    "no key of a global table": (
        lambda b: b.stream("in").join(b.global_table("g"), both),
        TypeError,
        "a join with a global table needs on=, a function of key and value",
    ),
    "nothing to join with": (
        lambda b: b.stream("in").join(None, both),
        TypeError,
        "join: a stream is joined with a KStream, KTable or GlobalKTable, not NoneType",
    ),
    "nothing to merge with": (
        lambda b: b.stream("in").merge(None),
        TypeError,
        "merge: the other stream must be a KStream, not NoneType",
    ),
    "table with a stream": (
        lambda b: b.table("t").join(b.stream("in"), both),
        TypeError,
        "join: the other table must be a KTable, not KStream",
    ),
    "table of another builder": (
        lambda b: b.stream("in").join(StreamsBuilder().table("t"), both),
        TopologyError,
        "join: the other table was made by another StreamsBuilder: make both with one",
    ),
    "merge with a stream of another builder (stricter)": (
        lambda b: b.stream("in").merge(StreamsBuilder().stream("other")),
        TopologyError,
        "merge: the other stream was made by another StreamsBuilder: make both with one",
    ),
    "cogroup with a group of another builder (stricter)": (
        lambda b: (
            b.stream("in")
            .group_by_key()
            .cogroup(lambda key, value, total: total)
            .cogroup(
                StreamsBuilder().stream("other").group_by_key(), lambda key, value, total: total
            )
        ),
        TopologyError,
        "cogroup: the other stream was made by another StreamsBuilder: make both with one",
    ),
    "grace with a table without a history": (
        lambda b: b.stream("in").join(b.table("t").filter(always), both, grace=ms(5)),
        ValueError,
        (
            "KSTREAM-JOIN-0000000005 has a grace period, which needs a versioned table: "
            "give the table a store with a history"
        ),
    ),
    "grace longer than the history": (
        lambda b: b.stream("in").join(versioned(b), both, grace=ms(15)),
        ValueError,
        "KSTREAM-JOIN-0000000003 waits 15 ms, longer than the table's history of 10 ms: raise the history",
    ),
    "negative grace (stricter)": (
        lambda b: b.stream("in").join(versioned(b), both, grace=ms(-1)),
        ValueError,
        "KSTREAM-JOIN-0000000003 has a negative grace period, -1 ms: it must be at least 0",
    ),
    "store that keeps too little": (
        joined(this_supplier=supplier(25, 20)),
        StreamsError,
        "store kept has a retention of 25 ms and windows of 20 ms: the join needs 20 ms and 20 ms",
    ),
    "store of other windows": (
        joined(other_supplier=supplier(20, 19)),
        StreamsError,
        "store kept has a retention of 20 ms and windows of 19 ms: the join needs 20 ms and 20 ms",
    ),
    "store without duplicates": (
        joined(this_supplier=supplier(duplicates=False)),
        StreamsError,
        "store kept of a join must retain duplicates: say retain_duplicates=True",
    ),
    "one store for both sides": (
        joined(this_supplier=supplier(), other_supplier=supplier()),
        StreamsError,
        "both sides of a join keep their records in kept: use two stores",
    ),
}


EVERYTHING = {
    f"{area}: {case}": refused
    for area, table in {"stores": STORES, "windows": WINDOWS, "joins": JOINS}.items()
    for case, refused in table.items()
}


@pytest.mark.parametrize("case", EVERYTHING)
def test_what_kafka_streams_refuses_names_the_node_and_the_cure(case: str) -> None:
    calls, kind, sentence = EVERYTHING[case]
    builder = StreamsBuilder()
    with pytest.raises(kind) as refused:
        _ = calls(builder), builder.build()
    assert type(refused.value) is kind
    assert str(refused.value).startswith(sentence)
