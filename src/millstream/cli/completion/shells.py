"""Scripts that shells run when the Tab key is pressed, and where shells look for them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

from millstream.cli.completion import VARIABLE

if TYPE_CHECKING:
    import click

PROGRAM: Final = "millstream"
SHELLS: Final = ("bash", "zsh", "fish")
_WORD_BREAKS: Final = ":="
"""Bash takes what follows the last of these for the word that is completed: `orders` of `topic:orders`."""

_MEANT_BY_SHELLS: Final = re.compile(r'[\\"$`]')
"""What has a meaning between double quotes."""


class BashWithColons(BashComplete):
    """Bash, which cuts words at colons, where names of resources have one. The line itself tells where words end."""

    source_template = """\
%(complete_func)s() {
    local IFS=$'\\n'
    local kind value
    COMPREPLY=()
    while IFS=',' read -r kind value; do
        case $kind in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain)
                COMPREPLY+=("$value")
                [[ $value == *[:=] ]] && compopt -o nospace
                ;;
        esac
    done < <(env COMP_LINE="$COMP_LINE" COMP_POINT="$COMP_POINT" %(complete_var)s=bash_complete "$1" 2>/dev/null)
    return 0
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        line = (
            os.environ["COMP_LINE"]
            .encode()[: int(os.environ["COMP_POINT"])]
            .decode(errors="replace")
        )
        words = split_arg_string(line)[1:]
        if not words or line[-1:].isspace():
            return words, ""
        return words[:-1], words[-1]

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        kept = incomplete[: max(map(incomplete.rfind, _WORD_BREAKS)) + 1]
        found = super().get_completions(args, incomplete)
        return [
            CompletionItem(each.value.removeprefix(kept), each.type, each.help) for each in found
        ]

    def source(self) -> str:
        return (
            self.source_template % self.source_vars()
        )  # click's own asks bash for its version first


add_completion_class(BashWithColons, "bash")


class Installation(NamedTuple):
    """A file that a shell reads, and lines for the user's own file where the shell must be told of it."""

    file: Path
    told_in: Path | None = None
    lines: str = ""


def script(command: click.Command, shell: str) -> str:
    """Returns what the shell is to run."""
    completing = get_completion_class(shell)
    assert completing is not None, "click has all of SHELLS"
    return completing(command, {}, PROGRAM, VARIABLE).source()


def installation(shell: str, home: Path, environment: Mapping[str, str]) -> Installation:
    """Returns where a shell looks for completions of this user."""

    def folder_of(variable: str, default: Path) -> Path:
        named = environment.get(variable, "")
        return Path(named) if named.startswith("/") else default  # XDG has relative ones ignored

    data = folder_of("XDG_DATA_HOME", home / ".local/share")
    match shell:
        case "bash":  # where the package bash-completion looks
            return Installation(data / "bash-completion/completions" / PROGRAM)
        case "fish":
            config = folder_of("XDG_CONFIG_HOME", home / ".config")
            return Installation(config / "fish/completions" / f"{PROGRAM}.fish")
        case _:  # zsh has no such folder of a user's own
            folder = data / "zsh/site-functions"
            told_in = folder_of("ZDOTDIR", home) / ".zshrc"
            quoted = _MEANT_BY_SHELLS.sub(r"\\\g<0>", str(folder))
            lines = f'fpath=("{quoted}" $fpath)\nautoload -Uz compinit && compinit\n'
            return Installation(folder / f"_{PROGRAM}", told_in, lines)


def install(wanted: Installation, text: str) -> list[Path]:
    """Writes the files, and returns those that it changed. A second time it changes what is another text alone.

    Raises OSError.
    """
    changed = changes(wanted, text)
    if wanted.file in changed:
        wanted.file.parent.mkdir(parents=True, exist_ok=True)
        wanted.file.write_bytes(text.encode())
    if wanted.told_in in changed:
        with wanted.told_in.open("ab") as file:
            file.write(f"\n# Completion of {PROGRAM}.\n{wanted.lines}".encode())
    return changed


def changes(wanted: Installation, text: str) -> list[Path]:
    """Returns the files that `install` would change. Raises OSError.

    Bytes are compared: what a user's own file has beside may be in any encoding.
    """
    changed = []
    if not wanted.file.exists() or wanted.file.read_bytes() != text.encode():
        changed.append(wanted.file)
    if wanted.told_in is not None:
        there = wanted.told_in.read_bytes() if wanted.told_in.exists() else b""
        if wanted.lines.encode() not in there:
            changed.append(wanted.told_in)
    return changed
