"""Whether a model fits into the memory of a machine."""

import pytest

from core.config.files.machine_memory import MachineMemory
from core.providers.local.catalogue import bundled
from core.providers.local.fit import Fit, fit_of


@pytest.mark.parametrize(
    ("total", "available", "fit"),
    [
        (16_000, 9_000, Fit.FITS),
        (2_000, 1_000, Fit.FITS),
        (2_000, 999, Fit.TIGHT),
        (1_000, 0, Fit.TIGHT),
        (999, 999, Fit.TOO_LARGE),
    ],
)
def test_what_fits(total: int, available: int, fit: Fit) -> None:
    entry = bundled().model_copy(update={"memory": 1_000})
    assert fit_of(entry, MachineMemory(total, available)) is fit
