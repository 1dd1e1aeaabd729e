"""A command that deletes for good asks first, at a terminal; `--yes` answers beforehand."""

import pytest
import typer

from core.domain.errors import StoryEngineError
from storyengine_tui.cli import asking


def test_without_a_terminal_nothing_is_deleted_unless_yes_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "is_attended", lambda: False)
    assert asking.may_delete("“Mira”", is_sure=True)
    with pytest.raises(StoryEngineError, match="nothing was changed") as refused:
        asking.may_delete("“Mira”", is_sure=False)
    assert refused.value.hint == "Add --yes to delete it."


@pytest.mark.parametrize(("is_wanted", "said"), [(True, ""), (False, "Nothing was deleted.\n")])
def test_the_question_names_what_is_deleted_and_a_no_is_confirmed(
    is_wanted: bool, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def answer(question: str) -> bool:
        asked.append(question)
        return is_wanted

    monkeypatch.setattr(asking, "is_attended", lambda: True)
    monkeypatch.setattr(typer, "confirm", answer)
    assert asking.may_delete("“Mira” and its card", is_sure=False) is is_wanted
    assert asked == ["Delete “Mira” and its card for good? It cannot be brought back."]
    assert capsys.readouterr().out == said
