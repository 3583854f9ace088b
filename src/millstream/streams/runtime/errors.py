"""Errors of running tasks."""

from __future__ import annotations

from millstream.errors import MillstreamError


class DataLoss(MillstreamError):
    """Records that a task was to read are no longer in the log."""


class StoreLocked(MillstreamError):
    """Another process has the stores of this task open."""


class StoreNotWritten(MillstreamError):
    """The disk did not take what a task has committed."""


class TaskMigrated(MillstreamError):
    """Another attempt of the task has committed since this one began."""
