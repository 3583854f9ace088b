"""`millstream registry`: the schemas of a schema registry that speaks Confluent's REST API."""
