from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._operations import Reason, RefusalCode


class TurnpikeError(Exception):
    """The base of all errors of this client. None of them holds the token."""


@dataclass(frozen=True)
class CallFacts:
    operation: str
    attempts: int
    #: Repeat the call with this key to get its answer without a second effect.
    idempotency_key: str | None
    #: ``X-Request-Id`` of the last answer, for the shop's support.
    request_id: str | None
    status: int | None


class RefusalError(TurnpikeError):
    """The shop refused the call. Decide by ``reason``; ``params`` has its values."""

    def __init__(self, refusal: Mapping[str, Any], facts: CallFacts) -> None:
        self.reason: Reason = refusal["reason"]
        self.code: RefusalCode = refusal["code"]
        self.params: Mapping[str, Any] = refusal.get("params") or {}
        #: The problem and what to do, in the client's language.
        self.message: str = refusal.get("message", "")
        #: Whether money was charged; None if the shop does not know, or the operation does not charge.
        self.charged: bool | None = refusal.get("charged")
        self.details: Any = refusal.get("details")
        #: The row of the reason on the shop's page of reasons. Shops before 0.4 send none.
        self.doc_url: str | None = refusal.get("doc_url")
        self.facts = facts
        super().__init__(f"{facts.operation}: {self.message} ({self.reason}{_of_request(facts)})")


class NoAnswerError(TurnpikeError):
    """No answer of the shop came within the limits. A call with an idempotency key may have taken effect: repeat it
    with the same key."""

    def __init__(self, problem: str, facts: CallFacts) -> None:
        self.facts = facts
        super().__init__(f"{facts.operation}: {problem} (attempts: {facts.attempts}{_of_request(facts)})")


def _of_request(facts: CallFacts) -> str:
    return "" if facts.request_id is None else f", request {facts.request_id}"
