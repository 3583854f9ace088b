"""Options of the source that would do nothing beside each other, or in a stream, or in a batch: each is refused.

Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from millstream.errors import ConfigError

START_OPTIONS: Final = (
    "startingOffsetsFunction", "startingTimestamp", "startingOffsetsByTimestamp", "startingOffsets",
)  # fmt: skip
"""Ways to say where a query begins; an earlier one goes before a later one."""
_STREAM_ONLY: Final = {
    "maxRecordsPerTrigger": "a batch has no micro-batches: set endingOffsets to read less",
    "pollTimeoutMs": "a batch waits for no records",
    "discoveryIntervalMs": "a batch looks for its topics once",
    "offsetCommitMode": "a batch commits no offsets",
    "offsetCommitIntervalMs": "a batch commits no offsets",
    "endOfStream": "a batch ends where endingOffsets says",
    "endOfStreamScope": "a batch ends where endingOffsets says",
    "replay": "a batch has no micro-batches that are tried again",
    "replayTopic": "a batch has no micro-batches that are tried again",
}
_BATCH_ONLY: Final = dict.fromkeys(
    ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"),
    "it ends a batch read (spark.read), a stream has no end",
)


def refuse_without_effect(given: Mapping[str, str]) -> None:
    """`given`: options by name in lower case.

    Raises ConfigError for one that another makes useless, in streams and batches.
    """
    strategy = "startingOffsetsByTimestampStrategy"
    if strategy.lower() in given and not {"startingtimestamp", "startingoffsetsbytimestamp"} & set(
        given
    ):
        raise ConfigError(
            f"{strategy} has a use only with startingTimestamp or startingOffsetsByTimestamp"
        )
    mode = given.get("offsetcommitmode", "").strip().lower()
    if "offsetcommitintervalms" in given and mode != "periodic":
        raise ConfigError("offsetCommitIntervalMs has a use only with offsetCommitMode=PERIODIC")
    others = [name for name in START_OPTIONS[1:] if name.lower() in given]
    if "startingoffsetsfunction" in given and others:
        raise ConfigError(
            f"startingOffsetsFunction says where the query begins: leave out {others[0]}"
        )


def refuse_in_stream(names: Collection[str]) -> None:
    """`names` are those of the options, in any case."""
    _refuse(names, _BATCH_ONLY, "a stream")


def refuse_in_batch(names: Collection[str], *, has_group: bool, reads_commits: bool) -> None:
    """The same for a batch, in which a group is only for what it has committed."""
    _refuse(names, _STREAM_ONLY, "a batch")
    if has_group and not reads_commits:
        raise ConfigError(
            "group.id does nothing in a batch without startingOffsets=committed or endingOffsets=committed: "
            "a batch commits no offsets"
        )


def _refuse(names: Collection[str], without_effect: Mapping[str, str], where: str) -> None:
    given = {_SPARKS_NAMES.get(name.lower(), name.lower()) for name in names}
    for name, why in without_effect.items():
        if name.lower() in given:
            raise ConfigError(f"{name} does nothing in {where}: {why}")


_SPARKS_NAMES: Final = {"maxoffsetspertrigger": "maxrecordspertrigger"}
