"""Lets Spark find `format("millstream")` by itself: it looks for a DefaultSource in installed modules named pyspark_*.

Where no program can register the format before it is used, as in Declarative Pipelines, this is the way in. Spark
imports the module in every session that names any source in Python, whoever wrote it, so it loads nothing of ours
before the format is used. Owns no logic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from millstream.spark.data_source import MillstreamSource


class DefaultSource(DataSource):
    """Stands for MillstreamSource until Spark makes one."""

    def __new__(cls, options: dict[str, str]) -> MillstreamSource:  # type: ignore[misc]  # Spark takes any DataSource
        from millstream.spark.data_source import MillstreamSource

        return MillstreamSource(options)

    @classmethod
    def name(cls) -> str:
        return "millstream"
