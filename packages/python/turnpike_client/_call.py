from __future__ import annotations

import asyncio
import email.utils
import http.client
import json
import random
import re
import secrets
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Literal, Union

from ._errors import CallFacts, NoAnswerError, RefusalError, TurnpikeError


class _Unset(Enum):
    UNSET = "unset"


#: Type and value of a field that is not sent. None is sent as null.
Unset = Literal[_Unset.UNSET]
UNSET: Final = _Unset.UNSET


@dataclass(frozen=True)
class RetryLimits:
    """Limits of the attempts of one call."""

    attempts: int = 8
    #: No further attempt begins after these seconds.
    total: float = 120.0
    #: The first pause in seconds; each further one is twice as long, up to ``max_pause``, half of it random.
    first_pause: float = 0.25
    max_pause: float = 8.0


@dataclass(frozen=True)
class AnswerFacts:
    operation: str
    attempts: int
    idempotency_key: str | None
    request_id: str | None
    status: int | None
    #: Whether it is the first answer to this idempotency key, repeated.
    is_replayed: bool
    #: Fields that the shop ignored, or why the purchase cannot be used yet.
    warnings: list[dict[str, Any]]


@dataclass(frozen=True)
class _Failure:
    error: Union[RefusalError, NoAnswerError]
    #: None: no answer came.
    status: int | None = None
    reason: str | None = None
    is_charge_unknown: bool = False
    retry_after: float | None = None


_OVERLOADED = frozenset((429, 502, 503, 504))
_VISIBLE = re.compile(r"[\x21-\x7e]+")


def _is_worth_repeating(failure: _Failure, is_repeatable: bool) -> bool:
    """Whether another attempt may help and cannot have a second effect. A request is repeatable if it reads, or has an
    idempotency key. Any other one is repeated only after 429, which the shop answers before it does anything."""
    if not is_repeatable:
        return failure.status == 429
    if failure.status is None or failure.status in _OVERLOADED:
        return True
    return failure.reason == "request_in_progress" or failure.is_charge_unknown


def _pause(failure: _Failure, attempt: int, limits: RetryLimits) -> float:
    """``Retry-After`` if the shop sent it, and exponential backoff with jitter."""
    backoff = min(limits.max_pause, limits.first_pause * 2 ** (attempt - 1))
    jittered = backoff / 2 + random.random() * backoff / 2
    return jittered if failure.retry_after is None else failure.retry_after + jittered / 2


def _read_retry_after(value: str | None) -> float | None:
    """``Retry-After`` in seconds or as a date."""
    if value is None:
        return None
    if re.fullmatch(r"[0-9]{1,9}", value):
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """A redirect would carry the token elsewhere."""
        return None


