"""What `millstream server` spares on its way to the ready line. Counted, not timed."""

from __future__ import annotations

import subprocess
import sys

_UNTIL_SETTINGS_ARE_READ = """
import gc, sys
from click.testing import CliRunner
from millstream.cli.main import main

def is_importing_the_node():
    serving = sys.modules.get("millstream.cli.server.serving")
    return "millstream.broker" in sys.modules and not hasattr(serving, "serve")

collected = []
gc.callbacks.append(lambda phase, info: collected.append(is_importing_the_node()))
result = CliRunner().invoke(main, ["server", "--override", "no-setting=1"])
"""
"""Runs the server up to an error that it finds when everything is imported."""


def output_of(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_no_garbage_is_collected_while_the_node_is_imported() -> None:
    code = (
        f"{_UNTIL_SETTINGS_ARE_READ}"
        "print(result.exit_code, any(collected), gc.get_freeze_count() > 50_000, gc.isenabled())"
    )
    assert output_of(code) == "2 False True True"
