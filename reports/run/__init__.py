"""One simulated run: summary, JSON document, trace file and page."""
