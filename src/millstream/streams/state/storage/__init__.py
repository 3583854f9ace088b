"""Where the rows of stores live: in memory or in RocksDB, with what the running batch has written."""
