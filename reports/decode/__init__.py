"""A language model by the length of its context: words, JSON document and page."""
