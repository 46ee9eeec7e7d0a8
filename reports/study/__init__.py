"""A study: tables and page."""
