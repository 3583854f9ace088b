"""Records on the command line: where to read, how they are written to a terminal, what lines become."""
