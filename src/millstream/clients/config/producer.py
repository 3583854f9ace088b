"""Settings of the producer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from millstream.clients.config.client import ClientConfig, ClientSettings
from millstream.errors import ConfigError
from millstream.net.client.config.declarations import (
    boolean,
    integer,
    one_of,
    optional_text,
    setting,
)
from millstream.records.compression import Codec

CODEC_NAMES = ("none", "gzip", "snappy", "lz4", "zstd")


def _acks(key: str, value: object) -> int:
    acks = {"all": -1, -1: -1, "-1": -1, 0: 0, "0": 0, 1: 1, "1": 1}
    if isinstance(value, (str, int)) and not isinstance(value, bool) and value in acks:
        return acks[value]
    raise ConfigError(f'{key} must be "all", 1 or 0, got {value!r}')


def _gzip_level(key: str, value: object) -> int:
    return -1 if value == -1 else cast("int", integer(1, 9)(key, value))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConfig(ClientConfig):
    acks: int = setting(
        -1,
        _acks,
        'Who must have a record before it counts as written: "all" in-sync replicas, 1 (the leader), or 0 (nobody: the broker does not answer).',
    )
    enable_idempotence: bool = setting(
        True, boolean, "Retries neither duplicate nor reorder records. Needs acks=all."
    )
    compression_type: str = setting(
        "none", one_of(*CODEC_NAMES), "How batches are compressed: none, gzip, snappy, lz4 or zstd."
    )
    compression_gzip_level: int = setting(
        -1, _gzip_level, "Level of gzip: 1 (fast) to 9 (small). -1: zlib's default."
    )
    compression_lz4_level: int = setting(
        9, integer(1, 17), "Level of lz4: 1 to 17. 9 is the fast compressor, as in Java."
    )
    compression_zstd_level: int = setting(
        3, integer(-131_072, 22), "Level of zstd: -131072 (fast) to 22 (small)."
    )
    batch_size: int = setting(
        16_384, integer(0), "A batch of one partition is sent when it has this many bytes."
    )
    linger_ms: int = setting(
        5, integer(0), "How long a batch waits for more records before it is sent."
    )
    buffer_memory: int = setting(
        33_554_432,
        integer(1024, 2**62),
        "Memory for records that are not sent yet. send() waits when it is full.",
    )
    max_block_ms: int = setting(
        60_000, integer(0), "Longest time that send() waits for metadata and for memory."
    )
    max_request_size: int = setting(
        1_048_576, integer(1), "Largest size of one record and of one request."
    )
    delivery_timeout_ms: int = setting(
        120_000,
        integer(1),
        "A record is either acknowledged or failed within this time after send().",
    )
    retries: int = setting(
        2**31 - 1, integer(0), "How often a batch is sent again after a failure."
    )
    max_in_flight_requests_per_connection: int = setting(
        5, integer(1), "Most unanswered requests to one broker. At most 5 with enable_idempotence."
    )
    transactional_id: str | None = setting(
        None,
        optional_text,
        "Name that makes the producer transactional. Only one running producer may use it: a newer one stops the older.",
    )
    transaction_timeout_ms: int = setting(
        60_000,
        integer(1),
        "The coordinator aborts a transaction that is open for longer than this.",
    )
    partitioner_ignore_keys: bool = setting(
        False,
        boolean,
        "Ignore keys when a partition is chosen: all records are treated as if they had none.",
    )
    partitioner_adaptive_partitioning_enable: bool = setting(
        True,
        boolean,
        "Send fewer records without a key to partitions where many records are waiting (KIP-794).",
    )
    partitioner_availability_timeout_ms: int = setting(
        0,
        integer(0),
        "Avoid partitions whose broker has accepted nothing for this time. 0: never avoid them.",
    )

    @property
    def codec(self) -> Codec:
        return Codec[self.compression_type.upper()]

    @property
    def compression_level(self) -> int | None:
        """The level of the codec that is used; None where it has none, or its own is wanted."""
        levels = {
            Codec.GZIP: None if self.compression_gzip_level == -1 else self.compression_gzip_level,
            Codec.LZ4: self.compression_lz4_level,
            Codec.ZSTD: self.compression_zstd_level,
        }
        return levels.get(self.codec)

    metadata_max_idle_ms: int = setting(
        300_000,
        integer(5_000),
        "The producer forgets the metadata of a topic that it did not send to for this time.",
    )

    @property
    def topic_idle_ms_max(self) -> int | None:
        return self.metadata_max_idle_ms

    @property
    def metrics_prefix(self) -> str:
        return "producer"

    def default_client_id(self, number: int) -> str:
        return f"producer-{self.transactional_id or number}"

    def __post_init__(self) -> None:
        if self.delivery_timeout_ms < self.linger_ms + self.request_timeout_ms:
            raise ConfigError(
                "delivery_timeout_ms must be at least linger_ms + request_timeout_ms"
                f" ({self.linger_ms + self.request_timeout_ms}), got {self.delivery_timeout_ms}"
            )
        if not self.enable_idempotence:
            if self.transactional_id is not None:
                raise ConfigError("transactional_id needs enable_idempotence=True")
            return
        if self.acks != -1:
            raise ConfigError('enable_idempotence needs acks="all"; set enable_idempotence=False')
        if self.max_in_flight_requests_per_connection > 5:
            raise ConfigError(
                "enable_idempotence allows max_in_flight_requests_per_connection up to 5, got"
                f" {self.max_in_flight_requests_per_connection}"
            )


class ProducerSettings(ClientSettings, total=False):
    """Keyword arguments of Producer; see ProducerConfig."""

    acks: str | int
    enable_idempotence: bool
    compression_type: str
    batch_size: int
    linger_ms: int
    buffer_memory: int
    max_block_ms: int
    max_request_size: int
    delivery_timeout_ms: int
    retries: int
    max_in_flight_requests_per_connection: int
    transactional_id: str | None
    transaction_timeout_ms: int
    partitioner_ignore_keys: bool
    partitioner_adaptive_partitioning_enable: bool
    partitioner_availability_timeout_ms: int
    compression_gzip_level: int
    compression_lz4_level: int
    compression_zstd_level: int
    metadata_max_idle_ms: int
