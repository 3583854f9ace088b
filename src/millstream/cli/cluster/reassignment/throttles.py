"""The settings that slow down the copies of a reassignment, as kafka-reassign-partitions sets them and takes them away.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from millstream.cli.cluster.reassignment.files import Replicas

LEADER_RATE: Final = "leader.replication.throttled.rate"
FOLLOWER_RATE: Final = "follower.replication.throttled.rate"
DIRECTORY_RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
BROKER_RATES: Final = (LEADER_RATE, FOLLOWER_RATE, DIRECTORY_RATE)
LEADER_REPLICAS: Final = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS: Final = "follower.replication.throttled.replicas"
TOPIC_LISTS: Final = (LEADER_REPLICAS, FOLLOWER_REPLICAS)

Settings = dict[str, str]


def topic_throttles(current: Replicas, wanted: Replicas) -> dict[str, Settings]:
    """Returns the settings of each topic that moves: who sends (all replicas that there are), and who
    receives (those that are new).
    """
    senders: dict[str, list[str]] = {}
    receivers: dict[str, list[str]] = {}
    for key, replicas in sorted(wanted.items()):
        before = current.get(key, ())
        added = [each for each in replicas if each not in before]
        if added:
            senders.setdefault(key.topic, []).extend(f"{key.partition}:{each}" for each in before)
            receivers.setdefault(key.topic, []).extend(f"{key.partition}:{each}" for each in added)
    return {
        topic: {LEADER_REPLICAS: ",".join(sent), FOLLOWER_REPLICAS: ",".join(receivers[topic])}
        for topic, sent in senders.items()
    }


def broker_throttles(
    brokers: Iterable[int], rate: int | None, directory_rate: int | None
) -> dict[int, Settings]:
    """Returns the settings of each broker that copies. A rate of None is left as it is."""
    settings: Settings = {}
    if rate is not None:
        settings |= {LEADER_RATE: str(rate), FOLLOWER_RATE: str(rate)}
    if directory_rate is not None:
        settings[DIRECTORY_RATE] = str(directory_rate)
    return dict.fromkeys(sorted(brokers), settings) if settings else {}
