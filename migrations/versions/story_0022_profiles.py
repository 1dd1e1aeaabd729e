"""Adds what the slots of a chapter have of characters of the library.

In chapters that were made before, every slot counts as made by hand.
"""

from alembic import op

revision: str = "story_0022"
down_revision: str | None = "story_0021"
branch_labels: str | None = None
depends_on: str | None = None

_PROFILE = (
    'strict $.* ? ((@.character_id == null || @.character_id like_regex "^[0-9a-f-]{36}$")'
    ' && @.short_description.type() == "string" && @.group.type() == "string" && @.group != ""'
    ' && @.aliases.type() == "array" && @.aliases.size() <= 20'
    ' && @.groups_visible.type() == "array" && @.groups_visible.size() < 20)'
)
PROFILES = f"""
    ALTER TABLE tab1_input
        ADD COLUMN profiles JSONB NOT NULL DEFAULT '{{}}',
        ADD CONSTRAINT ck_tab1_input_profiles CHECK (
            CASE WHEN jsonb_typeof(profiles) = 'object'
            THEN profiles - '{{1,2,3,4,5,6,7}}'::text[] = '{{}}'
            AND jsonb_array_length(jsonb_path_query_array(profiles, '{_PROFILE}'))
            = jsonb_array_length(jsonb_path_query_array(profiles, 'strict $.*')) ELSE false END
        )
"""


def upgrade() -> None:
    op.execute(PROFILES)
