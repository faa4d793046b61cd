from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from ._call import AnswerFacts, Call, RetryLimits
from ._operations import AsyncOperations, Operations

#: Requests of one asynchronous client that run at a time; further ones wait for a thread.
_THREADS = 32


class Client(Operations):
    """The operations of a shop that a token may call, in groups: ``client.dedicated.buy(…)``. Threads can share it."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        language: Literal["en", "ru"] | None = None,
        timeout: float = 60.0,
        retry: RetryLimits = RetryLimits(),
        on_answer: Callable[[AnswerFacts], None] | None = None,
    ) -> None:
        """``url`` is the shop's address; ``timeout`` limits, in seconds, each wait for bytes of an answer."""
        super().__init__(Call(url, token, language=language, timeout=timeout, retry=retry, on_answer=on_answer))


class AsyncClient(AsyncOperations):
    """The same operations for asyncio: ``await client.dedicated.buy(…)``. A cancelled call leaves its request, which
    ends within its limits, to its thread."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        language: Literal["en", "ru"] | None = None,
        timeout: float = 60.0,
        retry: RetryLimits = RetryLimits(),
        on_answer: Callable[[AnswerFacts], None] | None = None,
    ) -> None:
        call = Call(url, token, language=language, timeout=timeout, retry=retry, on_answer=on_answer)
        self._executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="turnpike")
        call.executor = self._executor
        super().__init__(call)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)
