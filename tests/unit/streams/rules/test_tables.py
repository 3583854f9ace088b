"""Joins and filters of tables, look-ups, foreign keys, and what tables keep."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.streams import Materialized, StoreSupplier, StreamsBuilder, StreamsConfig
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.serdes import string
from millstream.streams.state import in_memory_stores
from tests.unit.streams.rules.rule_world import (
    TEXT,
    before_dot,
    driver_of,
    dropped,
    ms,
    pair,
    pipe,
    run,
    write,
)


def joined(method: str, **options: Any) -> StreamsBuilder:
    builder = StreamsBuilder()
    left: Any = builder.table("L")
    write(getattr(left, method)(builder.table("R"), pair, **options))
    return builder


TABLES_OF_THE_DOCUMENTATION = [
    # record, table-table inner, left, outer, stream-table inner, left
    ("L:-@1", "", "", "", "", ""),
    ("R:-@2", "", "", "", "", ""),
    ("L:A@3", "", "A|None@3", "A|None@3", "", "A|None@3"),
    ("R:a@4", "A|a@4", "A|a@4", "A|a@4", "", ""),
    ("L:B@5", "B|a@5", "B|a@5", "B|a@5", "B|a@5", "B|a@5"),
    ("R:b@6", "B|b@6", "B|b@6", "B|b@6", "", ""),
    ("L:-@7", "-@7", "-@7", "None|b@7", "", ""),
    ("R:-@8", "", "", "-@8", "", ""),
    ("L:C@9", "", "C|None@9", "C|None@9", "", "C|None@9"),
    ("R:c@10", "C|c@10", "C|c@10", "C|c@10", "", ""),
    ("R:-@11", "-@11", "C|None@11", "C|None@11", "", ""),
    ("L:-@12", "", "-@12", "-@12", "", ""),
    ("R:-@13", "", "", "", "", ""),
    ("R:d@14", "", "", "None|d@14", "", ""),
    ("L:D@15", "D|d@15", "D|d@15", "D|d@15", "D|d@15", "D|d@15"),
]
"""One key; a dash is a tombstone."""


def rows_after_each_record(builder: StreamsBuilder) -> list[str]:
    found = []
    with driver_of(builder) as driver:
        out = driver.output_topic("out", key=TEXT, value=TEXT)
        for record, *_ in TABLES_OF_THE_DOCUMENTATION:
            pipe(driver, record)
            found.append(
                " ".join(
                    f"{'-' if row.value is None else row.value}@{row.timestamp}"
                    for row in out.read()
                )
            )
    return found


@pytest.mark.parametrize(("column", "method"), [(1, "join"), (2, "left_join"), (3, "outer_join")])
def test_table_joins_give_the_15_rows_of_the_documentation(column: int, method: str) -> None:
    expected = [row[column] for row in TABLES_OF_THE_DOCUMENTATION]
    assert rows_after_each_record(joined(method)) == expected


@pytest.mark.parametrize(("column", "method"), [(4, "join"), (5, "left_join")])
def test_look_ups_give_the_15_rows_of_the_documentation(column: int, method: str) -> None:
    builder = StreamsBuilder()
    left: Any = builder.stream("L")
    write(getattr(left, method)(builder.table("R"), pair))
    expected = [row[column] for row in TABLES_OF_THE_DOCUMENTATION]
    assert rows_after_each_record(builder) == expected


LONGER = (
    "R:p@5 L:A@3 L:B@8 R:q@6 L:-@9 R:-@10 R:r@12 L:C@11 R:-@13 L:D@14 L:-@15 L:-@16 R:s@9 L:E@20 "
    "R:t@4 L:F@7 R:-@18 L:-@19 R:u@25 L:G@21 R:-@22 L:-@8"
)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (
            "join",
            (
                "2:A|p@5 3:B|p@8 4:B|q@8 5:-@9 8:C|r@12 9:-@13 14:E|s@20 15:E|t@20 16:F|t@7 17:-@18 "
                "20:G|u@25 21:-@22"
            ),
        ),
        (
            "left_join",
            (
                "2:A|p@5 3:B|p@8 4:B|q@8 5:-@9 8:C|r@12 9:C|None@13 10:D|None@14 11:-@15 14:E|s@20 "
                "15:E|t@20 16:F|t@7 17:F|None@18 18:-@19 20:G|u@25 21:G|None@22 22:-@8"
            ),
        ),
        (
            "outer_join",
            (
                "1:None|p@5 2:A|p@5 3:B|p@8 4:B|q@8 5:None|q@9 6:-@10 7:None|r@12 8:C|r@12 9:C|None@13 "
                "10:D|None@14 11:-@15 13:None|s@9 14:E|s@20 15:E|t@20 16:F|t@7 17:F|None@18 18:-@19 "
                "19:None|u@25 20:G|u@25 21:G|None@22 22:-@8"
            ),
        ),
    ],
)
def test_out_of_order_results_have_the_later_time_of_the_sides_that_are_left(method, expected) -> None:  # fmt: skip
    """A tombstone has the time of both where both were there, or the record's own where nothing is left."""
    assert run(joined(method), LONGER) == expected.replace(":", ":k=")


