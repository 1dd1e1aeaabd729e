"""Adds the groups of a secret, and checks model and tags of a slot's profile.

The secrets of chapters that were made before have none: those who see a group were ticked by name.
"""

from alembic import op

revision: str = "story_0028"
down_revision: str | None = "story_0027"
branch_labels: str | None = None
depends_on: str | None = None

GROUPS = """
    ALTER TABLE secret
        ADD COLUMN groups TEXT[] NOT NULL DEFAULT '{}',
        ADD CONSTRAINT ck_secret_groups CHECK (cardinality(groups) <= 20)
"""
KEPT = (
    "DROP TRIGGER keep_secret ON secret",
    "CREATE TRIGGER keep_secret BEFORE UPDATE ON secret FOR EACH ROW WHEN ("
    "(NEW.session_id, NEW.number, NEW.text, NEW.known_by, NEW.groups)"
    " IS DISTINCT FROM (OLD.session_id, OLD.number, OLD.text, OLD.known_by, OLD.groups))"
    " EXECUTE FUNCTION storyengine_keep_secret()",
)
_PROFILE = (
    'strict $.* ? ((@.character_id == null || @.character_id like_regex "^[0-9a-f-]{36}$")'
    ' && @.short_description.type() == "string" && @.group.type() == "string" && @.group != ""'
    ' && @.aliases.type() == "array" && @.aliases.size() <= 20'
    ' && @.groups_visible.type() == "array" && @.groups_visible.size() < 20'
    ' && (!exists(@.keyvalue() ? (@.key == "model")) || @.model like_regex "^.{1,200}$")'
    ' && (!exists(@.keyvalue() ? (@.key == "tags"))'
    ' || (@.tags.type() == "array" && @.tags.size() <= 100)))'
)
PROFILES = f"""
    ALTER TABLE tab1_input
        DROP CONSTRAINT ck_tab1_input_profiles,
        ADD CONSTRAINT ck_tab1_input_profiles CHECK (
            CASE WHEN jsonb_typeof(profiles) = 'object'
            THEN profiles - '{{1,2,3,4,5,6,7}}'::text[] = '{{}}'
            AND jsonb_array_length(jsonb_path_query_array(profiles, '{_PROFILE}'))
            = jsonb_array_length(jsonb_path_query_array(profiles, 'strict $.*')) ELSE false END
        )
"""


def upgrade() -> None:
    for step in (GROUPS, *KEPT, PROFILES):
        op.execute(step)
