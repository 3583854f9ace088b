"""What users of `millstream.testing` get."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil

from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_S
from tests.support.clients.raw_client import is_alive


def test_the_plugin_imports_nothing_heavy() -> None:
    heavy = ("uvloop", "pyarrow", "pyspark", "millstream.broker", "millstream.clients")
    code = (
        "import sys; import millstream.testing.pytest_plugin; "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_data_goes_with_the_broker_unless_it_was_given(tmp_path: Path) -> None:
    with Broker() as temporary:
        assert temporary.data.is_dir()
    assert not temporary.data.exists()
    with Broker(data=tmp_path) as kept:
        assert kept.data == tmp_path
    assert (tmp_path / "meta.properties").exists()


def test_a_broker_tells_its_address_and_whether_it_runs() -> None:
    with Broker() as broker:
        assert repr(broker) == f"<Broker {broker.bootstrap_servers}, in this process>"
        broker.stop()
        assert repr(broker) == f"<Broker {broker.bootstrap_servers}, in this process, down>"


def test_two_brokers_run_side_by_side_in_one_process() -> None:
    with Broker() as one, Broker() as other:
        assert one.bootstrap_servers != other.bootstrap_servers
        assert one.cluster_id != other.cluster_id
        assert is_alive(one.bootstrap_servers)
        assert is_alive(other.bootstrap_servers)


def test_a_broker_process_ends_when_its_parent_dies(tmp_path: Path) -> None:
    """It tells where its data are, wherever that is."""
    code = (
        "import os, sys; from millstream.testing.broker import Broker; "
        f"b = Broker(in_process=False, data={str(tmp_path / 'a path with blanks')!r}); b.start(); "
        "print(b.pid, flush=True); os._exit(1)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=LONG_ENOUGH_S,
        check=False,
    )
    pid = int(done.stdout)
    if psutil.pid_exists(pid):
        psutil.wait_procs([psutil.Process(pid)], timeout=LONG_ENOUGH_S)
    assert not psutil.pid_exists(pid)
