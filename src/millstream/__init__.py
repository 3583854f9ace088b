"""Millstream: Apache Kafka and Kafka Streams in Python, with pipelines on Apache Spark.

This module stays empty of work: `import millstream` must cost next to nothing. It only says where compiled modules are
found. Import what you need from `millstream.clients`, `millstream.streams`, `millstream.spark` or `millstream.testing`.
"""

from millstream.compiled import prefer_compiled

__version__ = "0.1.0"

prefer_compiled()
