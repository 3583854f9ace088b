"""What shells are given, and where they find it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from millstream.cli.completion import VARIABLE
from millstream.cli.completion.local_names import offered
from millstream.cli.completion.shells import (
    PROGRAM,
    SHELLS,
    BashWithColons,
    install,
    installation,
    script,
)
from millstream.cli.main import VERBS, main
from tests.patience import LONG_ENOUGH_S

HOME = Path("/home/me")


PRESS = "_millstream_completion millstream; echo ${COMPREPLY[*]}; complete -p millstream"


def pressed(line: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What bash offers for a line when Tab is pressed at its end."""
    monkeypatch.setenv("COMP_LINE", line)
    monkeypatch.setenv("COMP_POINT", str(len(line.encode())))
    return BashWithColons(main, {}, PROGRAM, VARIABLE).complete()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("millstream prof", ["plain,profile"]),
        ("millstream topics del", ["plain,delete"]),
        (
            "millstream topics list --boot",
            ["plain,--bootstrap-server", "plain,--bootstrap-servers"],
        ),
        ("millstream -p pr", ["plain,prod"]),
        ("millstream -p prod prof", ["plain,profile"]),
        ("millstream topics -p prod list --profile=pr", ["plain,prod"]),
        ("millstream profile show ", ["plain,dev", "plain,prod"]),
        ("millstream topics create t --config retention.m", ["plain,retention.ms="]),
        ("millstream topics list -X client.i", ["plain,client.id="]),
        ("millstream configs get to", ["plain,topic:"]),
        ("millstream configs list nothing-of", []),
        ("millstream produce t ab", ["file,ab"]),
        ("millstream topics 'unfinished", []),
    ],
)
def test_what_bash_is_offered(
    line: str, offered: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "millstream/profiles"
    folder.mkdir(parents=True)
    for name in ("dev", "prod"):
        (folder / f"{name}.properties").touch(0o600)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert pressed(line, monkeypatch).splitlines() == offered


def test_the_program_answers_a_shell_that_sets_its_variable() -> None:
    told = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; sys.argv = ['millstream']; from millstream.cli.main import main; main()",
        ],
        env=os.environ
        | {VARIABLE: "bash_complete", "COMP_LINE": "millstream prof", "COMP_POINT": "15"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (told.stdout, told.stderr) == ("plain,profile\n", "")


def test_all_verbs_are_offered_without_the_import_of_any() -> None:
    code = (
        "import sys; from millstream.cli.main import main; import click;"
        "print([each.value for each in main.shell_complete(click.Context(main), '')]);"
        "print([name for name in sys.modules if name.startswith('millstream.cli.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    offered, imported = done.stdout.splitlines()
    assert offered == str(list(VERBS))
    assert "millstream.cli.topics" not in imported


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_names_the_variable_by_which_the_program_knows(shell: str) -> None:
    text = script(main, shell)
    assert f"{VARIABLE}={shell}_complete" in text
    assert CliRunner().invoke(main, ["completion", "show", shell]).output == text


def test_bash_takes_its_script(tmp_path: Path) -> None:
    """With a program that offers two names, of which bash shows the part behind the colon."""
    (tmp_path / "millstream").write_text("#!/bin/sh\necho plain,orders\necho plain,other=\n")
    (tmp_path / "millstream").chmod(0o755)
    told = subprocess.run(
        ["bash", "-c", f"{script(main, 'bash')}\nCOMP_LINE='millstream x' COMP_POINT=12; {PRESS}"],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert told.stdout.splitlines() == [
        "orders other=",
        "complete -o nosort -F _millstream_completion millstream",
    ]


@pytest.mark.parametrize(
    ("shell", "environment", "file"),
    [
        ("bash", {}, "/home/me/.local/share/bash-completion/completions/millstream"),
        ("bash", {"XDG_DATA_HOME": "/d"}, "/d/bash-completion/completions/millstream"),
        (
            "bash",
            {"XDG_DATA_HOME": "d"},
            "/home/me/.local/share/bash-completion/completions/millstream",
        ),
        ("fish", {}, "/home/me/.config/fish/completions/millstream.fish"),
        ("fish", {"XDG_CONFIG_HOME": "/c"}, "/c/fish/completions/millstream.fish"),
        ("zsh", {}, "/home/me/.local/share/zsh/site-functions/_millstream"),
    ],
)
def test_each_shell_looks_in_its_own_place(
    shell: str, environment: dict[str, str], file: str
) -> None:
    assert str(installation(shell, HOME, environment).file) == file


def test_zsh_is_told_of_the_folder_once(tmp_path: Path) -> None:
    wanted = installation("zsh", tmp_path, {})
    assert wanted.told_in == tmp_path / ".zshrc"
    wanted.told_in.write_text("alias ll='ls -l'\n")
    assert install(wanted, "text") == [wanted.file, wanted.told_in]
    assert install(wanted, "text") == []
    assert install(wanted, "newer text") == [wanted.file]
    told = wanted.told_in.read_text()
    assert told.startswith("alias ll='ls -l'\n")
    assert told.count(str(wanted.file.parent)) == 1


@pytest.mark.skipif(
    shutil.which("bash") is None, reason="there is no bash, which quotes as zsh does"
)
def test_the_name_of_a_folder_is_no_program(tmp_path: Path) -> None:
    """A home directory may have any name: what stands in .zshrc is run."""
    home = tmp_path / 'a "home" of $(touch ran) `touch ran` \\'
    wanted = installation("zsh", home, {})
    told = wanted.lines.splitlines()[0].replace(" $fpath", "")
    done = subprocess.run(
        ["bash", "-c", f'{told}; printf %s "${{fpath[0]}}"'], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=LONG_ENOUGH_S
    )  # fmt: skip
    assert (done.stdout, list(tmp_path.iterdir())) == (str(wanted.file.parent), [])


def test_zsh_may_be_set_up_in_any_encoding(tmp_path: Path) -> None:
    wanted = installation("zsh", tmp_path, {})
    assert wanted.told_in is not None
    wanted.told_in.write_bytes(b"# fran\xe7ais\n")
    assert install(wanted, "text") == [wanted.file, wanted.told_in]
    assert install(wanted, "text") == []
    assert wanted.told_in.read_bytes().startswith(b"# fran\xe7ais\n\n")


def test_what_is_tried_says_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_DATA_HOME", "ZDOTDIR"):
        monkeypatch.delenv(name, raising=False)

    def told(*options: str) -> str:
        return CliRunner().invoke(main, ["completion", "install", "zsh", *options]).stdout

    for _ in range(2):
        tried = told("--dry-run")
        assert tried == f"would write {told().removeprefix('wrote ')}"
    assert tried == "would write nothing: it was there already\n"


def test_the_shell_is_the_users_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("SHELL", "/usr/bin/bash")
    file = tmp_path / ".local/share/bash-completion/completions/millstream"
    tried = CliRunner().invoke(main, ["completion", "install", "--dry-run"])
    assert tried.output == f"would write {file}\n"
    assert not file.exists()
    assert CliRunner().invoke(main, ["completion", "install"]).exit_code == 0
    assert file.read_text() == script(main, "bash")
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    refused = CliRunner().invoke(main, ["completion", "install"])
    assert (refused.exit_code, "say which shell: bash, zsh, fish" in refused.stderr) == (2, True)


def test_a_name_that_a_shell_would_run_is_not_offered() -> None:
    """Whoever may join a group chooses its id."""
    names = [
        "plain-1.a_b",
        "topic:orders",
        "a; rm -rf x",
        "$(touch x)",
        "a\nplain,b",
        "a b",
        "`x`",
        "ä",
        "--yes",
        "=ls",
    ]
    assert [each.value for each in offered(names, "")] == ["plain-1.a_b", "topic:orders"]


def test_a_warning_does_not_stand_in_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The scripts of zsh and fish leave standard error as it is."""
    (tmp_path / "own.properties").write_text("liinger.ms=5\nbootstrap.servers=no address\n")
    monkeypatch.chdir(tmp_path)
    assert pressed("millstream topics describe --config own.properties ", monkeypatch) == ""
    assert capsys.readouterr().err == ""
