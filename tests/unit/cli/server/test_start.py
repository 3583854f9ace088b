"""What `millstream server` spares on its way to the ready line. Counted, not timed."""

from __future__ import annotations

import subprocess
import sys

NEEDED = {
    "click",
    "cramjam",
    "crc32c",
    "cython_runtime",
    "millstream",
    "millstream.broker",
    "millstream.cli",
    "millstream.compiled",
    "millstream.config_fields",
    "millstream.controller",
    "millstream.coordinator",
    "millstream.errors",
    "millstream.log",
    "millstream.metadata",
    "millstream.model",
    "millstream.net",
    "millstream.protocol",
    "millstream.quoting",
    "millstream.raft",
    "millstream.records",
    "millstream.replication",
    "millstream.runtime",
    "millstream.security",
    "orjson",
    "re2",
}
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


def test_only_packages_that_a_node_needs_are_imported() -> None:
    code = (
        "import sys; before = set(sys.modules)"
        f"{_UNTIL_SETTINGS_ARE_READ}"
        "new = sys.modules.keys() - before\n"
        "names = {name.split('.')[0] for name in new} - sys.stdlib_module_names\n"
        "names |= {'.'.join(name.split('.')[:2]) for name in new if name.startswith('millstream.')}\n"
        "print(*sorted(name for name in names if not name.startswith('_')))"
    )
    assert set(output_of(code).split()) <= NEEDED