class Call:
    """Calls operations. Printing it shows the address and never the token."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        language: Literal["en", "ru"] | None,
        timeout: float,
        retry: RetryLimits,
        on_answer: Callable[[AnswerFacts], None] | None,
    ) -> None:
        if not _VISIBLE.fullmatch(token):
            raise ValueError("the token is empty or has characters that no token has")
        self._base = _read_base(url)
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        if language is not None:
            self._headers["Accept-Language"] = language
        self._timeout = timeout
        self._retry = retry
        self._on_answer = on_answer
        self._opener = urllib.request.build_opener(_NoRedirect)
        #: Where the asynchronous form runs its requests.
        self.executor: Executor | None = None

    def __repr__(self) -> str:
        return f"Call({self._base!r})"

    def __call__(
        self,
        name: str,
        method: str,
        path: str,
        values: Mapping[str, Any],
        timeout: float | None = None,
        is_keyed: bool = False,
        idempotency_key: str | None = None,
    ) -> Any:
        if idempotency_key is not None and not re.fullmatch(r"[\x21-\x7e]{1,255}", idempotency_key):
            raise ValueError("an idempotency key has 1 to 255 visible ASCII characters")
        key = (idempotency_key or secrets.token_hex(16)) if is_keyed else None
        fields = {field: value for field, value in values.items() if value is not UNSET}
        limit = (self._timeout if timeout is None else timeout) + float(fields.get("wait") or 0)
        started, attempt, tries = time.monotonic(), 0, 1
        while True:
            attempt += 1
            # A request object is used once: urllib changes it for a proxy.
            request = self._to_request(method, path, dict(fields), key)
            outcome = self._attempt(request, limit, CallFacts(name, attempt, key, None, None))
            if not isinstance(outcome, _Failure):
                data, facts = outcome
                if self._on_answer is not None:
                    self._on_answer(facts)
                return data
            pause = _pause(outcome, tries, self._retry)
            # A request that still runs is waited for within the time limit; only other failures use up attempts.
            is_running = outcome.reason == "request_in_progress"
            is_late = time.monotonic() - started + pause > self._retry.total
            is_over = is_late or (not is_running and tries >= self._retry.attempts)
            if is_over or not _is_worth_repeating(outcome, method == "GET" or key is not None):
                raise outcome.error
            tries += 0 if is_running else 1
            time.sleep(pause)

    def _to_request(self, method: str, path: str, fields: dict[str, Any], key: str | None) -> urllib.request.Request:
        url = self._base + re.sub(
            r"\{([a-z_]+)\}", lambda found: urllib.parse.quote(str(fields.pop(found[1])), safe=""), path
        )
        if method == "GET":
            query = urllib.parse.urlencode([pair for name, value in fields.items() for pair in _to_pairs(name, value)])
            return urllib.request.Request(f"{url}?{query}" if query else url, headers=self._headers)
        headers = {**self._headers, "Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        return urllib.request.Request(url, json.dumps(fields, default=list).encode(), headers, method="POST")

    def _attempt(
        self, request: urllib.request.Request, limit: float, before: CallFacts
    ) -> Union[_Failure, tuple[Any, AnswerFacts]]:
        """Sends the request once and reads its whole answer."""
        try:
            try:
                answer = self._opener.open(request, timeout=limit)
            except urllib.error.HTTPError as error:
                answer = error
            with answer:
                text = answer.read()
                status, headers = int(answer.status or 0), answer.headers
        except (OSError, http.client.HTTPException) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            problem = "no answer in time from" if isinstance(reason, TimeoutError) else "no connection to"
            shop = self._base.removesuffix("/api/v1")
            return _Failure(NoAnswerError(f"{problem} {shop}", before))
        facts = CallFacts(
            before.operation, before.attempts, before.idempotency_key, headers.get("X-Request-Id"), status
        )
        content_type = headers.get("Content-Type") or ""
        is_json = content_type.startswith("application/json")
        body = _parse_object(text) if is_json else None
        # http.client takes a head that was cut for a whole one; without a length a text may have been cut too.
        has_length = "Content-Length" in headers or "Transfer-Encoding" in headers
        is_file = content_type.startswith(("text/plain", "text/csv")) and has_length
        if status == 200 and (is_file or (body is not None and body.get("ok") is True)):
            warnings = [] if body is None else body.get("warnings", [])
            is_replayed = headers.get("Idempotent-Replayed") == "true"
            known = AnswerFacts(**facts.__dict__, is_replayed=is_replayed, warnings=warnings)
            return (text.decode() if body is None else body["data"]), known
        retry_after = _read_retry_after(headers.get("Retry-After"))
        refusal = body.get("error") if body is not None else None
        if isinstance(refusal, dict) and isinstance(refusal.get("reason"), str):
            is_unknown = "charged" in refusal and refusal["charged"] is None
            return _Failure(RefusalError(refusal, facts), status, refusal["reason"], is_unknown, retry_after)
        problem = NoAnswerError(f"an answer that is not the shop's, with status {status}", facts)
        # A damaged answer counts as none: the request may have taken effect. The shop names the type of every answer.
        is_damaged = status == 200 or is_json or content_type == ""
        return _Failure(problem, None if is_damaged else status, retry_after=retry_after)


def _read_base(address: str) -> str:
    parts = urllib.parse.urlsplit(address)
    is_plain = "@" not in parts.netloc and not parts.query and not parts.fragment
    # The address is not repeated here: it may hold a password.
    if parts.scheme not in ("http", "https") or not parts.hostname or not is_plain:
        raise ValueError("url is the http or https address of the shop, without a login, a query or a fragment")
    return address.rstrip("/").removesuffix("/api/v1") + "/api/v1"


def _to_pairs(name: str, value: Any) -> list[tuple[str, str]]:
    """``metadata={"client": "x"}`` is ``metadata[client]=x``."""
    if isinstance(value, Mapping):
        return [(f"{name}[{key}]", str(each)) for key, each in value.items()]
    return [(name, _to_text(value))]


def _to_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (str, int, float)) else ",".join(str(each) for each in value)


def _parse_object(text: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


class Group:
    """Methods that wait for their answers."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def _pages(
        self, name: str, method: str, path: str, values: Mapping[str, Any], timeout: float | None, items: str
    ) -> Iterator[Any]:
        """Keyset pagination: each page is requested when its first item is needed, and retried on its own."""
        cursor = values.get("cursor", UNSET)
        while cursor is not None:
            page = self._call(name, method, path, {**values, "cursor": cursor}, timeout)
            yield from page[items]
            cursor = page["next_cursor"]


class AsyncGroup:
    """The same methods for asyncio: each request runs in a thread, and is retried there."""

    def __init__(self, call: Call) -> None:
        self._call_in_thread = call

    async def _call(self, *arguments: Any) -> Any:
        call = self._call_in_thread
        return await asyncio.get_running_loop().run_in_executor(call.executor, call, *arguments)

    async def _pages(
        self, name: str, method: str, path: str, values: Mapping[str, Any], timeout: float | None, items: str
    ) -> AsyncIterator[Any]:
        cursor = values.get("cursor", UNSET)
        while cursor is not None:
            page = await self._call(name, method, path, {**values, "cursor": cursor}, timeout)
            for item in page[items]:
                yield item
            cursor = page["next_cursor"]


__all__ = ["AnswerFacts", "Call", "Group", "AsyncGroup", "RetryLimits", "TurnpikeError", "UNSET", "Unset"]
