"""Whether a model fits into the memory of this machine."""

from enum import StrEnum

from core.config.files.machine_memory import MachineMemory
from core.providers.local.catalogue import CatalogueEntry


class Fit(StrEnum):
    """Fit of a model into the memory; the value is the GM's word for it."""

    FITS = "fits"
    TIGHT = "tight"
    """The machine has the memory, but other programs use some of it now."""
    TOO_LARGE = "too large"


def fit_of(entry: CatalogueEntry, memory: MachineMemory) -> Fit:
    """Return how well a model fits."""
    if entry.memory > memory.total:
        return Fit.TOO_LARGE
    return Fit.FITS if entry.memory <= memory.available else Fit.TIGHT
