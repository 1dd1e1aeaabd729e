"""Asks for help with a text of the GM's own, and waits for the proposal (design 17)."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from core.agents import assist
from core.agents.assist import AssistRequest, SuggestedText
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode, IllegalCommandError, StoryEngineError
from core.domain.ids import RequestId
from core.domain.requests.request import BackgroundRequest, Request, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.engine.changes.moves import new_work
from core.engine.queue.background import BackgroundWorker, give_up
from core.engine.sync import notifications
from core.engine.sync.notifications import Notification
from core.engine.sync.session_writer import SessionWriter
from core.gateway.model_gateway import ModelGateway

DROP_TIMEOUT_SECONDS: Final = 5.0
"""Seconds to take a request out of the queue; after that it stays there, where the GM can drop it."""
_CLOSED: Final = "The chapter was closed; open it again to go on."


class Watcher(Protocol):
    """Follows a request for a proposal."""

    def begin(self, model: str) -> None:
        """A call begins; what came of an earlier one is void."""

    def wait(self, request: Request) -> None:
        """It waits for its turn, or after a failure until it is tried again."""

    def add(self, text: str) -> None:
        """The next piece of the answer."""


@dataclass(eq=False)
class Assist:
    """Asks for proposals for one session. Each is a request beside the play, in the queue like any other."""

    _writer: SessionWriter
    _background: BackgroundWorker
    _gateway: ModelGateway
    _asked: set[RequestId] = field(default_factory=set, init=False)
    """The requests whose proposals are waited for."""
    _leaving: set[asyncio.Task[None]] = field(default_factory=set, init=False)

    @property
    def model(self) -> str:
        """The model that answers."""
        return self._gateway.model_label(self._gateway.choices[AgentRole.NARRATIVE])

    def new(self, asked: AssistRequest) -> BackgroundRequest:
        """Return the request for a proposal; raises IllegalCommandError where none can be made.

        Raises SessionLockedError where another window writes.
        """
        self._writer.require_writer()
        assist.require_possible(asked)
        return BackgroundRequest(
            slot=asked.slot,
            text=asked.to_text(),
            **new_work(RequestKind.ASSIST, self._writer.snapshot.session.id, self._writer.clock()),
        )

    async def propose(self, request: BackgroundRequest, watcher: Watcher) -> SuggestedText:
        """Queue a request, or one that has failed again, and return its proposal.

        Raises StoryEngineError when the call failed or was stopped: propose it again then, or leave it.
        """
        self._asked.add(request.id)
        try:
            return await self._proposed(request, watcher)
        finally:
            self._asked.discard(request.id)

    async def _proposed(self, request: BackgroundRequest, watcher: Watcher) -> SuggestedText:
        with self._writer.listeners.listen() as listener:
            if any(one.id == request.id for one in self._writer.snapshot.requests):
                await self._background.retry(request.id)
            else:
                await self._background.add(request)
            async for notification in listener:
                if self._follow(request.id, notification, watcher):
                    return await self._proposal_of(request)
        raise IllegalCommandError(_CLOSED)

    def _follow(self, request_id: RequestId, notification: Notification, watcher: Watcher) -> bool:
        """Tell the watcher of a notification, and return whether there is a proposal now."""
        match notification:
            case notifications.CallStarted(request=request, model=model) if request.id == request_id:
                watcher.begin(model)
            case notifications.TextArrived(found, text) if found == request_id:
                watcher.add(text)
            case notifications.RequestQueued(request) if request.id == request_id:
                watcher.wait(request)
            case notifications.RequestFailed(request, error) if request.id == request_id:
                raise error
            case notifications.RequestSettled(request) if request.id == request_id:
                if request.state is not RequestState.DONE:
                    raise StoryEngineError(ErrorCode.LLM_CANCELLED)
                return True
            case _:
                pass
        return False

    async def _proposal_of(self, request: BackgroundRequest) -> SuggestedText:
        """Return the proposal in the newest call of a request; raises StorageError."""
        calls = await self._writer.store.calls.artifacts(request.session_id, request_id=request.id)
        last = calls[-1]
        texts = await self._writer.store.calls.contents(request.session_id, [last.output_ref or ""])
        asked, text = AssistRequest.from_text(request.text), texts[last.output_ref or ""]
        style = self._gateway.choices[AgentRole.NARRATIVE].style
        is_unfinished = last.finish_reason == "length"
        made = assist.read_proposal(asked, text, is_unfinished=is_unfinished, style=style)
        return replace(made, cut=last.left_out)

    async def stop(self, request_id: RequestId) -> None:
        """Stop a call that runs, which has failed then, or take back one that waits."""
        await self._background.stop(request_id)

    def leave(self, request_id: RequestId) -> None:
        """Give up a request that is not done, in the background: its proposal is not wanted any more."""
        task = asyncio.create_task(self._drop(request_id), name="drop a proposal")
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _drop(self, request_id: RequestId) -> None:
        """Stop a request that runs, and take it out of the queue; one that is being stored too."""
        with suppress(StoryEngineError, TimeoutError), self._writer.listeners.listen() as listener:
            async with asyncio.timeout(DROP_TIMEOUT_SECONDS):
                await self._background.stop(request_id)
                async for notification in listener:
                    match notification:
                        case notifications.RequestFailed(request) if request.id == request_id:
                            # Not by the worker, which may not have finished with it yet.
                            await self._writer.apply(
                                lambda snapshot: give_up(snapshot, request_id, self._writer.clock())
                            )
                            return
                        case notifications.RequestSettled(request) if request.id == request_id:
                            return
                        case _:
                            pass

    async def aclose(self) -> None:
        """Give up what is asked for here: with the chapter, the text goes that it was meant for."""
        for request_id in self._asked:
            self.leave(request_id)
        if self._leaving:
            await asyncio.wait(set(self._leaving))
