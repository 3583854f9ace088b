from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from millstream.cli.main import main


def test_a_missing_extra_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    result = CliRunner().invoke(main, ["console"])
    assert result.exit_code == 2
    assert (
        result.stderr
        == "millstream console: jinja2 not installed: pip install 'millstream[console]'\n"
    )


def test_a_port_in_use_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = CliRunner().invoke(main, ["console", "--port", str(port)])
    assert result.exit_code == 1
    assert result.stderr.startswith(
        f"millstream console: cannot listen on 127.0.0.1 port {port}: Address already in use"
    )
    assert result.stderr.count("\n") == 1


def test_addresses_that_cannot_be_read_are_one_sentence() -> None:
    result = CliRunner().invoke(main, ["console", "-b", "kafka:no", "--port", "0"])
    assert result.exit_code == 2
    assert result.stderr == "millstream console: bootstrap_servers: 'kafka:no' is not host:port\n"


def test_help_does_not_load_the_web_framework() -> None:
    code = (
        "import sys; import millstream.cli.console;"
        "print([name for name in ('starlette', 'uvicorn', 'jinja2', 'pyarrow') if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"


def refusal(*options: str) -> str:
    """Why the console does not start with these options, which are used wrongly."""
    result = CliRunner().invoke(main, ["console", "-b", "127.0.0.1:1", "--port", "0", *options])
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    return result.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--host", "0.0.0.0"), "there is no login because the cluster has none"),
        (("--host", "0.0.0.0", "-X", "security.protocol=SASL_SSL"), "passwords would cross"),
        (("--host", "0.0.0.0", "-X", "security.protocol=sasl_ssl"), "passwords would cross"),
        (("--admin", "alice"), "--admin names users, and nobody logs in"),
        (("-X", "security.protocol=SASL_SSL"), "needs sasl_mechanism"),
        (
            ("-X", "security.protocol=SASL_SSL", "-X", "sasl.mechanism=OAUTHBEARER"),
            "cannot log in with a name and a password",
        ),
    ],
)
def test_a_door_that_would_be_open_by_accident_is_one_sentence(
    options: tuple[str, ...], told: str
) -> None:
    assert told in refusal(*options)


def test_a_file_that_is_no_key_with_certificates_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "pages.pem"
    file.write_text("nothing of use")
    assert str(file) in refusal("--tls", str(file))
