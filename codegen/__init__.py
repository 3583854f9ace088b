"""Tools that write parts of `src/millstream` from tables. Never imported by the product."""
