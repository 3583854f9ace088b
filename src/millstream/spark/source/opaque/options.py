"""The option `replay`: whether a micro-batch that is tried again reads the same, or what is available. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from millstream.errors import ConfigError
from millstream.spark.format_options import choice

OPTIONS: Final = ("replay", "replayTopic")
_BESIDE_OPAQUE: Final = {
    "watermark": "a partition that is left out would come back behind the watermark; use Spark's withWatermark",
    "sliceByTimestamp": "a partition that is left out would come back with records of an earlier time",
    "maxBytesPerTrigger": "it needs the batches of every partition; use maxRecordsPerTrigger",
    "endOfStream": "a stream cannot end at a record before which something was left out",
    "copartition": "topics that are read together cannot be left out one by one",
}


class ReplayMode(Enum):
    """The records of a micro-batch that is tried again."""

    TRANSACTIONAL = "transactional"
    """Those of the first try. It waits for partitions that are not available."""
    OPAQUE = "opaque"
    """Those of the partitions that are available. The others give theirs later."""


def parse_replay_topic(given: Mapping[str, str], *, is_at_most_once: bool) -> str | None:
    """Returns the topic of the store of opaque replay, None where replay is transactional. Raises ConfigError."""
    mode = choice("replay", given.get("replay", "transactional"), ReplayMode)
    topic = given.get("replaytopic", "").strip() or None
    if mode is ReplayMode.TRANSACTIONAL:
        if "replaytopic" in given:
            raise ConfigError("replayTopic has a use only with replay=opaque")
        return None
    if topic is None:
        raise ConfigError(
            "replay=opaque needs a topic with cleanup.policy=compact, for this query alone, in which it keeps what it has left out: "
            '.option("replayTopic", "my-query-replay")'
        )
    for name, why in _BESIDE_OPAQUE.items():
        if given.get(name.lower(), "none").strip().lower() not in {"none", "false"}:
            raise ConfigError(f"replay=opaque and {name} do not go together: {why}")
    if is_at_most_once:
        raise ConfigError(
            "replay=opaque and offsetCommitMode=AT_MOST_ONCE do not go together: the one tries a micro-batch again, the other never does"
        )
    return topic
