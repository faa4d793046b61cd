"""Typed client of a Turnpike shop."""

from ._call import UNSET, AnswerFacts, RetryLimits, Unset
from ._client import AsyncClient, Client
from ._errors import CallFacts, NoAnswerError, RefusalError, TurnpikeError
from ._follow import async_follow, follow, listen
from ._proxies import playwright_proxy, proxies_of, proxy_url
from ._webhooks import WebhookError, WebhookEvent, verify_webhook

__all__ = [
    "UNSET",
    "AnswerFacts",
    "AsyncClient",
    "CallFacts",
    "Client",
    "NoAnswerError",
    "RefusalError",
    "RetryLimits",
    "TurnpikeError",
    "Unset",
    "WebhookError",
    "WebhookEvent",
    "async_follow",
    "follow",
    "listen",
    "playwright_proxy",
    "proxies_of",
    "proxy_url",
    "verify_webhook",
]
