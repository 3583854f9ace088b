"""The log of a partition and the data directory around it, in Kafka's file formats. See README.md."""

from millstream.log.append_check import AppendOrigin, RecordError, RefusedRecords, RefusedTimestamps
from millstream.log.append_info import AppendInfo
from millstream.log.directory.log_environment import LogEnvironment, SavedState
from millstream.log.file_range import FileRange
from millstream.log.flush_plan import FlushPlan
from millstream.log.log_reader import FetchData
from millstream.log.partition_log import PartitionLog

__all__ = [
    "AppendInfo",
    "AppendOrigin",
    "FetchData",
    "FileRange",
    "FlushPlan",
    "LogEnvironment",
    "PartitionLog",
    "RecordError",
    "RefusedRecords",
    "RefusedTimestamps",
    "SavedState",
]
