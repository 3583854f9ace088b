"""Joins of two streams: what meets, what is given out alone, and when."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.streams import JoinWindows, StreamsBuilder, StreamsConfig
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.serdes import string
from millstream.streams.state import in_memory_stores
from tests.unit.streams.rules.rule_world import TEXT, driver_of, ms, pair, pipe, run, write


def joined(method: str, windows: JoinWindows) -> StreamsBuilder:
    builder = StreamsBuilder()
    left: Any = builder.stream("L")
    write(getattr(left, method)(builder.stream("R"), pair, windows=windows))
    return builder


WITHIN_5 = JoinWindows.of(ms(5))


def test_equal_records_of_one_side_all_meet_the_other() -> None:
    outputs = run(joined("join", WITHIN_5), "L:a@1 L:b@1 R:x@2")
    assert outputs == "3:k=a|x@2 3:k=b|x@2"


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("join", ""),
        ("left_join", "1:-=a|None@1"),
        ("outer_join", "1:-=a|None@1 3:-=None|b@3"),
    ],
)
def test_null_values_go_and_null_keys_stay_on_an_outer_side_alone(method, expected) -> None:
    assert run(joined(method, WITHIN_5), "L:-=a@1 L:k=-@2 R:-=b@3 R:k=-@4") == expected


def test_both_stores_keep_the_windows_and_the_grace() -> None:
    windows = JoinWindows.of(ms(5), before=ms(3), after=ms(10), grace=ms(7))
    stores = joined("join", windows).build().stores.values()
    assert [store.retention_ms for store in stores] == [20, 20]
    assert all(store.retain_duplicates for store in stores)


def test_the_other_record_lies_between_before_and_after() -> None:
    """Of a@10 with before 3 and after 5: from 7 to 15, both inclusive."""
    windows = JoinWindows.of(ms(0), before=ms(3), after=ms(5), grace=ms(100))
    outputs = run(joined("join", windows), "L:a@10 R:w@6 R:x@7 R:y@15 R:z@16")
    assert outputs == "3:k=a|x@10 4:k=a|y@15"


def test_an_inner_join_knows_no_late_records_but_those_its_stores_have_forgotten() -> None:
    """x@12 comes at stream time 80 and finds a@10, since nothing newer was put on the left."""
    assert run(joined("join", WITHIN_5), "L:a@10 R:q@80 R:x@12") == "3:k=a|x@12"


def test_a_record_whose_window_is_over_is_given_out_at_once() -> None:
    """Stream time is 50: the window of a@10 ended at 15, that of c@44 at 49; the grace of 100 does not count."""
    windows = JoinWindows.of(ms(5), grace=ms(100))
    outputs = run(joined("left_join", windows), "R:x@50 L:a@10 L:b@45 L:c@44")
    assert outputs == "2:k=a|None@10 3:k=b|x@50 4:k=c|None@44"


def test_a_record_that_has_met_another_is_not_given_out_alone() -> None:
    outputs = run(joined("outer_join", WITHIN_5), "L:a@10 R:x@12 L:b@100 R:y@130")
    assert outputs == "2:k=a|x@12 4:k=b|None@100"


def test_unmatched_records_go_out_by_time_the_right_side_first() -> None:
    outputs = run(joined("outer_join", WITHIN_5), "R:x=1@10 L:y=2@10 L:z=3@8 R:w=4@9 L:q=5@30")
    assert outputs == "5:z=3|None@8 5:w=None|4@9 5:x=None|1@10 5:y=2|None@10"


def test_a_window_is_over_when_stream_time_is_beyond_its_end_and_grace() -> None:
    outputs = run(joined("outer_join", WITHIN_5), "L:a=1@10 R:b=2@15 L:c=3@16")
    assert outputs == "3:a=1|None@10"


def test_a_record_behind_stream_time_lets_nothing_out() -> None:
    """d@21 is behind 22; the record at 30 advances time."""
    inputs = "L:a=1@10 R:b=2@16 L:c=3@22 R:d=4@21 L:e=5@30"
    outputs = run(joined("outer_join", WITHIN_5), inputs)
    assert outputs == "2:a=1|None@10 3:b=None|2@16 5:d=None|4@21 5:c=3|None@22"


def test_left_records_wait_for_after_and_right_ones_for_before() -> None:
    """b waits for left records up to 8 ms older, a for right ones up to 8 ms younger: both until 18."""
    windows = JoinWindows.of(ms(0), before=ms(0), after=ms(8))
    outputs = run(joined("outer_join", windows), "L:a=1@10 R:b=2@10 L:c=3@15 L:d=4@19 L:e=5@30")
    assert outputs == "4:b=None|2@10 4:a=1|None@10 5:c=3|None@15 5:d=4|None@19"


@pytest.mark.parametrize(
    ("method", "windows", "inputs", "expected"),
    [
        (
            "outer_join",
            WITHIN_5,
            "L:a@1 R:b@20 +1000 R:c@40 L:d@60 +999 L:e@80 +1 L:g@100",
            "4:k=a|None@1 4:k=None|b@20 9:k=None|c@40 9:k=d|None@60 9:k=e|None@80",
        ),
        (
            "left_join",
            JoinWindows.of(ms(0)),
            "L:a@1 R:b@20 L:c@40 +1000 R:b@41 R:b@42",
            "2:k=a|None@1 5:k=c|None@40",
        ),
        (
            "left_join",
            JoinWindows.of(ms(5), after=-ms(2)),
            "L:a@0 L:b@20",
            "2:k=a|None@0 2:k=b|None@20",
        ),
    ],
)
def test_unmatched_records_are_looked_for_once_an_interval_of_the_wall_clock(method, windows, inputs, expected) -> None:  # fmt: skip
    """The first record begins one, although there is nothing to find; not where nothing may come after a record."""
    outputs = run(joined(method, windows), inputs, join_emit_interval_ms=1_000)
    assert outputs == expected


def test_unmatched_records_that_were_restored_go_out_when_their_windows_are_over() -> None:
    """In Kafka Streams too the first record after a restart looks at what there is."""
    config = StreamsConfig("app", string(), string())
    topology = joined("left_join", WITHIN_5).build()
    task = StreamTask(topology, 0, 0, in_memory_stores(), config)
    task.add("L", RawBatch([b"k"], [b"a"], [1], [0]))
    changelogs = task.process(0).changelogs

    task = StreamTask(topology, 0, 0, in_memory_stores(), config)
    for topic, rows in changelogs.items():
        restored = RawBatch(rows.keys, rows.values, rows.timestamps, range(len(rows.keys)))
        task.state.restore(topic, restored)
    task.add("R", RawBatch([b"other"], [b"x"], [7], [0]))
    out = task.process(0).sinks["out"]
    assert (out.keys, out.values, out.timestamps) == ([b"k"], [b"a|None"], [1])


def test_to_s36_an_outer_join_from_beginning_to_end() -> None:
    """G comes late and still meets d."""
    windows = JoinWindows.of(ms(15), grace=ms(5))
    inputs = (
        "L:k=A@0 R:k=b@10 L:k=C@40 R:k=d@61 L:k=E@62 R:k=-@63 L:-=n@64 R:k=f@90 L:k=G@70 R:k=h@90"
    )
    assert run(joined("outer_join", windows), inputs) == (
        "2:k=A|b@10 4:k=C|None@40 5:k=E|d@62 7:-=n|None@64 9:k=G|d@70"
    )


TABLE_OF_THE_DOCUMENTATION = [
    # record, inner, left, outer
    ("L:-@1", "", "", ""),
    ("R:-@2", "", "", ""),
    ("L:A@3", "", "", ""),
    ("R:a@4", "A|a@4", "A|a@4", "A|a@4"),
    ("L:B@5", "B|a@5", "B|a@5", "B|a@5"),
    ("R:b@6", "A|b@6 B|b@6", "A|b@6 B|b@6", "A|b@6 B|b@6"),
    ("L:-@7", "", "", ""),
    ("R:-@8", "", "", ""),
    ("L:C@9", "C|a@9 C|b@9", "C|a@9 C|b@9", "C|a@9 C|b@9"),
    ("R:c@10", "A|c@10 B|c@10 C|c@10", "A|c@10 B|c@10 C|c@10", "A|c@10 B|c@10 C|c@10"),
    ("R:-@11", "", "", ""),
    ("L:-@12", "", "", ""),
    ("R:-@13", "", "", ""),
    ("R:d@14", "A|d@14 B|d@14 C|d@14", "A|d@14 B|d@14 C|d@14", "A|d@14 B|d@14 C|d@14"),
    ("L:D@15", *["D|a@15 D|b@15 D|c@15 D|d@15"] * 3),
    ("L:E@40", "", "", ""),
    ("L:F@60", "", "", ""),
    ("R:f@80", "", "E|None@40", "E|None@40"),
    ("L:G@100", "", "F|None@60", "F|None@60"),
    ("L:H@101", "", "", "None|f@80"),
]
"""Windows of 15 ms, 5 ms of grace, one key; the last row shows what the outer join still holds."""


@pytest.mark.parametrize(("column", "method"), [(1, "join"), (2, "left_join"), (3, "outer_join")])
def test_windowed_joins_give_the_table_of_the_documentation(column: int, method: str) -> None:
    windows = JoinWindows.of(ms(15), grace=ms(5))
    with driver_of(joined(method, windows)) as driver:
        out = driver.output_topic("out", key=TEXT, value=TEXT)
        found = []
        for record, *_ in TABLE_OF_THE_DOCUMENTATION:
            pipe(driver, record)
            found.append(" ".join(f"{row.value}@{row.timestamp}" for row in out.read()))
    assert found == [row[column] for row in TABLE_OF_THE_DOCUMENTATION]
