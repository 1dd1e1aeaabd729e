"""The page of figures says nothing of what did not run."""

from tests.torture.page import page_of
from tests.torture.phases import Found, Wanted


def test_a_phase_that_did_not_run_has_no_figures_and_time_is_what_passed() -> None:
    soaked = Found({"soak_prompts": 5_000, "soak_model_faults": 250, "soak_store_faults": 0}, seconds=600.0)
    page = page_of({"soak": soaked}, Wanted(seed=1, length=1.0), 90.0)
    assert "| soak: prompts, model faults, store faults | 5,000, 250, 0 |" in page
    assert "| characters that were confirmed | not run |" in page
    assert "| soak: memory early and late, MB | not run |" in page
    assert ", 1.5 minutes." in page


def test_phases_that_had_ended_in_an_earlier_run_are_told_apart() -> None:
    page = page_of({}, Wanted(seed=1, length=1.0), 60.0, earlier=120.0)
    assert "1.0 minutes, and 2.0 of phases that had ended in an earlier one." in page
