"""Every option in a stream and in a batch: taken where it has an effect, refused where it has none, or is no such value."""

from __future__ import annotations

import pytest
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from millstream.errors import ConfigError
from millstream.spark.data_source import MillstreamSource
from millstream.spark.sink.options import parse_sink_options
from millstream.spark.source.options import KNOWN

GROUP = {"group.id": "g"}
OPAQUE = {"replay": "opaque", "replayTopic": "r"}
SLICED = {"maxRecordsPerTrigger": "9", "sliceByTimestamp": "true"}
COMMITTED = GROUP | {"startingOffsets": "committed"}
END = {"endOfStream": "os.path:isabs"}
BOTH, STREAM, BATCH, NEITHER = (True, True), (True, False), (False, True), (False, False)
ALIASES = {"kafka.group.id": "group.id", "maxOffsetsPerTrigger": "maxRecordsPerTrigger"}
NO_SCHEMA = StructType([])

COMBINATIONS = [
    ({}, BOTH),
    ({"startingOffsets": "earliest"}, BOTH),
    ({"startingTimestamp": "5"}, BOTH),
    ({"startingOffsetsByTimestamp": '{"t": 5}'}, BOTH),
    ({"startingOffsetsByTimestampStrategy": "latest"}, NEITHER),
    ({"startingOffsetsByTimestampStrategy": "latest", "startingTimestamp": "5"}, BOTH),
    ({"startingOffsetsFunction": "os.path:join"}, BOTH),
    ({"startingOffsetsFunction": "os.path:join", "startingOffsets": "earliest"}, NEITHER),
    ({"startingOffsetsFunction": "os.path:join", "startingTimestamp": "5"}, NEITHER),
    ({"endingOffsets": "latest"}, BATCH),
    ({"endingTimestamp": "5"}, BATCH),
    ({"endingOffsetsByTimestamp": '{"t": 5}'}, BATCH),
    (GROUP, STREAM),
    ({"kafka.group.id": "g"}, STREAM),
    (COMMITTED, BOTH),
    (GROUP | {"endingOffsets": "committed"}, BATCH),
    ({"startingOffsets": "committed"}, NEITHER),
    (COMMITTED | {"offsetCommitMode": "DISABLED"}, STREAM),
    (GROUP | {"offsetCommitMode": "PERIODIC"}, STREAM),
    ({"offsetCommitMode": "PERIODIC"}, NEITHER),
    (GROUP | {"offsetCommitMode": "PERIODIC", "offsetCommitIntervalMs": "9"}, STREAM),
    (GROUP | {"offsetCommitIntervalMs": "9"}, NEITHER),
    (GROUP | {"offsetCommitMode": "ON_CHECKPOINTS", "offsetCommitIntervalMs": "9"}, NEITHER),
    (COMMITTED | {"maxOffsetBehind": "9"}, BOTH),
    (GROUP | {"maxOffsetBehind": "9"}, NEITHER),
    ({"maxRecordsPerTrigger": "9"}, STREAM),
    ({"maxOffsetsPerTrigger": "9"}, STREAM),
    ({"maxRecordsPerTrigger": "9", "sliceByTimestamp": "false"}, STREAM),
    ({"maxBytesPerTrigger": "9", "sliceByTimestamp": "true"}, STREAM),
    ({"sliceByTimestamp": "true"}, NEITHER),
    ({"sliceByTimestamp": "false", "minOffsetsPerTrigger": "9"}, NEITHER),
    (SLICED | {"watermark": "none", "copartition": "true"}, STREAM),
    (SLICED | {"watermark": "periodic"}, NEITHER),
    (SLICED | OPAQUE, NEITHER),
    ({"pollTimeoutMs": "9"}, STREAM),
    ({"discoveryIntervalMs": "9"}, STREAM),
    ({"minPartitions": "9"}, BOTH),
    ({"maxRecordsPerPartition": "9"}, BOTH),
    ({"includeHeaders": "true"}, BOTH),
    ({"failOnDataLoss": "skip"}, BOTH),
    ({"copartition": "true"}, BOTH),
    (END, STREAM),
    (END | {"endOfStreamScope": "query"}, STREAM),
    ({"endOfStreamScope": "query"}, NEITHER),
    (END | {"copartition": "true"}, NEITHER),
    ({"copartition": "true", "minPartitions": "9"}, NEITHER),
    ({"replay": "transactional"}, STREAM),
    (OPAQUE, STREAM),
    (OPAQUE | {"watermark": "none", "copartition": "false"}, STREAM),
    (OPAQUE | {"minPartitions": "9", "minOffsetsPerTrigger": "9"} | GROUP, STREAM),
    ({"replay": "opaque"}, NEITHER),
    ({"replayTopic": "r"}, NEITHER),
    ({"replay": "transactional", "replayTopic": "r"}, NEITHER),
    (OPAQUE | {"watermark": "periodic"}, NEITHER),
    (OPAQUE | {"maxBytesPerTrigger": "9"}, NEITHER),
    (OPAQUE | {"copartition": "true"}, NEITHER),
    (OPAQUE | END, NEITHER),
    (OPAQUE | GROUP | {"offsetCommitMode": "AT_MOST_ONCE"}, NEITHER),
]


