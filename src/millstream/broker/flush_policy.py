"""`millstream.flush.on.ack`: which acknowledgements wait for the disk. For produces and for coordinators alike."""

from __future__ import annotations

from millstream.replication.partition import ACKS_ALL, Partition


def must_sync(policy: str, partition: Partition, acks: int) -> bool:
    """`policy`: auto, always or never. With a single in-sync replica nobody else remembers: auto then asks the disk."""
    match policy:
        case "never":
            return False
        case "always":
            return acks != 0
        case _:  # auto
            return acks == ACKS_ALL and len(partition.isr) < 2
