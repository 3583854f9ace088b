"""Partitions as replicas: leadership, in-sync replicas, the high watermark. See README.md."""

from millstream.replication.fetch_position import FetchPosition, FetchRead
from millstream.replication.partition import Partition

__all__ = ["FetchPosition", "FetchRead", "Partition"]
