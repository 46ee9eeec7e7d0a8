"""Renders results: terminal summaries, JSON documents, trace files, exports and self-contained HTML pages."""
