"""Stream threads in processes of their own, so that they compute side by side."""
