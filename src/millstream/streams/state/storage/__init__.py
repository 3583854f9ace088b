"""The storage of stores' rows: in memory or in RocksDB, with what the running batch has written."""
