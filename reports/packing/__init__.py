"""The answer to one packing problem: summary, JSON document and page."""
