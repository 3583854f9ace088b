"""The steps of a task's life, by name. Tests interrupt it there."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class Step(StrEnum):
    """The step that has just been done."""

    STARTING = "starting"
    """Nothing: the task is about to ask for its producer id."""
    FENCED = "fenced"
    """Every other attempt of the task is fenced, and what it left is aborted."""
    RESTORED = "restored"
    """Stores are open and hold what their changelogs hold."""
    READ = "read"
    """The input is read and queued."""
    PROCESSED = "processed"
    """Outputs are made, and nothing of them is written."""
    PRODUCED = "produced"
    """Outputs and changelogs are written in an open transaction."""
    OFFSETS_SENT = "offsets sent"
    """The offsets are part of the transaction."""
    COMMITTED = "committed"
    """The transaction is committed; the stores do not have it yet."""
    STORED = "stored"
    """The stores have it."""


class SnapshotStep(StrEnum):
    """The step of a snapshot that has just been done."""

    FILE_COPIED = "file copied"
    """One file of the database."""
    COPIED = "copied"
    """All of them, to where nobody looks."""
    DESCRIBED = "described"
    """The description is beside them, and all is on the disk."""
    NAMED = "named"
    """The snapshot has its name, and counts."""
    PRUNED = "pruned"
    """Older ones are removed."""


Observer = Callable[[Step, str], None]
"""Told of each step of a task, with the task's id."""


def unobserved(_step: Step, _task_id: str) -> None:
    """Observes nothing."""
