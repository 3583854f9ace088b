"""One line that says what to do, out of a page of Spark's."""

from __future__ import annotations

from millstream.spark.told_errors import cause
from tests.support.late_workers import is_worth_another_start

FAILED = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times, most recent failure: Lost task 0.0: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/site/kernel/plan.py", line 80, in run
    value = divide(row)
ZeroDivisionError: division by zero

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/site/pyspark/worker.py", line 1, in main
    process()
millstream.streams.errors.ProcessingError: node KSTREAM-MAPVALUES-1 failed at in-0 offset 17: division by zero

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)
Caused by: org.apache.spark.SparkException: again
ZeroDivisionError: division by zero
"""


def test_our_own_last_word_is_the_cause() -> None:
    assert (
        cause(FAILED)
        == "millstream.streams.errors.ProcessingError: node KSTREAM-MAPVALUES-1 failed at in-0 offset 17: division by zero"
    )


def test_without_one_it_is_the_last_error_of_the_python_traceback() -> None:
    foreign = FAILED.replace("millstream.streams.errors.", "other.").replace("in-0", "x")
    assert cause(foreign).startswith("other.ProcessingError: node")


LATE = """[STREAM_FAILED] Query [id = 1] terminated with exception: Python worker failed to connect back. SQLSTATE: XXKST
=== Streaming Query ===
Identifier: flights [id = 1]
Current State: INITIALIZING
"""


def test_what_spark_says_of_the_query_is_not_the_cause() -> None:
    assert cause(LATE) == LATE.splitlines()[0]


def test_a_worker_that_was_late_is_worth_another_start_and_an_error_of_ours_is_not() -> None:
    assert is_worth_another_start(cause(LATE))
    assert not is_worth_another_start(cause(FAILED))


def test_without_a_traceback_it_is_the_first_line() -> None:
    assert (
        cause("[STREAM_FAILED] Query [id = 1] stopped\n\tat org.x.Y.z(Y.scala)")
        == "[STREAM_FAILED] Query [id = 1] stopped"
    )


def test_silence_is_said_to_be_silence() -> None:
    assert cause("") == "no reason given"


OF_SQL = """[STREAM_FAILED] Query [id = 1] terminated with exception: [DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012
== SQL (line 1, position 8) ==
string(1 / 0) AS value
       ^^^^^
 SQLSTATE: XXKST
=== Streaming Query ===
"""


def test_the_state_that_spark_writes_under_an_expression_is_not_the_cause() -> None:
    assert cause(OF_SQL) == OF_SQL.splitlines()[0]


def test_the_call_through_which_an_error_of_the_jvm_came_is_not_the_cause() -> None:
    text = """An error occurred while calling o148.start.
: org.apache.spark.SparkClassNotFoundException: [DATA_SOURCE_NOT_FOUND] Failed to find the data source: millstream.
\tat org.apache.spark.sql.X.y(X.scala:770)
"""
    assert cause(text) == (
        "org.apache.spark.SparkClassNotFoundException: [DATA_SOURCE_NOT_FOUND] Failed to find the data source: millstream."
    )


def test_an_error_that_was_told_in_one_line_is_the_cause() -> None:
    told = """[STREAM_FAILED] Query [id = 1] terminated with exception: [PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR] Failed when Python streaming data source perform latestOffset: millstream.errors.ConfigError: topic a is not there: create it
 SQLSTATE: 38000 SQLSTATE: XXKST
=== Streaming Query ===
Current State: ACTIVE
"""
    assert cause(told) == "millstream.errors.ConfigError: topic a is not there: create it"
