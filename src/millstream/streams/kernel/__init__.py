"""The kernel: runs one sub-topology on one partition. See README.md of this package for runners."""

from __future__ import annotations

from millstream.streams.kernel.columns.arrow_bytes import ArrowBytes
from millstream.streams.kernel.columns.batch import Batch, Headers, RawBatch, SinkBatch
from millstream.streams.kernel.task.inputs import TaskTopics
from millstream.streams.kernel.task.output import PreparedCommit, TaskOutput
from millstream.streams.kernel.task.stream_task import StreamTask

__all__ = [
    "ArrowBytes",
    "Batch",
    "Headers",
    "PreparedCommit",
    "RawBatch",
    "SinkBatch",
    "StreamTask",
    "TaskOutput",
    "TaskTopics",
]
