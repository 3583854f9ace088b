"""Who may do what. See README.md."""
