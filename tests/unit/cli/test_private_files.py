"""Files that nobody else can read."""

from __future__ import annotations

import os
from pathlib import Path

from millstream.cli.private_files import write_private


def test_a_file_is_replaced_and_a_pipe_is_written_to(tmp_path: Path) -> None:
    """What is no file, as /dev/stdout, must stay what it is."""
    file, pipe = tmp_path / "file", tmp_path / "pipe"
    file.write_text("before")
    file.chmod(0o644)
    write_private(file, "after")
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("after", 0o600)
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_private(pipe, "through")
    assert (os.read(reader, 100), pipe.is_fifo()) == (b"through", True)
    os.close(reader)
