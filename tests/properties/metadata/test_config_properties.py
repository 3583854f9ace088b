"""Every key of the topic table against every text."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from millstream.errors import ConfigError
from millstream.metadata.topic_config import TOPIC_CONFIGS, LogConfig, log_config
from millstream.protocol.enums import ConfigType

LIKELY = st.one_of(
    st.text(max_size=12),
    st.integers(-(1 << 65), 1 << 65).map(str),
    st.floats(allow_nan=True).map(str),
    st.sampled_from(
        [
            "true",
            "FALSE",
            "compact",
            "delete",
            "compact,delete",
            "*",
            "1:2,3:4",
            "gzip",
            "CreateTime",
        ]
    ),
)
KEYS = st.sampled_from(sorted(TOPIC_CONFIGS))


@given(KEYS, LIKELY)
@example("cleanup.policy", "delete, delete")
@example("min.cleanable.dirty.ratio", "NaN")
def test_a_text_is_refused_or_understood_once_and_for_all(name: str, text: str) -> None:
    key = TOPIC_CONFIGS[name]
    try:
        value = key.parse(text)
    except ConfigError as refusal:
        assert name in str(refusal)  # noqa: PT017 - a refusal is one of two good outcomes
        return
    assert key.parse(key.format(value)) == value
    assert isinstance(value, tuple) == (key.type is ConfigType.LIST)


@given(st.dictionaries(KEYS, LIKELY, max_size=3))
def test_overrides_are_refused_or_make_a_log_config(overrides: dict[str, str]) -> None:
    try:
        config = log_config(overrides)
    except ConfigError:
        return
    assert isinstance(config, LogConfig)
    assert log_config({}, overrides) == config
