from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Union

from . import _ed25519
from ._errors import TurnpikeError

WebhookProblem = Literal["header_missing", "too_old", "too_new", "signature", "body"]

#: A sender rotates one secret at a time; more signatures only cost time.
_MAX_SIGNATURES = 20


class WebhookError(TurnpikeError):
    def __init__(self, problem: WebhookProblem) -> None:
        self.problem: WebhookProblem = problem
        super().__init__(f"the webhook is refused: {problem}")


class WebhookEvent(TypedDict):
    type: str
    timestamp: str
    id: int
    order_id: Union[str, None]
    data: dict[str, Any]


def verify_webhook(
    body: Union[str, bytes],
    headers: Mapping[str, str],
    keys: Union[str, Sequence[str]],
    *,
    tolerance: float = 300.0,
    now: float | None = None,
) -> WebhookEvent:
    """Verifies a webhook by the Standard Webhooks specification, and gives its event.

    ``keys`` is a secret (``whsec_…``, HMAC) or a public key (``whpk_…``, ed25519), or several of them. ``body`` is the
    request's body as it came: parsed and written again, its signature is wrong. Keep ``webhook-id`` to recognise an
    event that comes twice.
    """
    known = [_read_key(key) for key in ([keys] if isinstance(keys, str) else keys)]
    given = {name.lower(): value for name, value in headers.items()}
    values = [given.get(name) for name in ("webhook-id", "webhook-timestamp", "webhook-signature")]
    message_id, timestamp, signatures = values
    # A full stop separates the signed parts, so an id with one could move their limits.
    if not message_id or not timestamp or not signatures or "." in message_id:
        raise WebhookError("header_missing")
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        raise WebhookError("header_missing")
    age = (time.time() if now is None else now) - int(timestamp)
    if age > tolerance:
        raise WebhookError("too_old")
    if -age > tolerance:
        raise WebhookError("too_new")
    data = body.encode() if isinstance(body, str) else bytes(body)
    signed = f"{message_id}.{timestamp}.".encode() + data
    if not any(_is_signed_by(each, known, signed) for each in signatures.split(" ")[:_MAX_SIGNATURES]):
        raise WebhookError("signature")
    try:
        event: WebhookEvent = json.loads(data)
    except ValueError:
        raise WebhookError("body") from None
    return event


def _is_signed_by(signature: str, keys: Sequence[tuple[str, bytes]], signed: bytes) -> bool:
    scheme, _, text = signature.partition(",")
    value = _decode(text)
    for own, key in keys:
        if own != scheme or value is None:
            continue
        if own == "v1" and hmac.compare_digest(hmac.new(key, signed, hashlib.sha256).digest(), value):
            return True
        if own == "v1a" and _ed25519.verify(key, value, signed):
            return True
    return False


def _read_key(text: str) -> tuple[str, bytes]:
    prefix, _, encoded = text.partition("_")
    value = _decode(encoded)
    scheme = {"whsec": "v1", "whpk": "v1a"}.get(prefix)
    if scheme is None or not value or (scheme == "v1a" and len(value) != 32):
        raise ValueError("a webhook key is whsec_… or whpk_… with base64")
    return scheme, value


def _decode(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
