"""The commands whose texts of the GM are stored once they return: from then on these must never be gone."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.torture.kills.dying_program import Seams


def confirm_texts(seams: "Seams") -> None:
    """Note the texts of each such command."""
    from core.engine.queue.control import QueueControl
    from core.engine.scene.scene import Scene
    from core.engine.services.bank.bank import Bank
    from core.engine.services.takes.takes import Takes
    from core.engine.session.session_edits import SessionEdits
    from core.engine.session.session_handle import SessionHandle
    from db.store import PostgresStore

    seams.confirming(
        PostgresStore,
        "commit",
        lambda _, changes, lease: [str(one.payload.get("correction") or "") for one in changes.blocks],
    )
    seams.confirming(SessionHandle, "submit_prompt", lambda _, slot, text, **options: [text])
    seams.confirming(QueueControl, "edit", lambda _, request_id, text: [text])
    seams.confirming(Takes, "correct_reply", lambda _, text: [text])
    seams.confirming(Scene, "narrate", lambda _, text, **options: [text])
    seams.confirming(Scene, "edit_secrets", lambda _, edited: [secret.text for secret in edited])
    seams.confirming(SessionEdits, "edit_tab1", lambda _, edit: [edit.world, edit.chapter, edit.title])
    seams.confirming(SessionEdits, "define_narrative", lambda _, text, words: [text])
    seams.confirming(SessionEdits, "edit_prompt_blocks", lambda _, made: [one.text for one in made.blocks])
    seams.confirming(Bank, "add", lambda _, session, added: [added.text])
    seams.confirming(Bank, "edit", lambda _, item, typed: [typed.text])
