"""A study: terminal tables and page."""
