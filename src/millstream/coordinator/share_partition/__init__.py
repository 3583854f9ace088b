"""One partition as one share group reads it: which records are out with whom, which are finished (KIP-932).

See share_partition.

The leader of the partition keeps this, not a coordinator. It stands in this layer because it is a
deterministic state machine like its neighbours: the lint of pure packages holds for it, and it shares the
words of the share coordinator that stores it.
"""
