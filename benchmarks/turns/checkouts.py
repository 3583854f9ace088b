"""Products of commits, built beside this checkout: `build/turns/products/KEY`, and this checkout's benchmark code.

A product is what `pip install` makes of a commit, in a folder of its own that goes before everything else on the path: its
sources and its compiled leaves are its own, the packages it imports are those of this environment. The working tree is built
the same way, from a snapshot, so that neither side has the leaves of yesterday and nothing that is edited meanwhile counts.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

_BUILT_FROM: Final = ("src", "setup.py", "pyproject.toml", "requirements/build.txt")
"""What decides what a product is; commits that differ elsewhere share it."""
_KEPT: Final = 8
_DONE: Final = "done"


class CannotBuild(Exception):
    """A commit is not there, or cannot be built; the message says what to do."""


def run(*command: str, cwd: Path, environment: dict[str, str] | None = None) -> str:
    """Raises CannotBuild with what the command said."""
    done = subprocess.run(
        command, cwd=cwd, env=environment, check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise CannotBuild(f"{' '.join(command[:4])} …: {done.stderr.strip()[-2000:]}")
    return done.stdout.strip()


def commit_of(root: Path, name: str) -> str:
    try:
        return run("git", "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", cwd=root)
    except CannotBuild:
        raise CannotBuild(
            f"no commit {name!r} here; in a shallow clone run `git fetch --unshallow` first"
        ) from None


def working_tree(root: Path) -> str:
    """The tree that a commit of everything here would have, what git ignores apart; the index stays as it is."""
    with tempfile.TemporaryDirectory() as directory:
        environment = os.environ | {"GIT_INDEX_FILE": f"{directory}/index"}
        run("git", "read-tree", "HEAD", cwd=root, environment=environment)
        run("git", "add", "--all", cwd=root, environment=environment)
        return run("git", "write-tree", cwd=root, environment=environment)


def product_key(root: Path, tree: str) -> str:
    """The same for trees and Pythons of which the same product would be built."""
    listing = run("git", "ls-tree", tree, *_BUILT_FROM, cwd=root)
    return hashlib.sha256(f"{sys.version}\n{listing}".encode()).hexdigest()[:16]


def product_of(root: Path, tree: str) -> Path:
    """The folder for the path of Python; built the first time."""
    products = root / "build/turns/products"
    place = products / product_key(root, tree)
    if not (place / _DONE).exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        _build(root, tree, place)
    (place / _DONE).touch()  # now the last used
    _forget_old(products)
    return place / "product"


def benchmark_code(root: Path, tree: str) -> Path:
    """A folder with the benchmarks/ of the tree alone: no src beside it that could be imported."""
    place = root / "build/turns/code"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    _export(root, tree, place, "benchmarks")
    return place


def compiled_modules(product: Path) -> int:
    return len(list(product.rglob("*.so")))


def _build(root: Path, tree: str, place: Path) -> None:
    source, product = place / "source", place / "product"
    source.mkdir()
    _export(root, tree, source)
    python = (sys.executable, "-I", "-m")
    quiet = ("--quiet", "--disable-pip-version-check", "--no-input")
    run(
        *python, "pip", "install", *quiet, "--no-deps", "--no-build-isolation", "--no-compile",
        "--target", str(product), str(source), cwd=place,
    )  # fmt: skip
    run(*python, "compileall", "-q", str(product), cwd=place)
    shutil.rmtree(source)


def _export(root: Path, tree: str, place: Path, *paths: str) -> None:
    archive = place / "archive.tar"
    run("git", "archive", "--output", str(archive), tree, *paths, cwd=root)
    shutil.unpack_archive(archive, place, filter="data")
    archive.unlink()


def _forget_old(products: Path) -> None:
    done = sorted(products.glob(f"*/{_DONE}"), key=lambda path: path.stat().st_mtime)
    for each in done[:-_KEPT]:
        shutil.rmtree(each.parent)
