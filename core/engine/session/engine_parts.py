"""The parts of an engine that all its open sessions share."""

from dataclasses import dataclass

from core.engine.engine_settings import PlaySettings
from core.engine.queue.control import QueueSwitch
from core.engine.recall.reading import BankReader
from core.engine.services.save_points.save_points import SavePoints
from core.gateway.embedding_service import EmbeddingService
from core.gateway.model_gateway import ModelGateway
from core.ledger.ceilings import CeilingGuard


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineParts:
    """The parts of an engine that each of its open sessions works with; made once, with the engine."""

    gateway: ModelGateway
    embeddings: EmbeddingService
    bank: BankReader
    save_points: SavePoints
    switch: QueueSwitch
    guard: CeilingGuard | None
    """Keeps the ceilings; None where none is set."""
    play: PlaySettings
