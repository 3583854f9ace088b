"""Stores of tasks that an instance does not have are deleted while it runs; its own stay."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from millstream.runtime.system import SystemRandom
from millstream.streams.application.state_directory import StateDirectory
from millstream.streams.state.storage.rocksdb import RocksDatabase
from tests.integration.streams.application.instances import PARTITIONS, Instances
from tests.patience import until

WORDS = [f"w{number % 7}" for number in range(100)]


@pytest.mark.parametrize("use_processes", [False, True])
async def test_stores_of_tasks_that_others_have_are_deleted(
    instances: Instances, tmp_path: Path, *, use_processes: bool
) -> None:
    obsolete = tmp_path / "mine" / instances.application / "gone_0"
    obsolete.mkdir(parents=True)
    RocksDatabase(str(obsolete)).close()
    async with instances.new(
        state_dir=str(tmp_path / "mine"), state_cleanup_delay_ms=200, use_processes=use_processes
    ):
        await instances.put(WORDS)
        await instances.until_counted(WORDS)
        await until(lambda: not obsolete.exists())
        await instances.put(WORDS)
        await instances.until_counted(WORDS * 2)
        stores = [each for each in obsolete.parent.iterdir() if (each / "CURRENT").exists()]
        assert len(stores) == PARTITIONS


def test_a_database_that_another_process_has_open_stays_in_its_place(tmp_path: Path) -> None:
    """The process of a stream thread may have taken a task over that the application hears of a moment later."""
    directory = StateDirectory(str(tmp_path), "app", SystemRandom())
    task = directory.path / "counts_0"
    task.mkdir(parents=True)
    assert not directory.set_aside_if_closed(task.name), "there is no database that could tell"
    code = "import sys, rocksdict; db = rocksdict.Rdict(sys.argv[1]); print(flush=True); input()"
    command = [sys.executable, "-c", code, str(task)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as opener:
        assert opener.stdout is not None
        opener.stdout.readline()
        assert not directory.set_aside_if_closed(task.name)
        assert task.exists()
        opener.communicate(b"\n")
    assert directory.set_aside_if_closed(task.name)
    assert not task.exists()
