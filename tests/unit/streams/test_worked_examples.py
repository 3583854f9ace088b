"""Rules S17-S36 by examples that were run on Kafka Streams 4.3.1.

Inputs are `topic:value@ts` for key k, or `topic:key=value@ts`; `-` is null. Outputs are `i:key=value@ts` after
input i.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from millstream.streams import (
    JoinWindows,
    KTable,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    StreamsConfig,
    Suppressed,
    TimeWindows,
    Windowed,
)
from millstream.streams.serdes import Serde, string
from millstream.testing.topology_test_driver import TopologyTestDriver


def ms(count: int) -> timedelta:
    return timedelta(milliseconds=count)


def shown_key(key) -> str:
    return f"{key.key}@{key.start_ms}-{key.end_ms}" if isinstance(key, Windowed) else f"{key}"


KEY_TEXT: Serde = Serde("text", lambda key: shown_key(key).encode(), bytes.decode)


def write(result) -> None:
    stream = result.to_stream() if isinstance(result, KTable) else result
    stream.to("out", key=KEY_TEXT)


def run(builder: StreamsBuilder, inputs: str) -> list[str]:
    config = StreamsConfig("app", default_key=string(), default_value=string())
    outputs = []
    with TopologyTestDriver(builder.build(), config) as driver:
        for number, each in enumerate(inputs.split(), 1):
            topic, _, rest = each.partition(":")
            pair, _, at = rest.rpartition("@")
            key, found, value = pair.rpartition("=")
            key = key if found else "k"
            driver.input_topic(topic).pipe(
                None if key == "-" else key, None if value == "-" else value, at=int(at)
            )
            for row in driver.output_topic("out").read():
                value = "-" if row.value is None else row.value
                outputs.append(f"{number}:{row.key}={value}@{row.timestamp}")
    return outputs


TABLE_INPUTS = (
    "R:p@5 L:A@3 L:B@8 R:q@6 L:-@9 R:-@10 R:r@12 L:C@11 R:-@13 L:D@14 L:-@15 L:-@16 R:s@9 L:E@20 "
    "R:t@4 L:F@7 R:-@18 L:-@19 R:u@25 L:G@21 R:-@22 L:-@8"
)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (
            "join",
            (
                "2:A-p@5 3:B-p@8 4:B-q@8 5:-@9 8:C-r@12 9:-@13 14:E-s@20 15:E-t@20 16:F-t@7 17:-@18 "
                "20:G-u@25 21:-@22"
            ),
        ),
        (
            "left_join",
            (
                "2:A-p@5 3:B-p@8 4:B-q@8 5:-@9 8:C-r@12 9:C-None@13 10:D-None@14 11:-@15 14:E-s@20 "
                "15:E-t@20 16:F-t@7 17:F-None@18 18:-@19 20:G-u@25 21:G-None@22 22:-@8"
            ),
        ),
        (
            "outer_join",
            (
                "1:None-p@5 2:A-p@5 3:B-p@8 4:B-q@8 5:None-q@9 6:-@10 7:None-r@12 8:C-r@12 9:C-None@13 "
                "10:D-None@14 11:-@15 13:None-s@9 14:E-s@20 15:E-t@20 16:F-t@7 17:F-None@18 18:-@19 "
                "19:None-u@25 20:G-u@25 21:G-None@22 22:-@8"
            ),
        ),
    ],
)
def test_s27_table_table_joins_forward_what_the_table_of_the_rule_says(method, expected) -> None:
    builder = StreamsBuilder()
    left, right = builder.table("L"), builder.table("R")
    write(getattr(left, method)(right, lambda x, y: f"{x}-{y}"))
    assert run(builder, TABLE_INPUTS) == [each.replace(":", ":k=") for each in expected.split()]


def test_s19_s21_time_windows_aggregate_nulls_and_drop_null_keys_and_late_records() -> None:
    builder = StreamsBuilder()
    windows = builder.stream("S").group_by_key().windowed_by(TimeWindows.tumbling(ms(10)))
    write(windows.aggregate(lambda: "i", lambda key, value, agg: f"{agg},{value}"))
    outputs = run(builder, "S:k=a@1 S:k=-@2 S:-=z@3 S:k=b@12 S:k=c@5")
    assert outputs == ["1:k@0-10=i,a@1", "2:k@0-10=i,a,None@2", "4:k@10-20=i,b@12"]


def test_s22_sessions_retract_what_they_absorb_and_merge_from_a_fresh_initializer() -> None:
    builder = StreamsBuilder()
    sessions = builder.stream("S").group_by_key().windowed_by(SessionWindows.of(ms(5)))
    write(
        sessions.aggregate(
            lambda: "i",
            lambda key, value, agg: f"{agg},{value}",
            lambda key, one, other: f"{one}|{other}",
        )
    )
    assert run(builder, "S:k=a@1 S:k=-@2 S:k=b@8 S:k=c@6 S:k=d@30 S:k=e@20") == [
        "1:k@1-1=i,a@1",
        "2:k@1-1=-@1",
        "2:k@1-2=i|i,a,None@2",
        "3:k@8-8=i,b@8",
        "4:k@8-8=-@8",
        "4:k@6-8=i|i,b,c@8",
        "5:k@30-30=i,d@30",
    ]


def test_s21_sliding_windows_drop_null_values_and_share_one_early_window() -> None:
    builder = StreamsBuilder()
    windows = builder.stream("S").group_by_key().windowed_by(SlidingWindows.of(ms(5)))
    write(windows.aggregate(lambda: "i", lambda key, value, agg: f"{agg},{value}"))
    assert run(builder, "S:k=a@1 S:k=-@2 S:k=b@8") == ["1:k@0-5=i,a@1", "3:k@3-8=i,b@8"]


def test_s20_an_aggregate_of_none_deletes_the_row_and_its_timestamp() -> None:
    builder = StreamsBuilder()
    grouped = builder.stream("S").group_by_key()
    write(
        grouped.aggregate(
            lambda: "i", lambda key, value, agg: None if value == "x" else f"{agg},{value}"
        )
    )
    outputs = run(builder, "S:a@5 S:-@6 S:b@3 S:x@4 S:c@2")
    assert outputs == ["1:k=i,a@5", "3:k=i,a,b@5", "4:k=-@5", "5:k=i,c@2"]


def test_s28_a_filter_without_a_store_forwards_every_failing_update_as_a_tombstone() -> None:
    builder = StreamsBuilder()
    write(builder.table("T").filter(lambda key, value: value == "y"))
    outputs = run(builder, "T:n@1 T:n@2 T:y@3 T:n@4 T:n@5")
    assert outputs == ["1:k=-@1", "2:k=-@2", "3:k=y@3", "4:k=-@4", "5:k=-@5"]


def test_s25_a_regrouped_row_is_taken_off_before_it_is_added() -> None:
    builder = StreamsBuilder()
    grouped = builder.table("T").group_by(lambda key, value: (value[:1], value))
    write(
        grouped.aggregate(
            lambda: "i",
            lambda key, value, agg: f"{agg}+{value}",
            lambda key, value, agg: f"{agg}-{value}",
        )
    )
    assert run(builder, "T:k=a1@1 T:k=a2@2 T:k=b1@3 T:j=b2@1 T:k=-@4") == [
        "1:a=i+a1@1",
        "2:a=i+a1-a1+a2@2",
        "3:a=i+a1-a1+a2-a2@3",
        "3:b=i+b1@3",
        "4:b=i+b1+b2@3",
        "5:b=i+b1+b2-b1@4",
    ]


def test_s33_to_s36_an_outer_join_gives_out_unmatched_records_when_their_window_is_over() -> None:
    builder = StreamsBuilder()
    windows = JoinWindows.of(ms(15), grace=ms(5))
    joined = builder.stream("L").outer_join(
        builder.stream("R"), lambda x, y: f"{x}-{y}", windows=windows
    )
    write(joined.map(lambda key, value: (str(key), value)))
    inputs = (
        "L:k=A@0 R:k=b@10 L:k=C@40 R:k=d@61 L:k=E@62 R:k=-@63 L:-=n@64 R:k=f@90 L:k=G@70 R:k=h@90"
    )
    assert run(builder, inputs) == [
        "2:k=A-b@10",
        "4:k=C-None@40",
        "5:k=E-d@62",
        "7:None=n-None@64",
        "9:k=G-d@70",
    ]


def test_s26_a_later_change_of_a_buffered_key_takes_its_place_and_tombstones_are_kept() -> None:
    builder = StreamsBuilder()
    write(builder.table("T").suppress(Suppressed.until_time_limit(ms(5))))
    outputs = run(builder, "T:k=a@1 T:k=b@4 T:j=x@5 T:j=-@6 T:z=z@12")
    assert outputs == ["4:k=b@4", "5:j=-@6"]
