"""Settings of the producer that depend on each other, and what they mean together."""

from __future__ import annotations

import pytest

from millstream.clients.config import ProducerConfig
from millstream.clients.config.settings import parse_settings
from millstream.errors import ConfigError
from millstream.records.compression import Codec


def test_transactions_need_idempotence_which_is_the_default() -> None:
    config = parse_settings(ProducerConfig, {"transactional_id": "id"})
    assert (config.enable_idempotence, config.acks, config.transaction_timeout_ms) == (
        True,
        -1,
        60_000,
    )
    with pytest.raises(ConfigError, match="transactional_id needs enable_idempotence=True"):
        parse_settings(ProducerConfig, {"transactional_id": "id", "enable_idempotence": False})


@pytest.mark.parametrize(
    ("settings", "codec", "level"),
    [
        ({}, Codec.NONE, None),
        ({"compression_type": "snappy", "compression_zstd_level": 9}, Codec.SNAPPY, None),
        ({"compression_type": "gzip"}, Codec.GZIP, None),
        ({"compression_type": "gzip", "compression_gzip_level": 1}, Codec.GZIP, 1),
        ({"compression_type": "lz4"}, Codec.LZ4, 9),
        ({"compression_type": "zstd", "compression_zstd_level": -5}, Codec.ZSTD, -5),
    ],
)
def test_the_level_is_that_of_the_codec_in_use(
    settings: dict[str, object], codec: Codec, level: int | None
) -> None:
    config = parse_settings(ProducerConfig, settings)
    assert (config.codec, config.compression_level) == (codec, level)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("compression_gzip_level", 0),
        ("compression_gzip_level", 10),
        ("compression_lz4_level", 18),
        ("compression_zstd_level", 23),
    ],
)
def test_levels_that_a_codec_does_not_have_are_refused(key: str, value: int) -> None:
    with pytest.raises(ConfigError, match=f"{key} must be between"):
        parse_settings(ProducerConfig, {key: value})
