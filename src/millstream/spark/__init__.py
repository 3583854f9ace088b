"""Pipelines on Apache Spark through PySpark. The only package that imports pyspark.

What users call is here, loaded on first use: importing this package, or one of its pure modules, loads no Spark.
"""

from typing import TYPE_CHECKING

from millstream.runtime.lazy import names_of

if TYPE_CHECKING:
    from millstream.spark.client_properties import kafka_options
    from millstream.spark.data_source import FORMAT, register
    from millstream.spark.pipeline.inputs import DataFrameInput
    from millstream.spark.pipeline.lifecycle import State
    from millstream.spark.pipeline.micro_batches import PipelineFailed, Progress
    from millstream.spark.pipeline.queries.query_server import SparkQueryServer
    from millstream.spark.pipeline.runner_options import RunnerOptions
    from millstream.spark.pipeline.spark_streams import MicroBatchRunner, SparkStreams
    from millstream.spark.query_metrics.listener import QueryMetricsListener
    from millstream.spark.query_metrics.server import MetricsServer
    from millstream.spark.query_metrics.topic import MetricsTopic
    from millstream.spark.query_metrics.values import (
        QueryMetrics,
        SourceMetrics,
        SourcePartitionMetrics,
        SourceTopicMetrics,
    )
    from millstream.spark.session import SparkOptions, configure
    from millstream.spark.sink.atomic import write_atomically
    from millstream.spark.sink.time_order import in_time_order
    from millstream.spark.states.states import (
        Backing,
        MemoryBacking,
        OpaqueState,
        StateUnusable,
        TransactionalState,
    )
    from millstream.spark.states.topic_backing import TopicBacking
    from millstream.streams.runtime.errors import DataLoss
else:
    __getattr__ = names_of(
        __name__,
        {
            "millstream.spark.client_properties": "kafka_options",
            "millstream.spark.pipeline.inputs": "DataFrameInput",
            "millstream.spark.pipeline.lifecycle": "State",
            "millstream.spark.pipeline.micro_batches": "PipelineFailed Progress",
            "millstream.spark.pipeline.queries.query_server": "SparkQueryServer",
            "millstream.spark.pipeline.runner_options": "RunnerOptions",
            "millstream.spark.pipeline.spark_streams": "MicroBatchRunner SparkStreams",
            "millstream.spark.query_metrics.listener": "QueryMetricsListener",
            "millstream.spark.query_metrics.server": "MetricsServer",
            "millstream.spark.query_metrics.topic": "MetricsTopic",
            "millstream.spark.query_metrics.values": "SourcePartitionMetrics QueryMetrics SourceMetrics SourceTopicMetrics",
            "millstream.spark.session": "SparkOptions configure",
            "millstream.spark.sink.atomic": "write_atomically",
            "millstream.spark.sink.time_order": "in_time_order",
            "millstream.spark.states.states": "Backing MemoryBacking OpaqueState StateUnusable TransactionalState",
            "millstream.spark.states.topic_backing": "TopicBacking",
            "millstream.spark.data_source": "FORMAT register",
            "millstream.streams.runtime.errors": "DataLoss",
        },
        extras=("spark", "queries"),
    )

__all__ = [
    "Backing",
    "DataFrameInput",
    "DataLoss",
    "FORMAT",
    "MemoryBacking",
    "MetricsServer",
    "MetricsTopic",
    "MicroBatchRunner",
    "OpaqueState",
    "PipelineFailed",
    "Progress",
    "QueryMetrics",
    "QueryMetricsListener",
    "RunnerOptions",
    "SourceMetrics",
    "SourcePartitionMetrics",
    "SourceTopicMetrics",
    "SparkOptions",
    "SparkQueryServer",
    "SparkStreams",
    "State",
    "StateUnusable",
    "TopicBacking",
    "TransactionalState",
    "configure",
    "in_time_order",
    "kafka_options",
    "register",
    "write_atomically",
]
