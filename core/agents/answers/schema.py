"""JSON schemas for models, made from the Pydantic models of `core.domain.story.memory` (design 7).

They are inline, closed (`additionalProperties: false`, every key required), and bound every string and
every array, as strict services ask.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel

from core.domain.story.memory import WIDE_BOUNDS

Schema = dict[str, Any]

_KEPT = ("type", "const", "enum", "minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum")


def schema_of(model: type[BaseModel]) -> Schema:
    """Return the inline JSON schema of `model`, without titles and descriptions."""
    whole = _json_schema(model)
    return _inline(whole, whole.get("$defs", {}))


@cache
def _json_schema(model: type[BaseModel]) -> Schema:
    return model.model_json_schema()


def fixed(value: str | int) -> Schema:
    """Return the schema of one value that the engine already knows."""
    return {"type": "integer" if isinstance(value, int) else "string", "const": value}


def one_of(*values: str | int) -> Schema:
    """Return the schema of a choice among values of one type."""
    distinct = list(dict.fromkeys(values))
    return {"type": "integer" if isinstance(distinct[0], int) else "string", "enum": distinct}


def text_of(most: int) -> Schema:
    """Return the schema of a text of at most so many characters."""
    return {"type": "string", "maxLength": most}


def record(**properties: Schema) -> Schema:
    """Return the schema of an object with exactly these keys."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _inline(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    if "$ref" in node:
        return _inline(definitions[node["$ref"].rpartition("/")[2]], definitions)
    result: Schema = {key: node[key] for key in _KEPT if key in node}
    if node.get("type") == "string" and not {"const", "enum"} & node.keys():
        result.setdefault("maxLength", WIDE_BOUNDS.phrase)
    if "properties" in node:
        return record(**{key: _inline(inner, definitions) for key, inner in node["properties"].items()})
    if "items" in node:
        result["items"] = _inline(node["items"], definitions)
        result.setdefault("maxItems", WIDE_BOUNDS.entries)
    return result