def is_taken(options: dict[str, str], *, stream: bool) -> bool:
    needed = {"bootstrap.servers": "localhost:9092", "subscribe": "t"}
    # Spark hands options on in lower case.
    source = MillstreamSource({name.lower(): v for name, v in (needed | options).items()})
    try:
        _ = source.streamReader(NO_SCHEMA) if stream else source.reader(NO_SCHEMA)
    except ConfigError as error:
        refusal = str(error)
    else:
        return True
    names = {ALIASES.get(name, name) for name in options}
    assert any(name in refusal for name in names), refusal
    return False


@pytest.mark.parametrize(("options", "taken"), COMBINATIONS)
def test_an_option_without_effect_is_refused_by_name(
    options: dict[str, str], taken: tuple[bool, bool]
) -> None:
    assert (is_taken(options, stream=True), is_taken(options, stream=False)) == taken


WRONG = {
    "bootstrap.servers": "",
    "subscribe": ",",
    "subscribepattern": "(",
    "assign": "[0]",
    "startingoffsets": "first",
    "startingtimestamp": "yesterday",
    "startingoffsetsbytimestamp": '{"t": "x"}',
    "startingoffsetsbytimestampstrategy": "earliest",
    "startingoffsetsfunction": "no_function",
    "endingoffsets": "[]",
    "endingtimestamp": "-1",
    "endingoffsetsbytimestamp": "5",
    "offsetcommitmode": "sometimes",
    "offsetcommitintervalms": "0",
    "maxoffsetbehind": "-1",
    "maxrecordspertrigger": "many",
    "maxrecordsperpartition": "0",
    "minpartitions": "1.5",
    "polltimeoutms": "-1",
    "discoveryintervalms": "soon",
    "includeheaders": "1",
    "failondataloss": "no",
    "copartition": "maybe",
    "endofstream": "no_function",
    "endofstreamscope": "topic",
    "replay": "often",
    "replaytopic": " ",
}
BESIDE = {
    "startingoffsetsbytimestampstrategy": {"startingtimestamp": "5"},
    "offsetcommitmode": GROUP,
    "offsetcommitintervalms": GROUP | {"offsetcommitmode": "periodic"},
    "maxoffsetbehind": COMMITTED,
    "endofstreamscope": END,
    "replaytopic": {"replay": "opaque"},
}
INSTEAD_OF_SUBSCRIBE = {"subscribe", "subscribepattern", "assign"}


@pytest.mark.parametrize("name", sorted(WRONG))
def test_a_wrong_value_is_named_with_its_option(name: str) -> None:
    given = {"bootstrap.servers": "localhost:9092", **BESIDE.get(name, {}), name: WRONG[name]}
    if name not in INSTEAD_OF_SUBSCRIBE:
        given["subscribe"] = "t"
    with pytest.raises(ConfigError) as refused:
        MillstreamSource({n.lower(): v for n, v in given.items()}).schema()
    sentence = str(refused.value)
    assert name in sentence.lower() or sentence.startswith("format millstream needs a broker")
    assert "\n" not in sentence


def test_every_option_that_has_values_of_its_own_is_tried() -> None:
    """Options of rows and the like have tables beside their own parsers."""
    assert set(WRONG) <= {name.lower() for name in KNOWN}


@pytest.mark.parametrize(
    ("options", "columns", "says"),
    [
        ({"topic": "t", "nullTopic": "skip"}, "value", "nullTopic has a use only"),
        ({"topic": "t", "nullTopic": "skip"}, "value topic", "nullTopic has a use only"),
        ({"nullTopic": "sometimes"}, "value topic", "nullTopic is one of fail, skip"),
        ({"topic": "t", "deliveryGuarantee": "twice"}, "value", "deliveryGuarantee is one of"),
        ({"topic": "t", "transactionalIdPrefix": "p"}, "value", "transactionalIdPrefix has a use"),
    ],
)
def test_the_sink_refuses_what_has_no_effect(
    options: dict[str, str], columns: str, says: str
) -> None:
    kinds = {"value": BinaryType(), "topic": StringType()}
    schema = StructType([StructField(name, kinds[name]) for name in columns.split()])
    with pytest.raises(ConfigError, match=says):
        parse_sink_options({"bootstrap.servers": "b:1"} | options, schema)
