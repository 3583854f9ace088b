"""Regular expressions that clients send: cheap ones are matched in a thread, costly ones in a process of their own."""
