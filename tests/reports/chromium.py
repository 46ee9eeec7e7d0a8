"""The browser that draws pages in tests."""

from __future__ import annotations

from pathlib import Path

from tests.support.work import PATIENCE_SECONDS

CHROMIUM = Path("/usr/bin/chromium")
PATIENCE_MILLISECONDS = 1000 * PATIENCE_SECONDS
"""How long to wait for what a page shows."""
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
