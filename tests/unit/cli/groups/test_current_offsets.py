"""Offsets of a group that is no application's: they are had without what applications need."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
from millstream.cli.groups.kinds import current_offsets
from millstream.clients import OffsetAndMetadata, TopicPartition
from millstream.clients.admin import Results

class Admin:
    def list_consumer_group_offsets(self, group_ids):
        return Results({"g": Results({TopicPartition("t", 0): OffsetAndMetadata(7)})})

(found,) = current_offsets(Admin(), "g", shared=False).values()
print(found.offset, found.dropped, "millstream.streams.kernel" in sys.modules)
"""


def test_the_kernel_of_streams_is_not_imported_for_them() -> None:
    """It takes longer than all else that the verb does."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["7", "None", "False"]
