"""Says why replicas leave and join an ISR, for the log of the leader that asks for it. Pure.

    stuck: for most of the time since it was caught up it has not fetched     slow: it fetches, and does not reach the end of the log

Kafka gives offsets and the time of the last catching up, and leaves the rest to the reader.
"""

from __future__ import annotations

from millstream.model import BrokerId
from millstream.replication.isr import Alteration
from millstream.replication.partition import Partition
from millstream.replication.replica_progress import UNKNOWN_OFFSET


def describe_isr_change(partition: Partition, wanted: Alteration, now_ms: int) -> str:
    """Returns both ISRs, why each replica leaves or joins, and where the log stands.

    The empty string where the ISR stays as it is.
    """
    before, after = partition.isr, tuple(each for each, _ in wanted.isr)
    left = [each for each in before if each not in after]
    joined = [each for each in after if each not in before]
    if not left and not joined:
        return ""
    verb = "shrinks" if left and not joined else "grows" if joined and not left else "changes"
    reasons = [
        *(f"broker {each} {_why_out(partition, each, now_ms)}" for each in left),
        *(f"broker {each} {_why_in(partition, each)}" for each in joined),
    ]
    end, mark = partition.log_end_offset, partition.high_watermark
    return f"{verb} from {_listed(before)} to {_listed(after)}: {', '.join(reasons)}; high watermark {mark}, log end {end}"


def _why_out(partition: Partition, broker_id: BrokerId, now_ms: int) -> str:
    follower = partition.follower(broker_id)
    if follower is None:
        return "is no replica any more"
    # A member of the ISR counts as caught up when its leader begins.
    silent_ms = now_ms - max(follower.fetched_ms, follower.caught_up_ms)
    behind_ms = now_ms - follower.caught_up_ms
    if follower.end_offset == UNKNOWN_OFFSET:
        return f"is stuck, it has not fetched from this leader in {_seconds(behind_ms)}"
    lacks = f"lacks {partition.log_end_offset - follower.end_offset} records"
    if silent_ms * 2 > behind_ms:
        return f"is stuck, it has not fetched for {_seconds(silent_ms)} and {lacks}"
    return f"is slow, it has not caught up for {_seconds(behind_ms)} and {lacks}"


def _why_in(partition: Partition, broker_id: BrokerId) -> str:
    follower = partition.follower(broker_id)
    end = "what is committed" if follower is None else f"all records up to {follower.end_offset}"
    return f"is back in sync, it has {end}"


def _listed(brokers: tuple[BrokerId, ...]) -> str:
    return ",".join(map(str, brokers))


def _seconds(duration_ms: int) -> str:
    return f"{duration_ms / 1000:.1f} s"
