"""Which acknowledgements wait for the disk. For produces and for coordinators alike.

Those that `millstream.flush.on.ack` names, and, whatever it says, those of records with which flush.messages was reached.
"""

from __future__ import annotations

from millstream.replication.partition import ACKS_ALL, Partition


def must_sync(policy: str, partition: Partition, acks: int, end_offset: int) -> bool:
    """Before the records below `end_offset` are acknowledged.

    `policy`: auto, always or never. With a single in-sync replica nobody else remembers: auto then asks the disk.
    """
    if partition.log.must_flush(end_offset):
        return True
    match policy:
        case "never":
            return False
        case "always":
            return acks != 0
        case _:  # auto
            return acks == ACKS_ALL and len(partition.isr) < 2
