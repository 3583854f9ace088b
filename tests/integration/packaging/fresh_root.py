"""A root directory that has Python, a shell and the libraries of both, as a small container has."""

from __future__ import annotations

import re
import resource
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

_NAMESPACES = ("unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child")
_WITH_EVERY_LINUX = (
    "libpthread.so.0",
    "libdl.so.2",
    "librt.so.1",
    "libm.so.6",
    "libstdc++.so.6",
    "libgcc_s.so.1",
)
"""What wheels of manylinux may want of the system, beside the part of the C library that Python wants as well."""
_LIMIT_S = 600


def can_make_roots() -> bool:
    """Whether this user may have namespaces of its own."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*_NAMESPACES, "true"], capture_output=True, check=False).returncode == 0


def children_cpu_s() -> float:
    """Of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class FreshRoot:
    """Runs commands in `directory` as their root. Python lies there where it lies here."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._python = Path(sys.base_prefix)
        self.python = self._python / "bin/python3"
        for name in ("dev", "proc", "tmp", "bin", "opt", self._python):
            (directory / str(name).lstrip("/")).mkdir(parents=True)
        for name in ("null", "urandom"):
            (directory / "dev" / name).touch()
        self._copy_with_libraries("/bin/sh", to="/bin/sh")
        modules = Path(sysconfig.get_config_var("DESTSHARED"))
        for binary in (self.python, *modules.glob("*.so")):
            self._copy_libraries(binary)
        for library in _WITH_EVERY_LINUX:
            self._copy_library(library)

    def run(self, *command: str | Path) -> str:
        """Returns what the command printed. Raises AssertionError with what it said where it failed."""
        here, inside = shlex.quote(str(self.directory)), shlex.join(map(str, command))
        python = shlex.quote(str(self._python))
        script = f"""
            mount --bind -o ro {python} {here}{python}
            mount -t proc proc {here}/proc
            for name in null urandom; do mount --bind /dev/$name {here}/dev/$name; done
            PATH=$PATH:/usr/sbin
            exec env -i PATH=/bin HOME=/tmp LANG=C.UTF-8 "$(command -v chroot)" {here} {inside}
        """
        done = subprocess.run(
            [*_NAMESPACES, "sh", "-euc", script],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_LIMIT_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{inside}: {done.stdout}{done.stderr}"
        return done.stdout

    def _copy_with_libraries(self, binary: str, *, to: str) -> None:
        shutil.copy(binary, f"{self.directory}{to}")
        self._copy_libraries(Path(binary))

    def _copy_libraries(self, binary: Path) -> None:
        listed = subprocess.run(["ldd", binary], capture_output=True, text=True, check=False).stdout
        for path in re.findall(r"(/\S+) \(0x", listed):
            self._copy(Path(path))

    def _copy_library(self, name: str) -> None:
        known = subprocess.run(
            ["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True
        ).stdout
        found = re.search(rf"^\s*{re.escape(name)} .*=> (/\S+)$", known, re.MULTILINE)
        assert found is not None, f"there is no {name} here"
        self._copy(Path(found[1]))

    def _copy(self, library: Path) -> None:
        if library.is_relative_to(self._python):
            return  # it comes with Python
        target = Path(f"{self.directory}{library}")
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            shutil.copy(library, target)
