"""One packing: summary, JSON document and page."""
