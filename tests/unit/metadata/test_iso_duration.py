"""Durations: taken and refused as Kafka 4.3.1 took and refused them for share.auto.offset.reset."""

from __future__ import annotations

import pytest

from millstream.errors import ConfigError
from millstream.metadata.config_validators import duration_ms
from millstream.metadata.group_config import GROUP_CONFIGS

TAKEN = {
    "PT0S": 0,
    "PT1,5S": 1_500,
    "PT1.S": 1_000,
    "P1DT2H3M4.5S": 93_784_500,
    "pt1h": 3_600_000,
    "PT1H-5M": 3_300_000,
    "PT1H-60M": 0,
    "+P1D": 86_400_000,
    "P+1D": 86_400_000,
    "-PT-1S": 1_000,
    "-P0D": 0,
    "PT-0S": 0,
    "PT1.123456789S": 1_123,
    "P106751991167300D": 9_223_372_036_854_720_000_000,
    "P106751991167300DT15H30M7S": 9_223_372_036_854_775_807_000,
    "PT9223372036854775807.999999999S": 9_223_372_036_854_775_807_999,
}
REFUSED = [
    "", "P", "PT", "P1DT", "1D", "--PT1S", "P1W", "P1Y", "PT٣S", "PT1.1234567891S", "PT.5S", " PT1S",
    "P106751991167301D", "P106751991167300DT15H30M8S", "PT9223372036854775808S", "PT2562047788015216H",
    f"P{'9' * 20}D", f"P{'9' * 5_000}D",
]  # fmt: skip
NEGATIVE = ["-PT1S", "PT-1S", "PT-0.5S", "PT1H-61M", "PT1H-9223372036854775807S"]


@pytest.mark.parametrize("text", TAKEN)
def test_a_duration_is_read_to_the_millisecond(text: str) -> None:
    assert duration_ms(text) == TAKEN[text]
    GROUP_CONFIGS["share.auto.offset.reset"].parse(f"by_duration:{text}")


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_duration_or_too_long_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no duration|more than 64 bits|Exceeds the limit"):
        duration_ms(text)


@pytest.mark.parametrize("text", [*REFUSED, *NEGATIVE])
def test_a_group_does_not_begin_where_no_duration_leads(text: str) -> None:
    with pytest.raises(ConfigError, match="earliest, latest or by_duration"):
        GROUP_CONFIGS["share.auto.offset.reset"].parse(f"by_duration:{text}")
