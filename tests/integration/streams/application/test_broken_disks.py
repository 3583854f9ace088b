"""A disk that is full, or whose directory is deleted under the application: one error that says so, and nothing is lost."""

from __future__ import annotations

import asyncio
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

from millstream.errors import ConfigError
from millstream.streams.application.kafka_streams import KafkaStreams
from millstream.streams.application.states import ApplicationState
from millstream.streams.errors import TaskTimedOut
from tests.integration.streams.application.instances import Instances
from tests.patience import LONG_ENOUGH_S, until

WORDS = ["a", "b", "c"] * 10


@contextmanager
def no_file_grows() -> Iterator[None]:
    """Has the system refuse this process each write that makes a file longer, as a full disk does. The broker is another process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_full_disk_is_named_and_counting_goes_on_once_it_has_room(
    instances: Instances, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state_dir = str(tmp_path / "mine")
    app = instances.new(state_dir=state_dir, task_timeout_ms=300)
    await instances.put(WORDS)
    await app.start()
    await instances.until_counted(WORDS)
    with no_file_grows():
        await instances.put(WORDS)
        async with asyncio.timeout(LONG_ENOUGH_S):
            with pytest.raises(TaskTimedOut, match=r"StoreNotWritten.*File too large"):
                await app.wait_ended()
        assert app.state is ApplicationState.ERROR
        await app.close()
    waits = [each for each in caplog.records if "is started" in each.message]
    assert {each.levelname for each in waits} == {"WARNING"}
    unclosed = [each for each in caplog.records if "not closed in order" in each.message]
    assert [each for each in unclosed if each.exc_info] == [], "the disk is named, without a trace"
    async with instances.new(state_dir=state_dir):
        await instances.until_counted(WORDS * 2)


async def test_a_disk_that_has_room_again_within_the_time_ends_nothing(
    instances: Instances, caplog: pytest.LogCaptureFixture
) -> None:
    async with instances.new() as app:
        await instances.put(WORDS)
        await instances.until_counted(WORDS)
        with no_file_grows():
            await instances.put(WORDS)
            await until(lambda: "could not be opened and restored" in caplog.text)
        await instances.until_counted(WORDS * 2)
        await until(lambda: app.state is ApplicationState.RUNNING)


async def test_a_directory_that_is_deleted_under_the_application_costs_no_record(
    instances: Instances, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state_dir = str(tmp_path / "mine")
    async with instances.new(state_dir=state_dir, state_cleanup_delay_ms=50):
        await instances.put(WORDS)
        await instances.until_counted(WORDS)
        shutil.rmtree(tmp_path / "mine")
        await instances.put(WORDS)
        await instances.until_counted(WORDS * 2)
    assert "Traceback" not in caplog.text
    async with instances.new(state_dir=state_dir):
        await instances.put(WORDS)
        await instances.until_counted(WORDS * 3)


@pytest.mark.parametrize("method", ["open", "write_text"])
async def test_a_disk_that_is_full_or_read_only_at_the_start_is_named(
    instances: Instances, method: str
) -> None:
    app: KafkaStreams = instances.new()
    refused = OSError(28, "No space left on device")
    with (
        patch.object(Path, method, side_effect=refused),
        pytest.raises(ConfigError, match=r"cannot be written: .*No space left"),
    ):
        await app.start()
    assert app.state is ApplicationState.CREATED
    await app.start()
    await app.close()
