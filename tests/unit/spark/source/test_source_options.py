"""Options of the streaming source: what is understood, and what a mistake is answered with."""

from __future__ import annotations

import pytest

from millstream.errors import ConfigError
from millstream.spark.kafka_settings import KafkaSettings
from millstream.spark.source.data_loss import DataLossPolicy
from millstream.spark.source.options import SourceOptions, parse_source_options
from millstream.spark.source.positions import Earliest, Latest, PositionRules
from millstream.spark.source.subscription import Topics

NEEDED = {"bootstrap.servers": "localhost:9092", "subscribe": "orders"}


def test_defaults() -> None:
    assert parse_source_options(NEEDED) == SourceOptions(
        kafka=KafkaSettings((("bootstrap_servers", "localhost:9092"),)),
        subscription=Topics(("orders",)),
        starting_offsets=PositionRules(Latest()),
        records_per_trigger_max=None,
        poll_timeout_ms=500,
        include_headers=False,
        data_loss=DataLossPolicy.FAIL,
        copartition=False,
    )


def test_names_of_sparks_own_connector_are_understood() -> None:
    options = parse_source_options(
        {
            "kafka.bootstrap.servers": "b:1",
            "subscribe": " a, b,a ",
            "startingOffsets": "EARLIEST",
            "maxOffsetsPerTrigger": "10",
            "includeHeaders": "true",
            "failOnDataLoss": "False",
        }
    )
    assert (options.kafka.bootstrap_servers, options.subscription) == ("b:1", Topics(("a", "b")))
    assert options.starting_offsets == PositionRules(Earliest())
    assert options.records_per_trigger_max == 10
    assert (options.include_headers, options.data_loss) == (True, DataLossPolicy.EARLIEST)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"subscribe": " , "}, "needs topics"),
        ({"bootstrap.servers": ""}, "needs a broker"),
        (
            {"startingOffset": "earliest"},
            r"unknown option 'startingOffset' of format millstream: did you mean startingOffsets\?$",
        ),
        ({"badtimestamp": "null"}, r"did you mean badTimestamps\?$"),
        ({"maxoffsetpertrigger": "5"}, r"did you mean minOffsetsPerTrigger\?$"),
        (
            {"colour": "red"},
            "unknown option 'colour' of format millstream: known are bootstrap.servers, subscribe, subscribePattern, assign, startingOffsets",
        ),
        ({"badRows": "deadletters"}, "badRows is one of fail, null, deadLetter, not 'deadletters'"),
        ({"startingOffsets": "first"}, "startingOffsets is earliest, latest"),
        ({"startingOffsets": '{"orders": [1]}'}, "startingOffsets is earliest, latest"),
        (
            {"maxRecordsPerTrigger": "0"},
            "maxRecordsPerTrigger must be a whole number of at least 1",
        ),
        ({"pollTimeoutMs": "soon"}, "pollTimeoutMs must be a whole number"),
        ({"includeHeaders": "yes"}, "includeHeaders must be true or false"),
    ],
)
def test_every_mistake_is_named(changed: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        parse_source_options(NEEDED | changed)
