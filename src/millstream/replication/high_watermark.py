"""The high watermark of a partition: the offset that every in-sync replica has reached. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from millstream.model import BrokerId


def advanced_high_watermark(
    current: int,
    local_end_offset: int,
    in_sync_followers: Iterable[BrokerId],
    follower_end_offsets: Mapping[BrokerId, int],
) -> int:
    """Returns the leader's new high watermark: the least end offset of the in-sync replicas; it never goes back.

    A follower that has not fetched yet holds it where it is. A leader without in-sync followers, as in a partition of one
    replica, is the only one to ask.
    """
    least = local_end_offset
    for follower in in_sync_followers:
        least = min(least, follower_end_offsets.get(follower, current))
    return max(current, least)
