"""`format("millstream")`: topics as a Spark data source and sink in pure Python, Arrow all the way.

Options are checked when Spark asks for the schema or a writer, before anything connects. Every process that Spark
starts imports this module: it loads what only some of them need when it is asked for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSource

from millstream.spark.collecting import freeze_what_is_loaded
from millstream.spark.formats.column_formats import REGISTRY_LOGIN
from millstream.spark.kafka_settings import PREFIX, SECRETS
from millstream.spark.source.batch_reader import BatchReader
from millstream.spark.source.combinations import refuse_in_batch, refuse_in_stream
from millstream.spark.source.event_time.options import require_batch_options
from millstream.spark.source.options import parse_source_options
from millstream.spark.source.rows.decoding import decoding_of, schema_text
from millstream.spark.source.stream_reader import StreamReader
from millstream.spark.told_errors import in_one_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from millstream.spark.sink.writers import BatchWriter, StreamWriter

FORMAT: Final = "millstream"
_REDACTED: Final = "spark.sql.redaction.options.regex"
_HIDDEN: Final = (*(PREFIX + name for name in SECRETS), "schema.registry.url", REGISTRY_LOGIN)
"""A registry's address may have a login in it."""
_SECRETS: Final = f"(?i:{'|'.join(re.escape(name) for name in _HIDDEN)})"


class MillstreamSource(DataSource):
    """Registered once a session: `register(session)`; `millstream.spark.configure` does it."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    @in_one_line
    def schema(self) -> str:
        return schema_text(parse_source_options(self.options))

    @in_one_line
    def streamReader(self, schema: StructType) -> StreamReader:  # noqa: N802 - Spark's name
        options = parse_source_options(self.options)
        refuse_in_stream(self.options.keys())
        return StreamReader(options, decoding_of(options, schema))

    @in_one_line
    def reader(self, schema: StructType) -> BatchReader:
        options = parse_source_options(self.options, is_batch=True)
        refuse_in_batch(
            self.options.keys(),
            has_group=options.group_id is not None,
            reads_commits=options.reads_commits,
        )
        require_batch_options(options.event_time)
        return BatchReader(options, decoding_of(options, schema))

    @in_one_line
    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:  # noqa: ARG002, N802 - Spark's signature
        from millstream.spark.sink.encoding.encoding import encoding_of
        from millstream.spark.sink.options import parse_sink_options
        from millstream.spark.sink.writers import StreamWriter

        options = parse_sink_options(self.options, schema)
        freeze_what_is_loaded()
        return StreamWriter(options, encoding_of(options, schema))

    @in_one_line
    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        from millstream.spark.sink.encoding.encoding import encoding_of
        from millstream.spark.sink.options import parse_sink_options
        from millstream.spark.sink.writers import BatchWriter

        options = parse_sink_options(self.options, schema, overwrite=overwrite)
        freeze_what_is_loaded()
        return BatchWriter(options, encoding_of(options, schema))


def register(session: SparkSession) -> None:
    """Makes the format known to the session, has its queries commit their last micro-batch, and
    Spark show no secret in a plan.

    By itself Spark hides what is called a password, a secret or a token: not a private key.
    """
    # Every worker loads this module, and none of them needs a listener.
    from millstream.spark.source.last_commits import attach_last_commits

    hidden = session.conf.get(_REDACTED) or ""
    if _SECRETS not in hidden:
        session.conf.set(_REDACTED, f"{hidden}|{_SECRETS}" if hidden else _SECRETS)
    if not _is_found(session):
        session.dataSource.register(MillstreamSource)
    attach_last_commits(session, FORMAT)


def _is_found(session: SparkSession) -> bool:
    """Whether Spark has found the format by itself (`pyspark_millstream`): it warns of a second registration."""
    in_jvm = getattr(session, "_jsparkSession", None)  # a session of Spark Connect has none
    return in_jvm is not None and bool(
        in_jvm.sessionState().dataSourceManager().dataSourceExists(FORMAT)
    )
