"""Access rules, SCRAM credentials and delegation tokens, as the metadata log holds them."""
