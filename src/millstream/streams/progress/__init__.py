"""Progress in the terminal: how much is done of something that takes long, and the line that says so to a person."""
