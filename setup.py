"""The optional compiled leaves; everything else about the package is in pyproject.toml.

Without Cython or a C compiler the build goes on without them, and the same sources run interpreted.
"""

from __future__ import annotations

from setuptools import Extension, setup

LEAVES = [
    "millstream.clients.consumer.core.consumer_record",
    "millstream.clients.producer.core.murmur2",
    "millstream.clients.serdes.long_numbers",
    "millstream.records.record_check",
    "millstream.records.walker",
    "millstream.records.writer",
]


def extensions() -> list[Extension]:
    """One extension a leaf, named `<leaf>_compiled`, so that both twins can be imported side by side."""
    try:
        from Cython.Build import cythonize
    except ImportError:
        return []
    modules = [
        Extension(f"{leaf}_compiled", [f"src/{leaf.replace('.', '/')}.py"]) for leaf in LEAVES
    ]
    built: list[Extension] = cythonize(modules, build_dir="build/cython")
    for extension in built:  # cythonize makes new ones and forgets what it does not know
        extension.optional = True
    return built


setup(ext_modules=extensions())
