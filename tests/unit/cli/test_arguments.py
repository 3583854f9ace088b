"""Files as they are given to verbs."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from millstream.cli import arguments
from millstream.cli.arguments import given_text
from millstream.cli.server.settings import read_properties
from millstream.errors import ConfigError
from tests.support.patched_library import patch_library


def test_a_hyphen_is_standard_input_for_verbs_that_ask_a_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    patch_library(
        monkeypatch, arguments.__name__, sys, stdin=io.TextIOWrapper(io.BytesIO(b"a plan"))
    )
    assert given_text("-") == "a plan"


def test_the_file_of_a_node_is_a_file_whatever_its_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nobody meant a node to read its settings from standard input, which it has for the end of its parent."""
    monkeypatch.chdir(tmp_path)
    Path("-").write_text("node.id=7")
    assert read_properties("-") == {"node.id": "7"}


def test_what_is_no_text_is_refused_with_its_name(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match=r"server\.properties is not text in UTF-8"):
        read_properties(file)
