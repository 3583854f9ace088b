"""The counters of a broker's replication: what becomes of ISRs, and how far its followers are.

Those who do the work count.
"""

from __future__ import annotations

from collections.abc import Callable


class ReplicationMetrics:
    """All of them count from the start of the process."""

    def __init__(self) -> None:
        self.isr_shrinks = 0
        """Replicas fell out of an ISR that this broker leads: counted once the controller has said yes."""
        self.isr_expands = 0
        """Replicas came into one."""
        self.failed_isr_updates = 0
        """The controller refused a change."""
        self.bytes_in = 0
        """Appended from leaders."""
        self.bytes_out = 0
        """Sent to followers."""
        self.reassignment_bytes_in = 0
        """Of these, appended to replicas that a reassignment adds."""
        self.reassignment_bytes_out = 0
        self.corrupt_fetches = 0
        """Answers of leaders with batches that are not what their checksums say."""
        self.damage_found: Callable[[], int] = lambda: 0
        """Replicas in which a disk has changed what was written; set by the owner of the partitions, as the next
        one."""
        self.damage_mended: Callable[[], int] = lambda: 0
        self.follower_lag_max: Callable[[], int] = lambda: 0
        """Records that the replica farthest behind its leader lacks; set by the owner of the followers."""
        self.failed_partitions: Callable[[], int] = lambda: 0
        """Replicas that have given up to follow their leaders; set by the same."""
