"""The options of retries, and what a topology with retries is called and consists of."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.streams import (
    StreamsBuilder,
)
from millstream.streams.application.group.topology_description import describe
from millstream.streams.errors import (
    TopologyError,
)
from millstream.streams.serdes import string
from millstream.streams.vectorised import vectorised
from tests.unit.streams.kernel.retrying import (
    CHANGELOG,
    Service,
    ms,
    plain,
    retry,
    topology,
)


def test_the_node_is_called_as_without_retries_and_so_are_all_others() -> None:
    def described(**options: Any) -> str:
        builder = StreamsBuilder()
        stream = builder.stream("in", key=string(), value=string())
        mapped = stream.map_values(str.upper, **options)
        mapped.group_by_key(value=string()).count().to_stream().to("out")
        return str(builder.build().describe())

    shown = described(retry=retry())
    assert shown.replace("(stores: [retries])", "(stores: [])") == described()
    assert "KSTREAM-MAPVALUES-0000000001 (stores: [retries])" in shown


def test_the_changelog_of_the_store_is_told_to_the_group() -> None:
    (told,) = describe(topology(plain(Service())), "app").subtopologies
    (changelog,) = told.state_changelog_topics
    assert changelog.name == CHANGELOG
    assert {each.key: each.value for each in changelog.topic_configs}["cleanup.policy"] == "compact"


@vectorised
def _columns(values: Any) -> Any:
    raise NotImplementedError(values)


@pytest.mark.parametrize(
    ("mapper", "options", "error", "words"),
    [
        (_columns, {}, TypeError, "vectorised"),
        (str.upper, {"dead_letters": "no topic"}, TopologyError, "dead letters of KSTREAM"),
    ],
)
def test_what_cannot_be_retried_is_refused(
    mapper: Any, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    stream = StreamsBuilder().stream("in", key=string(), value=string())
    with pytest.raises(error, match=words):
        stream.map_values(mapper, retry=retry(**options))


def test_a_name_in_place_of_the_options_is_refused() -> None:
    stream: Any = StreamsBuilder().stream("in", key=string(), value=string())
    with pytest.raises(TypeError, match="retry must be a Retry, not str"):
        stream.map_values(str.upper, retry="retries")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delay_initial": ms(0)}, "delay_initial must be at least 1 ms"),
        ({"delay_max": ms(9)}, "delay_max of 0:00:00.009000 is shorter than delay_initial"),
        ({"delay_multiplier": 0.5}, "delay_multiplier must be a number of at least 1, not 0.5"),
        ({"delay_multiplier": float("nan")}, "delay_multiplier must be"),
        ({"jitter": 1.5}, "jitter must be from 0 to 1, not 1.5"),
        ({"retries_max": -1}, "retries_max must not be negative"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        retry(**options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delay_initial": 5}, "delay_initial must be a timedelta"),
        ({"retry_on": KeyboardInterrupt}, "retry_on has classes of exceptions, not"),
        ({"retry_on": (OSError, "other")}, "retry_on has classes of exceptions, not 'other'"),
        ({"retry_on": OSError()}, "retry_on must be a type or tuple"),
        ({"retries_max": "3"}, "retries_max must be an int"),
        ({"key": str}, "key must be a Serde"),
    ],
)
def test_options_of_another_type_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        retry(**options)
