"""Topologies on Spark: the driver plans micro-batches, Spark runs their tasks, and task hosts
beside its workers perform them.
"""
