"""The numbers of a chip by what they matter: words, JSON document and page."""