def test_a_left_tombstone_goes_on_although_nothing_was_joined() -> None:
    """The inner join does not know the old value: it is asked for where it is needed only."""
    assert run(joined("join"), "R:x@1 L:-@2") == "2:k=-@2"
    assert run(joined("left_join"), "R:x@1 L:-@2") == "2:k=-@2"


def test_without_a_right_row_an_inner_join_says_nothing_at_all() -> None:
    assert run(joined("join"), "L:a@1 L:b@2 L:-@3") == ""


def test_a_filter_tells_only_of_rows_that_were_there_if_its_parent_keeps_them() -> None:
    """As Kafka Streams 4.3.1 does: a store of the filter's own does not count."""
    inputs = "L:n@1 L:n@2 L:y@3 L:n@4 L:n@5"
    kept = Materialized("kept")
    builder = StreamsBuilder()
    write(builder.table("L").filter(lambda key, value: value == "y", materialized=kept))
    assert run(builder, inputs) == "1:k=-@1 2:k=-@2 3:k=y@3 4:k=-@4 5:k=-@5"
    builder = StreamsBuilder()
    write(builder.table("L", materialized=kept).filter(lambda key, value: value == "y"))
    assert run(builder, inputs) == "3:k=y@3 4:k=-@4"


def test_without_a_store_a_filter_tells_of_every_update_that_fails() -> None:
    builder = StreamsBuilder()
    write(builder.table("L").filter(lambda key, value: value == "y"))
    outputs = run(builder, "L:n@1 L:n@2 L:y@3 L:n@4 L:n@5")
    assert outputs == "1:k=-@1 2:k=-@2 3:k=y@3 4:k=-@4 5:k=-@5"


def test_where_old_values_are_asked_for_what_fails_twice_goes_nowhere() -> None:
    """The aggregation below asks for them; it would otherwise hear of four removals."""
    builder = StreamsBuilder()
    kept = builder.table("L").filter(lambda key, value: value == "y")
    write(
        kept.group_by(lambda key, value: (key, value)).reduce(
            lambda one, other: one + other, lambda one, other: one.replace(other, "")
        )
    )
    assert run(builder, "L:n@1 L:y@3 L:n@4 L:n@5") == "2:k=y@3 3:k=@4"


def test_a_table_takes_its_updates_in_the_order_of_offsets() -> None:
    builder = StreamsBuilder()
    write(builder.stream("L").join(builder.table("R"), pair))
    assert run(builder, "R:new@10 R:old@5 L:a@20") == "3:k=a|old@20"


def test_a_versioned_table_looks_at_the_time() -> None:
    builder = StreamsBuilder()
    history = Materialized(supplier=StoreSupplier("versions", history=ms(100)))
    write(builder.stream("L").join(builder.table("R", materialized=history), pair))
    inputs = "R:new@10 R:old@5 L:a@20 L:b@7 L:c@4"
    assert run(builder, inputs) == "3:k=a|new@20 4:k=b|old@7"


def versions(name: str) -> Materialized:
    return Materialized(supplier=StoreSupplier(name, history=ms(10)))


