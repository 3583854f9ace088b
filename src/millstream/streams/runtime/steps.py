"""The steps of a task's life and of what goes on around it, by name. Tests interrupt them there."""

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


class RebalanceStep(StrEnum):
    """The step that a stream thread has just done when its group wants it to have other tasks."""

    REVOKED = "revoked"
    """What others are to have is committed and closed; the group has not been told."""
    ASSIGNED = "assigned"
    """New tasks begin to start, and the group is about to be told."""


class StandbyStep(StrEnum):
    """The step of a standby or warm-up task that has just been done."""

    UPDATED = "standby updated"
    """Records of its changelogs are in its stores."""


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


ObservedStep = Step | RebalanceStep | StandbyStep
Observer = Callable[[ObservedStep, str], None]
"""Told of each step, with the id of the task or the name of the stream thread."""


def observe_nothing(_step: ObservedStep, _name: str) -> None:
    """Observes nothing."""
