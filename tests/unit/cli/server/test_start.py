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
    "millstream.properties_text",
    "millstream.protocol",
    "millstream.quota",
    "millstream.quoting",
    "millstream.raft",
    "millstream.records",
    "millstream.replication",
    "millstream.runtime",
    "millstream.security",
    "orjson",
    "re2",
}
OF_OTHERS = {
    "millstream.broker.replication.remote_leader",
    "millstream.broker.replication.replica_fetcher",
    "millstream.broker.replication.replica_fetchers",
    "millstream.broker.storage.log_cutter",
    "millstream.log.directory.clean_check",
    "millstream.log.producers.producers_at_cut",
    "millstream.log.verification",
    "millstream.replication.damage",
    "millstream.replication.fetch_plan",
    "millstream.replication.follower",
    "millstream.replication.isr_reasons",
}
"""A node by itself follows nobody; one that is new has no log that was closed or damaged."""
ASKED_FOR = {
    "ctypes",
    "millstream.broker.config.tls_settings",
    "millstream.broker.http.pages",
    "millstream.broker.login",
    "millstream.net.client.authentication",
    "millstream.net.server.http_server",
    "millstream.net.server.login_gate",
    "millstream.security.audit",
    "millstream.security.login",
    "millstream.security.sasl_scram",
    "millstream.security.standard_authorizer",
    "millstream.security.tls",
    "secrets",
}
"""A node has logins, TLS, access rules and metrics over HTTP where its settings ask for them, and ctypes where a parent has started it."""
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


def test_what_only_followers_and_damage_need_is_not_imported() -> None:
    code = (
        f"{_UNTIL_SETTINGS_ARE_READ}"
        f"print(*sorted({OF_OTHERS!r} & sys.modules.keys()), sys.modules.keys() >= {{'millstream.replication.partition'}})"
    )
    assert output_of(code) == "True"


def test_what_only_logins_tls_access_rules_and_pages_need_is_not_imported() -> None:
    code = (
        f"{_UNTIL_SETTINGS_ARE_READ}"
        f"print(*sorted({ASKED_FOR!r} & sys.modules.keys()), sys.modules.keys() >= {{'millstream.broker.requests.access'}})"
    )
    assert output_of(code) == "True"


def test_the_look_whether_it_runs_compiled_imports_nothing_of_ours() -> None:
    code = (
        "import sys; from millstream.runtime.native import interpreted_note; before = set(sys.modules)\n"
        "interpreted_note(); print(*(name for name in sys.modules if name not in before and name.startswith('millstream')))"
    )
    assert output_of(code) == ""
