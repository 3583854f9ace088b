"""ConfigKey: text to value and back, and what is refused."""

from __future__ import annotations

import math

import pytest

from millstream.errors import ConfigError
from millstream.metadata.config_key import NO_DEFAULT, ConfigKey, config_table, parse_config
from millstream.metadata.config_validators import Between, NotBlank
from millstream.protocol.enums import ConfigType


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (ConfigType.BOOLEAN, " TRUE ", True),
        (ConfigType.BOOLEAN, "false", False),
        (ConfigType.SHORT, "-32768", -32768),
        (ConfigType.INT, " 2147483647", 2147483647),
        (ConfigType.LONG, "-9223372036854775808", -(1 << 63)),
        (ConfigType.DOUBLE, "0.25", 0.25),
        (ConfigType.LIST, "a, b,c", ("a", "b", "c")),
        (ConfigType.LIST, "", ()),
        (ConfigType.STRING, " x ", "x"),
    ],
)
def test_text_becomes_a_value(kind: ConfigType, text: str, value: object) -> None:
    assert ConfigKey("k", kind, None).parse(text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (ConfigType.BOOLEAN, "1"),
        (ConfigType.SHORT, "32768"),
        (ConfigType.INT, "2147483648"),
        (ConfigType.INT, "1_000"),
        (ConfigType.INT, "1.0"),
        (ConfigType.INT, "٣"),
        (ConfigType.LONG, "9" * 5000),
        (ConfigType.DOUBLE, "half"),
        (ConfigType.DOUBLE, "NaN"),
        (ConfigType.DOUBLE, "1_0.5"),
    ],
)
def test_text_of_the_wrong_type_is_refused(kind: ConfigType, text: str) -> None:
    with pytest.raises(ConfigError, match="configuration k:"):
        ConfigKey("k", kind, None).parse(text)


@pytest.mark.parametrize("value", [True, 7, -1, 0.5, "text", ("a", "b"), (), None])
def test_format_is_the_inverse_of_parse(value: object) -> None:
    kinds = {
        bool: ConfigType.BOOLEAN,
        int: ConfigType.LONG,
        float: ConfigType.DOUBLE,
        tuple: ConfigType.LIST,
    }
    key = ConfigKey("k", kinds.get(type(value), ConfigType.STRING), None)
    assert key.parse(key.format(value)) == value  # type: ignore[arg-type]  # parametrised over all value types


def test_null_is_refused_where_the_default_is_not_null() -> None:
    with pytest.raises(ConfigError, match="a value is needed"):
        ConfigKey("k", ConfigType.INT, 3).parse(None)


def test_a_sensitive_value_is_not_quoted_in_its_error() -> None:
    key = ConfigKey("k", ConfigType.PASSWORD, "secret", NotBlank())
    with pytest.raises(ConfigError) as refused:
        key.parse("")
    assert "[hidden]" in str(refused.value)


def test_a_required_key_must_be_given() -> None:
    table = config_table([ConfigKey("node.id", ConfigType.INT, NO_DEFAULT, Between(0, None))])
    with pytest.raises(ConfigError, match=r"Missing configuration node.id"):
        parse_config(table, {})
    assert parse_config(table, {"node.id": "4"}) == {"node.id": 4}


def test_a_name_that_stands_twice_in_a_table_is_a_programming_error() -> None:
    key = ConfigKey("k", ConfigType.INT, 1)
    with pytest.raises(AssertionError, match="stands twice"):
        config_table([key, key])


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0.0"), (0.5, "0.5"), (0.001, "0.001"), (0.00012, "1.2E-4"), (9_999_999.0, "9999999.0"), (1e7, "1.0E7"),
        (2_147_483_647.0, "2.147483647E9"), (-12_345_678.9, "-1.23456789E7"), (1e22, "1.0E22"),
        (1.7976931348623157e308, "1.7976931348623157E308"), (math.inf, "Infinity"),
    ],
)  # fmt: skip
def test_numbers_are_told_as_kafka_tells_them(number: float, text: str) -> None:
    """Its values are Java's `Double.toString`."""
    key = ConfigKey("k", ConfigType.DOUBLE, None)
    assert (key.format(number), key.parse(text)) == (text, number)