def test_an_aggregation_of_a_versioned_table_skips_updates_that_are_not_the_latest() -> None:
    """KIP-914."""
    builder = StreamsBuilder()
    table = builder.table("L", materialized=versions("v"))
    write(table.group_by(lambda key, value: (value[0], value)).count())
    assert run(builder, "L:a1@10 L:b1@5 L:c1@12") == "1:a=1@10 3:a=0@12 3:c=1@12"


def test_a_join_of_versioned_tables_skips_updates_that_are_not_the_latest() -> None:
    builder = StreamsBuilder()
    left = builder.table("L", materialized=versions("v"))
    write(left.join(builder.table("R", materialized=versions("w")), pair))
    outputs = run(builder, "R:x@1 L:a@10 L:b@5 L:c@12 R:old@0 R:y@13")
    assert outputs == "2:k=a|x@10 4:k=c|x@12 6:k=c|y@13"


def test_an_update_older_than_the_history_goes_nowhere() -> None:
    builder = StreamsBuilder()
    write(builder.table("L", materialized=versions("v")))
    inputs = "L:a@100 L:b@95 L:c@89 L:d@90"
    assert run(builder, inputs) == "1:k=a@100 2:k=b@95 4:k=d@90"
    assert dropped(builder, inputs) == 1


def test_null_keys_and_null_values_find_nothing_and_are_left_out() -> None:
    builder = StreamsBuilder()
    write(builder.stream("L").join(builder.table("R"), pair))
    assert run(builder, "R:x@1 L:-=a@2 L:k=-@3 L:k=b@4") == "4:k=b|x@4"
    assert dropped(builder, "R:x@1 L:-=a@2 L:k=-@3 L:k=b@4") == 2


def test_a_left_join_keeps_records_with_a_null_key() -> None:
    """KIP-962."""
    builder = StreamsBuilder()
    write(builder.stream("L").left_join(builder.table("R"), pair))
    outputs = run(builder, "R:x@1 L:-=a@2 L:k=-@3 L:k=b@4")
    assert outputs == "2:-=a|None@2 4:k=b|x@4"


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("join", "3:-=a.1|x@3"),
        ("left_join", "2:k=zz|None@2 3:-=a.1|x@3 5:k=b.1|None@5"),
    ],
)
def test_a_global_table_is_asked_for_the_key_that_the_function_gives(method, expected) -> None:
    """zz has none; the record's own key may be null."""
    builder = StreamsBuilder()
    left: Any = builder.stream("L")
    table = builder.global_table("R")
    write(getattr(left, method)(table, pair, on=lambda key, value: value and before_dot(value)))
    assert run(builder, "R:a=x@1 L:k=zz@2 L:-=a.1@3 L:k=-@4 L:k=b.1@5") == expected


FOREIGN_KEYS = (
    "R:a=1@1 L:k=a.1@2 L:k=a.2@3 L:k=b.1@4 R:b=2@5 L:k=0x@6 L:k=a.3@7 L:k=-@8 L:k=0y@9 "
    "L:k=c.1@10 L:k=c.2@11 L:k=-@12"
)
"""The foreign key is what is in front of the dot; 0x and 0y have none."""


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (
            "join",
            "2:k=a.1|1@2 3:k=a.2|1@3 4:k=-@4 5:k=b.1|2@5 6:k=-@6 7:k=a.3|1@7 8:k=-@8 12:k=-@12",
        ),
        (
            "left_join",
            (
                "2:k=a.1|1@2 3:k=a.2|1@3 4:k=b.1|None@4 5:k=b.1|2@5 6:k=0x|None@6 7:k=a.3|1@7 "
                "8:k=-@8 9:k=0y|None@9 10:k=c.1|None@10 11:k=c.2|None@11 12:k=-@12"
            ),
        ),
    ],
)
def test_foreign_key_joins_follow_the_left_row_from_key_to_key(method, expected) -> None:
    """The last tombstone of the inner join takes back what never was: Kafka Streams sends it too."""
    assert run(joined(method, foreign_key=before_dot), FOREIGN_KEYS) == expected


