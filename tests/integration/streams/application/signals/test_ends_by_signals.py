"""SIGINT and SIGTERM end an application in order, in whichever way a program runs it, and the program's exit code says how."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys

import pytest

from tests.integration.streams.application.instances import Instances
from tests.integration.streams.application.signals import signalled_instance
from tests.patience import LONG_ENOUGH_S

WORDS = ["a", "b", "a"]
TERMINATED, INTERRUPTED = 128 + signal.SIGTERM, 128 + signal.SIGINT


def free_port() -> int:
    with socket.create_server(("localhost", 0)) as server:
        return int(server.getsockname()[1])


async def ended(
    instances: Instances, way: str, number: int, times: int, state: str = "RUNNING"
) -> tuple[int | None, list[str], str]:
    """Returns the code, the last states and what went to standard error of a program that was sent so many signals in this state."""
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", signalled_instance.__name__, way),
        *(
            instances.servers,
            str(instances.directory),
            instances.application,
            f"localhost:{free_port()}",
        ),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert program.stdout is not None
    async with asyncio.timeout(LONG_ENOUGH_S):
        while (await program.stdout.readline()).decode().strip() != state:
            pass
        if state == "RUNNING":
            await instances.put(WORDS)
            await asyncio.sleep(0.2)  # they may be read by now; nothing rests on it
        for _ in range(times):
            if program.returncode is None:
                program.send_signal(number)
            await asyncio.sleep(0.02)
        out, error = await program.communicate()
    return program.returncode, out.decode().splitlines(), error.decode()


@pytest.mark.parametrize(
    ("way", "number", "times", "code"),
    [
        ("run", signal.SIGTERM, 2, 0),
        ("block", signal.SIGTERM, 2, 0),
        ("block", signal.SIGINT, 20, 0),
        ("served_block", signal.SIGTERM, 1, 0),
        ("served_run", signal.SIGTERM, 20, 0),
        ("busy_block", signal.SIGTERM, 2, TERMINATED),
        ("busy_block", signal.SIGINT, 2, INTERRUPTED),
        ("by_hand", signal.SIGINT, 2, INTERRUPTED),
        ("group", signal.SIGTERM, 2, TERMINATED),
        ("blocking_run", signal.SIGTERM, 20, 0),
        ("blocking_block", signal.SIGINT, 2, 0),
        ("blocking_busy_block", signal.SIGTERM, 2, TERMINATED),
        ("blocking_never_closed", signal.SIGINT, 20, INTERRUPTED),
    ],
)
async def test_an_application_ends_in_order_and_leaves_its_group(
    instances: Instances, way: str, number: int, times: int, code: int
) -> None:
    returned, states, error = await ended(instances, way, number, times)
    assert (returned, error) == (code, "")
    went_on = ["went on"] if code == 0 else []
    assert states[-2 - len(went_on) :] == ["PENDING_SHUTDOWN", "NOT_RUNNING", *went_on]
    name = instances.application
    described = await instances.admin.describe_streams_groups([name])
    assert described.result(name).members == []


@pytest.mark.parametrize(
    ("way", "number"), [("run", signal.SIGTERM), ("blocking_run", signal.SIGINT)]
)
async def test_one_that_only_begins_to_join_its_group_ends_in_order(
    instances: Instances, way: str, number: int
) -> None:
    returned, states, error = await ended(instances, way, number, 2, "REBALANCING")
    assert (returned, error, states[-2:]) == (0, "", ["NOT_RUNNING", "went on"])
