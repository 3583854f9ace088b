"""`pip install .` needs neither a C compiler nor Java, and what it installs works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

_USE = """
import importlib.util, sys
import millstream, millstream.clients, millstream.streams
import pyarrow as pa
from millstream.records.arrow import from_arrow, to_arrow
assert millstream.__file__.startswith(sys.argv[1]), millstream.__file__
assert importlib.util.find_spec("millstream.records.walker_compiled") is None, "a compiler was found after all"
rows = pa.RecordBatch.from_pydict({"key": pa.array([b"k"], pa.binary()), "value": pa.array([b"v"], pa.binary())})
(encoded,) = from_arrow(rows)
print(to_arrow(encoded).column("value").to_pylist())
"""


def test_install_without_compiler_and_java(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "site"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(source)], check=True)
    environment = {
        **{
            name: value
            for name, value in os.environ.items()
            if name not in {"JAVA_HOME", "PYTHONPATH"}
        },
        "CC": "/bin/false",
        "CXX": "/bin/false",
    }
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target", str(target), "."],
        cwd=source, env=environment, check=True, timeout=110,
    )  # fmt: skip
    used = subprocess.run(
        [sys.executable, "-c", _USE, str(target)],
        cwd=tmp_path, env={**environment, "PYTHONPATH": str(target)}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert used.returncode == 0, used.stderr
    assert used.stdout == "[b'v']\n"