def test_a_right_row_answers_all_its_left_rows_in_the_order_of_their_keys() -> None:
    outputs = run(joined("join", foreign_key=before_dot), "L:k=a.1@1 L:j=a.2@2 R:a=1@3 R:a=-@4")
    assert outputs == "3:j=a.2|1@3 3:k=a.1|1@3 4:j=-@4 4:k=-@4"


def test_an_answer_to_an_older_left_row_is_stale_and_left_out() -> None:
    """It carries the hash of the row that asked: a.1, while the row is a.2 by now."""
    builder = StreamsBuilder()
    left = builder.table("L")
    joined = left.join(builder.table("R"), pair, foreign_key=before_dot, name="s")
    joined.to_stream().to("out")
    config = StreamsConfig("app", string(), string())
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), config)
    answers = "app-s-subscription-response-topic"

    def answer(hashed: str, at: int) -> list[bytes | None]:
        value = bytes.fromhex("00" + hashed) + b"x"
        task.add(answers, RawBatch([b"k"], [value], [at], [at]))
        sinks = task.process(0).sinks
        return list(sinks["out"].values) if "out" in sinks else []

    task.add("L", RawBatch([b"k"] * 2, [b"a.1", b"a.2"], [1, 2], range(2)))
    asked = task.process(0).sinks["app-s-subscription-registration-topic"].values
    hashes = [value[2:18].hex() for value in asked if value is not None]
    assert hashes[0] == "7d74f52c6ca4f22f3e88736eb86f637c"
    assert answer(hashes[0], at=3) == []
    assert answer(hashes[1], at=4) == [b"a.2|x"]


def test_a_left_row_without_a_foreign_key_is_counted_as_dropped_by_an_inner_join() -> None:
    assert dropped(joined("join", foreign_key=before_dot), FOREIGN_KEYS) == 2
    assert dropped(joined("left_join", foreign_key=before_dot), FOREIGN_KEYS) == 0


def test_the_left_side_gets_the_answers_and_the_right_side_keeps_the_subscriptions() -> None:
    topology = joined("join", foreign_key=before_dot).build()
    stores = [
        [spec.name for spec in topology.stores_of(group)] for group in topology.sub_topologies
    ]
    assert stores == [
        ["L-STATE-STORE-0000000000"],
        ["R-STATE-STORE-0000000003", "KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-0000000010"],
    ]
    assert list(topology.internal_topics) == [
        "KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic",
        "KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000014-topic",
    ]


def test_a_table_drops_null_keys() -> None:
    builder = StreamsBuilder()
    write(builder.table("L"))
    assert run(builder, "L:-=a@1 L:k=b@2") == "2:k=b@2"
    assert dropped(builder, "L:-=a@1 L:k=b@2") == 1


def test_a_table_is_kept_only_where_it_is_named_or_needed() -> None:
    builder = StreamsBuilder()
    write(builder.table("L"))
    assert not builder.build().stores

    builder = StreamsBuilder()
    write(builder.table("L", materialized=Materialized("named")))
    assert list(builder.build().stores) == ["named"]

    builder = StreamsBuilder()
    write(builder.table("L").join(builder.table("R"), pair))
    assert set(builder.build().stores) == {"L-STATE-STORE-0000000000", "R-STATE-STORE-0000000003"}


def test_the_changelog_of_a_table_is_its_own_unless_the_source_topic_is_used_again() -> None:
    def changelogs(optimization: str) -> list[str]:
        builder = StreamsBuilder(optimization=optimization)
        builder.table("L", materialized=Materialized("named"))
        topology = builder.build()
        return list(topology.topics_of(topology.sub_topologies[0], "app").changelogs)

    assert changelogs("none") == ["app-named-changelog"]
    assert changelogs("reuse.ktable.source.topics") == ["L"]


def test_a_global_table_moves_no_stream_time() -> None:
    """Its record at 100 makes nothing late on the stream's side."""
    builder = StreamsBuilder()
    table = builder.global_table("R")
    joined = builder.stream("L").left_join(table, pair, on=lambda key, value: key)
    times: list[int] = []

    class Clock:
        def init(self, context: Any) -> None:
            self.context = context

        def process(self, record: object) -> None:
            times.append(self.context.current_stream_time_ms())

    joined.process(Clock)
    run(builder, "R:x@100 L:a@3")
    assert times == [3]
