"""A comparison of planners: table, JSON document and page."""
