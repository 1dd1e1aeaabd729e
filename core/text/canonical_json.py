"""Canonical JSON and its checksum."""

import hashlib
import json


def checksum(canonical_body: bytes) -> str:
    """Return the SHA-256 of canonical JSON, in hexadecimal."""
    return hashlib.sha256(canonical_body).hexdigest()


def canonical(value: object) -> bytes:
    """Return JSON with sorted keys and no white space, in UTF-8; raise ValueError for other values."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8")
