"""JSON in one canonical form, and its checksum."""

import hashlib
import json


def checksum(canonical_body: bytes) -> str:
    """Return the SHA-256 of a body as canonical JSON."""
    return hashlib.sha256(canonical_body).hexdigest()


def canonical(value: object) -> bytes:
    """Return JSON in one form: sorted keys, no white space, UTF-8. Raises ValueError for other values."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8")
