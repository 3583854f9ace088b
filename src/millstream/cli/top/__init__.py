"""`millstream top`: a live screen of rates and lag."""
