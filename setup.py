"""The optional compiled parts; everything else about the package is in pyproject.toml.

Without Cython, mypy or a C compiler the build goes on without them, and the same sources run interpreted.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory

from setuptools import Extension, setup
from setuptools._distutils.ccompiler import new_compiler
from setuptools._distutils.errors import CompileError, DistutilsPlatformError
from setuptools._distutils.sysconfig import customize_compiler

LEAVES = [
    "millstream.clients.consumer.core.consumer_record",
    "millstream.clients.producer.core.murmur2",
    "millstream.clients.serdes.long_numbers",
    "millstream.records.record_check",
    "millstream.records.walker",
    "millstream.records.writer",
]

NEEDS_NO_C = {"egg_info", "dist_info", "sdist"}
"""Commands with which pip asks, before it builds, and what packs the sources: C takes a while to make."""


def say(sentence: str, reason: str = "") -> None:
    """Tells who waits for a build, also at the terminal, as pip keeps what a build prints to itself."""
    sys.stderr.write(f"{sentence}{reason}\n")
    if not sys.stderr.isatty():
        try:
            with Path("/dev/tty").open("w") as terminal:
                terminal.write(f"\r{sentence}\n")  # over the line that pip turns its wheel in
        except OSError:
            pass  # nobody sits at one


def a_compiler_works() -> bool:
    """Asked with the headers of this Python, before C is made, which takes a quarter of a minute."""
    compiler = new_compiler()
    customize_compiler(compiler)  # CC and CFLAGS count
    headers = [sysconfig.get_path(kind) for kind in ("include", "platinclude")]
    with TemporaryDirectory() as directory:
        source = Path(directory, "asked.c")
        source.write_text("#include <Python.h>\n")
        try:
            compiler.compile([str(source)], output_dir=directory, include_dirs=headers)
        except (CompileError, DistutilsPlatformError) as refused:
            say("millstream: building without compiled parts, no C compiler works", f": {refused}")
            return False
    return True


def leaves() -> list[Extension]:
    """One extension a leaf, named `<leaf>_compiled`, so that both twins can be imported side by side."""
    try:
        from Cython.Build import cythonize
    except ImportError:
        return []
    modules = [
        Extension(f"{leaf}_compiled", [f"src/{leaf.replace('.', '/')}.py"]) for leaf in LEAVES
    ]
    built: list[Extension] = cythonize(modules, build_dir="build/cython")
    return built


def requests() -> list[Extension]:
    """The library of the modules that a small request passes, and one small extension a module that stands for it."""
    try:
        from mypyc.build import mypycify
    except ImportError:
        return []
    sys.path.insert(0, "src")
    from millstream.compiled import finder

    digest = finder.digest("src")
    target = str(Path("build/mypyc").absolute())
    Path(target).mkdir(parents=True, exist_ok=True)
    # Paths are named from src on, so that modules have the names under which they are imported.
    os.environ["MYPYPATH"] = "src"
    options = [
        "--config-file=",
        "--ignore-missing-imports",
        "--follow-imports=silent",
        "--explicit-package-bases",
        "--cache-dir=build/mypy",
    ]
    paths = [f"src/{finder.source_path(module)}" for module in finder.MODULES]
    try:
        built: list[Extension] = mypycify(
            [*options, *paths],
            opt_level="2",  # "s" is a quarter smaller, and requests cost a tenth more
            debug_level="0",
            target_dir=target,
            group_name=finder.library_name(digest).removesuffix("__mypyc"),
        )
    except SystemExit as refused:  # mypy has said why
        say("millstream: building without compiled requests, mypy refuses them", f": {refused}")
        return []
    for extension in built:
        if extension.name in finder.MODULES:
            extension.name = finder.extension_name(extension.name, digest)
        # Another compiler warns of other things. What is not exported is called directly, and its name takes no room.
        flags = [flag for flag in extension.extra_compile_args if flag != "-Werror"]
        extension.extra_compile_args = [*flags, "-fvisibility=hidden"]
    return built


def extensions() -> list[Extension]:
    if NEEDS_NO_C.intersection(sys.argv) or not a_compiler_works():
        return []
    say("millstream: compiling the inner loops, which takes about a minute")
    built = [*requests(), *leaves()]  # the largest first: it takes as long as all others beside it
    for extension in built:
        extension.optional = True
        # Python's own flags ask for what a debugger needs: more than half of a library, packed or not.
        extension.extra_compile_args = [*extension.extra_compile_args, "-g0"]
        if sys.platform == "linux":
            extension.extra_link_args = [*extension.extra_link_args, "-Wl,--strip-all"]
    return built


setup(ext_modules=extensions(), options={"build_ext": {"parallel": os.cpu_count() or 1}})
