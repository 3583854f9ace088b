"""The page about pytest is true: the files that it shows make a suite, and that suite passes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.patience import LONG_ENOUGH_S

PAGE = Path(__file__).resolve().parents[3] / "docs/guide/testing.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)

CONFIGURATION = """[pytest]
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
filterwarnings = error
"""


def test_every_block_is_a_file_of_a_suite_that_passes(tmp_path: Path) -> None:
    for block in BLOCKS:
        first, _, source = block.partition("\n")
        path = tmp_path / first.removeprefix("# ")
        assert path.suffix == ".py", f"the block that begins with {first!r} does not name its file"
        path.write_text(source)
    (tmp_path / "pytest.ini").write_text(CONFIGURATION)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"],
        cwd=tmp_path, capture_output=True, text=True, timeout=LONG_ENOUGH_S, check=False,
    )  # fmt: skip
    tests = sum(len(re.findall(r"^(?:async )?def test_", block, re.MULTILINE)) for block in BLOCKS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{tests} passed" in done.stdout
