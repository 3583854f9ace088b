"""Functions of columns: the same results as functions of records, and clear words where they are no functions of columns."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from millstream.streams import StreamsBuilder, StreamsConfig, TimeWindows
from millstream.streams.errors import StreamsError
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.serdes import bytes_, double, json, long, string
from millstream.streams.state import in_memory_stores
from millstream.streams.vectorised import vectorised

TEXT = string()
MANY = 300  # rows: more than what is read through Arrow


@vectorised
def is_short(_keys: pa.Array, values: pa.Array) -> pa.Array:
    return pc.less(pc.utf8_length(values), 3)


@vectorised
def shouted(values: pa.Array) -> pa.Array:
    return pc.utf8_upper(values)


@vectorised
def first_letter(_keys: pa.Array, values: pa.Array) -> pa.Array:
    return pc.utf8_slice_codeunits(values, 0, 1)


@vectorised
def glued(left: pa.Array, right: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(left, right, "+")


def run(builder: StreamsBuilder, values, *, value=TEXT, batch_max: int = 1000, table=()):
    config = StreamsConfig(
        "app", default_key=string(), default_value=value, batch_records_max=batch_max
    )
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), config)
    if table:
        keys, rows = (list(column) for column in zip(*table, strict=True))
        task.add("table", RawBatch(keys, rows, [0] * len(keys), range(len(keys))))
    data = value.encode_all(values)
    count = len(data)
    task.add("in", RawBatch([b"k"] * count, data, [1] * count, range(count)))
    return task.process(0).sinks["out"]


@pytest.mark.parametrize("batch_max", [1, 1000])
@pytest.mark.parametrize("times", [1, MANY])
def test_a_null_in_the_mask_is_false_as_it_is_for_records(times: int, batch_max: int) -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in")
    stream.filter(is_short).to("out")
    values = ["ab", None, "abc"] * times
    assert run(builder, values, batch_max=batch_max).values == [b"ab"] * times


@pytest.mark.parametrize("batch_max", [1, 1000])
def test_filter_not_keeps_what_the_mask_does_not_say_is_true(batch_max: int) -> None:
    builder = StreamsBuilder()
    builder.stream("in").filter_not(is_short).to("out")
    assert run(builder, ["ab", None, "abc"], batch_max=batch_max).values == [None, b"abc"]


@pytest.mark.parametrize("batch_max", [1, 1000])
def test_values_go_from_one_function_of_columns_to_the_next(batch_max: int) -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in").map_values(shouted).map_values(first_letter, with_key=True)
    stream.to("out")
    assert run(
        builder, ["tea", None, "\N{LATIN SMALL LETTER E WITH ACUTE}t"], batch_max=batch_max
    ).values == [
        b"T",
        None,
        "\N{LATIN CAPITAL LETTER E WITH ACUTE}".encode(),
    ]


def test_functions_of_columns_and_of_records_may_follow_each_other() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in").map_values(lambda value: value + "!").map_values(shouted)
    stream.map_values(lambda value: value * 2).to("out")
    assert run(builder, ["a", "b"]).values == [b"A!A!", b"B!B!"]


def test_keys_are_selected_from_columns() -> None:
    builder = StreamsBuilder()
    builder.stream("in").select_key(first_letter).to("out")
    assert run(builder, ["tea", None, "milk"]).keys == [b"t", None, b"m"]


def test_a_stream_is_joined_with_a_table_by_columns() -> None:
    builder = StreamsBuilder()
    builder.stream("in").left_join(builder.table("table"), glued).to("out")
    assert run(builder, ["a", "b"], table=[(b"k", b"row")]).values == [b"a+row", b"b+row"]


@pytest.mark.parametrize(
    ("serde", "values", "expected"),
    [
        (long(), [1, None], pa.int64()),
        (double(), [1.5, None], pa.float64()),
        (string(), ["a", None], pa.string()),
        (bytes_(), [b"\xff", None], pa.binary()),
        (json(), [{"a": 1}, None], pa.struct([("a", pa.int64())])),
    ],
)
def test_the_type_of_a_column_is_that_of_the_serde_or_inferred(serde, values, expected) -> None:
    types = []

    @vectorised
    def noted(column: pa.Array) -> pa.Array:
        types.append(column.type)
        return column

    builder = StreamsBuilder()
    builder.stream("in").map_values(noted).to("out")
    assert run(builder, values, value=serde).values == serde.encode_all(values)
    assert types == [expected]


def test_broken_text_reaches_a_function_of_columns_with_replacement_characters() -> None:
    builder = StreamsBuilder()
    text = builder.stream("in", value=string()).map_values(shouted)
    text.to("out", value=string())
    assert (
        run(builder, [b"caf\xe9"] * MANY, value=bytes_()).values[0]
        == "CAF\N{REPLACEMENT CHARACTER}".encode()
    )


def test_a_wrong_number_of_rows_is_refused_by_a_sentence_that_names_node_and_function() -> None:
    @vectorised
    def shortened(values: pa.Array) -> pa.Array:
        return values[1:]

    builder = StreamsBuilder()
    builder.stream("in").map_values(shortened, name="shorten").to("out")
    with pytest.raises(StreamsError, match=r"shorten .*shortened is vectorised .* not 1 for 2"):
        run(builder, ["a", "b"])


def test_what_is_no_array_is_refused() -> None:
    builder = StreamsBuilder()
    builder.stream("in").map_values(vectorised(lambda values: 5)).to("out")
    with pytest.raises(StreamsError, match="must give a pyarrow array, not int"):
        run(builder, ["a", "b"])


def test_the_wrong_number_of_parameters_is_refused_when_the_function_is_given() -> None:
    with pytest.raises(TypeError, match=r"filter: predicate is called with \(key, value\)"):
        StreamsBuilder().stream("in").filter(shouted)


def test_an_operator_that_calls_for_each_record_refuses_a_function_of_columns() -> None:
    stream = StreamsBuilder().stream("in")
    with pytest.raises(TypeError, match="reduce: reducer glued is vectorised"):
        stream.group_by_key().reduce(glued)
    windowed = stream.group_by_key().windowed_by(TimeWindows(10, 10))
    with pytest.raises(TypeError, match="aggregate: aggregator"):
        windowed.aggregate(int, vectorised(lambda key, value, aggregate: aggregate))


def test_a_function_of_columns_travels_to_other_processes() -> None:
    again = pickle.loads(pickle.dumps(is_short_wrapped))
    assert again(pa.array(["k"]), pa.array(["ab"])).to_pylist() == [True]


def _is_short(_keys: pa.Array, values: pa.Array) -> pa.Array:
    return pc.less(pc.utf8_length(values), 3)


is_short_wrapped = vectorised(_is_short)
