"""JSON documents as text."""

from __future__ import annotations

import json
from collections.abc import Mapping


def json_text(document: Mapping[str, object]) -> str:
    """``document`` as indented JSON with a line feed at its end."""
    return json.dumps(document, indent=2) + "\n"
