from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

from ._errors import TurnpikeError

if TYPE_CHECKING:
    from ._client import AsyncClient, Client
    from ._operations import Event

_PAGE_SIZE = 500
_DELIVERY_LIMIT = 20.0
_MAX_PAUSE = 30.0


def follow(client: Client, after: int | None = None, *, wait: int = 30) -> Iterator[Event]:
    """The customer's events in their order, each once, as they happen: long polling.

    ``after`` is the ``id`` of the last event that was seen; None for events from now on. It raises when the shop cannot
    be reached within the client's limits."""
    if after is None:
        after = 0
        for seen in client.events.all(limit=_PAGE_SIZE):
            after = seen["id"]
    while True:
        since: dict[str, Any] = {"after": after} if after > 0 else {}
        for event in client.events.list(wait=wait, limit=_PAGE_SIZE, **since)["events"]:
            yield event
            after = event["id"]


async def async_follow(client: AsyncClient, after: int | None = None, *, wait: int = 30) -> AsyncIterator[Event]:
    """``follow`` for asyncio."""
    if after is None:
        after = 0
        async for seen in client.events.all(limit=_PAGE_SIZE):
            after = seen["id"]
    while True:
        since: dict[str, Any] = {"after": after} if after > 0 else {}
        for event in (await client.events.list(wait=wait, limit=_PAGE_SIZE, **since))["events"]:
            yield event
            after = event["id"]


def listen(
    client: Client,
    to: str,
    *,
    after: int | None = None,
    secret: str | None = None,
    wait: int = 30,
    attempts: int = 10,
    first_pause: float = 0.5,
    save: Callable[[int], None] | None = None,
) -> None:
    """Forwards events to a local address as webhooks: a POST for each event, in order, at least once. Any answer but
    2xx is tried again. ``save`` gets the id of each delivered event: start with it as ``after`` the next time."""
    for event in follow(client, after, wait=wait):
        _deliver(event, to, secret, attempts, first_pause)
        if save is not None:
            save(event["id"])


def _deliver(event: Event, to: str, secret: str | None, attempts: int, first_pause: float) -> None:
    names = ("type", "timestamp", "id", "order_id", "data")
    facts: dict[str, Any] = dict(event)
    body = json.dumps({name: facts[name] for name in names}, separators=(",", ":")).encode()
    problem: object = "no answer"
    for attempt in range(attempts):
        if attempt > 0:
            time.sleep(min(_MAX_PAUSE, first_pause * 2 ** (attempt - 1)))
        headers = {"Content-Type": "application/json", **_sign(f"evt_{event['id']}", body, secret)}
        request = urllib.request.Request(to, body, headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=_DELIVERY_LIMIT) as answer:
                answer.read()
                return
        except urllib.error.HTTPError as error:
            problem = error.code
            error.close()
        except OSError:
            problem = "no answer"
    raise TurnpikeError(f"event {event['id']} was not taken: {problem}")


def _sign(message_id: str, body: bytes, secret: str | None) -> dict[str, str]:
    """The headers of the Standard Webhooks specification; without a secret there is no signature."""
    timestamp = str(int(time.time()))
    headers = {"Webhook-Id": message_id, "Webhook-Timestamp": timestamp}
    if secret is None:
        return headers
    if not secret.startswith("whsec_"):
        raise ValueError("the secret of listen is whsec_… with base64")
    key = base64.b64decode(secret[len("whsec_") :])
    mac = hmac.new(key, f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return {**headers, "Webhook-Signature": f"v1,{base64.b64encode(mac).decode()}"}
