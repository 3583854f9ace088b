"""Keys and values of records as columns: formats, strict types, and what becomes of bad rows."""
