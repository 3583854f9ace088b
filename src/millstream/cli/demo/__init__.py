"""The demo: every flight that left New York City in 2013, through a topology on Apache Spark."""
