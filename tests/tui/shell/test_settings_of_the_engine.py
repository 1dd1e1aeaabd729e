"""Each setting of the engine comes from the GM's settings, and none from a default of the code."""

from decimal import Decimal
from pathlib import Path

from core.config.files.paths import Paths
from core.config.sections import CeilingSettings
from core.config.settings import Settings
from core.domain.requests.retry_policy import Backoffs
from core.engine.services.speaking.hints import HintRules
from core.ledger.ceilings import Ceilings
from storyengine_tui.bootstrap import Configuration


def test_the_engine_has_the_settings_of_the_gm(tmp_path: Path) -> None:
    settings = Settings(
        summary_backoff=7.0,
        summary_tries=3,
        background_backoff=9.0,
        background_tries=4,
        afterthoughts=1,
        hint_minutes=12,
        hints_by_model=True,
        ceilings=CeilingSettings(chapter=Decimal(2), day=Decimal(5)),
        _env_file=None,
    )
    found = Configuration(Paths(tmp_path, tmp_path, tmp_path, tmp_path), settings)
    assert found.play.backoffs == Backoffs.of(
        summary_first=7.0, summary_tries=3, background_first=9.0, background_tries=4
    )
    assert (found.play.afterthoughts, found.play.hints) == (1, HintRules(12, by_model=True))
    assert found.rules.ceilings == Ceilings(Decimal(2), Decimal(5))
    assert found.rules.spending is found.spending
