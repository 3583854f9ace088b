"""A probe hears whether the process of an application is to be started again, and whether its tasks run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import pytest

from millstream.streams.application.states import ApplicationState
from millstream.streams.errors import StreamsError
from millstream.streams.health_server import ApplicationHealth, health_of, without_text


@dataclass
class Application:
    """One in a state, as a probe sees it."""

    state: ApplicationState
    is_paused: bool = False
    error: BaseException | None = None
    tasks: Mapping[str, Collection[object]] = field(default_factory=dict)


@pytest.mark.parametrize(
    ("state", "is_alive", "is_ready"),
    [
        ("CREATED", True, False),
        ("REBALANCING", True, False),
        ("RUNNING", True, True),
        ("PENDING_SHUTDOWN", True, False),
        ("NOT_RUNNING", False, False),
        ("PENDING_ERROR", False, False),
        ("ERROR", False, False),
    ],
)
def test_only_an_application_that_has_ended_is_not_alive_and_only_one_that_runs_is_ready(
    state: str, *, is_alive: bool, is_ready: bool
) -> None:
    health = health_of(Application(ApplicationState(state)))
    assert (health.is_alive, health.is_ready) == (is_alive, is_ready)


def test_the_answer_names_the_error_and_counts_the_tasks() -> None:
    error = StreamsError("node count: no such thing")
    tasks = {"thread-1": frozenset({"0_0", "0_1"}), "thread-2": frozenset({"1_0"})}
    health = health_of(Application(ApplicationState.ERROR, error=error, tasks=tasks))
    assert health == ApplicationHealth(
        state="ERROR",
        is_alive=False,
        is_ready=False,
        is_paused=False,
        tasks=3,
        error="StreamsError: node count: no such thing",
    )


def test_a_paused_application_stays_ready() -> None:
    """Its stores can be asked, and a probe that fails would have it started again."""
    health = health_of(Application(ApplicationState.RUNNING, is_paused=True))
    assert (health.is_ready, health.is_paused) == (True, True)


def test_beyond_this_machine_an_error_is_named_and_its_text_is_kept_back() -> None:
    """Keys and values of records may stand in it."""
    error = StreamsError("node count: the value b'4111 1111 1111 1111' cannot be read")
    health = health_of(Application(ApplicationState.ERROR, error=error))
    assert without_text(health).error == "StreamsError"
    assert without_text(health_of(Application(ApplicationState.RUNNING))).error is None
