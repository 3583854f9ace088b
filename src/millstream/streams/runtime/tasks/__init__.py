"""The tasks of one host: their life, and the one manager of them below stream threads and Spark's task hosts."""
