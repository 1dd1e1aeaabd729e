"""JSON schemas for models, made from the Pydantic models of `core.memory` (design 7).

They are inline, closed (`additionalProperties: false`, every key required), and bound every string and
every array, as strict services ask and as small models need.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

Schema = dict[str, Any]

_KEPT = ("type", "const", "enum", "minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum")


def schema_of(model: type[BaseModel]) -> Schema:
    """Return the inline JSON schema of `model`, without titles and descriptions."""
    whole = model.model_json_schema()
    return _inline(whole, whole.get("$defs", {}))


def fixed(value: str | int) -> Schema:
    """Return the schema of one value that the engine already knows."""
    return {"type": "integer" if isinstance(value, int) else "string", "const": value}


def one_of(*values: str | int) -> Schema:
    """Return the schema of a choice among values of one type."""
    distinct = list(dict.fromkeys(values))
    return {"type": "integer" if isinstance(distinct[0], int) else "string", "enum": distinct}


def tighten(schema: Schema, *, text: int, items: Mapping[str, int], default_items: int) -> None:
    """Lower the bounds of `schema` in place: strings to `text` characters, arrays by their key."""
    for key, inner in schema.get("properties", {}).items():
        if inner.get("type") == "array" and "const" not in inner:
            bound = items.get(key, default_items)
            inner["maxItems"] = max(inner.get("minItems", 0), min(inner["maxItems"], bound))
            tighten(
                {"properties": {key: inner["items"]}}, text=text, items=items, default_items=default_items
            )
        elif inner.get("type") == "string" and "maxLength" in inner:
            inner["maxLength"] = min(inner["maxLength"], text)
        tighten(inner, text=text, items=items, default_items=default_items)


def _inline(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    if "$ref" in node:
        return _inline(definitions[node["$ref"].rpartition("/")[2]], definitions)
    result: Schema = {key: node[key] for key in _KEPT if key in node}
    if "properties" in node:
        properties = {key: _inline(inner, definitions) for key, inner in node["properties"].items()}
        result["properties"] = properties
        result["required"] = list(properties)
        result["additionalProperties"] = False
    if "items" in node:
        result["items"] = _inline(node["items"], definitions)
    return result
