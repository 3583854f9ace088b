"""Pipelines on Apache Spark through PySpark. The only package that imports pyspark.

What users call is re-exported here on first use, so that importing one name does not load Spark for another.
"""
