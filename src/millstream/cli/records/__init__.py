"""Records on the command line: offsets to read, formats on a terminal, lines to send."""
