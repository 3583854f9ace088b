"""`millstream.spark`: its names are there, and cost nothing until they are used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import millstream.spark


def test_importing_the_package_does_not_import_pyspark() -> None:
    code = "import sys, millstream.spark; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_public_names_are_sorted_and_there() -> None:
    names = millstream.spark.__all__
    assert names == sorted(names)
    assert all(getattr(millstream.spark, name) is not None for name in names)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"millstream\.spark.*no_such"):
        _ = millstream.spark.no_such
