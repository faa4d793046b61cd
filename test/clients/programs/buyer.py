"""Buys over a bad connection, and prints a report as JSON."""

import asyncio
import json
import os
import traceback

from turnpike_client import AsyncClient, Client, RefusalError, RetryLimits, TurnpikeError, proxy_url

url, token, purchases = os.environ["TURNPIKE_URL"], os.environ["TURNPIKE_TOKEN"], int(os.environ["PURCHASES"])
retry = RetryLimits(attempts=40, first_pause=0.001, max_pause=0.02)
replays = []


def on_answer(facts):
    if facts.is_replayed:
        replays.append(facts.operation)


client = Client(url, token, retry=retry, timeout=3, on_answer=on_answer)
wish = {"country_code": "DE", "ipv": 4, "period": 30}

bought = [client.dedicated.buy(**wish, count=1) for _ in range(purchases // 2)]


async def buy_several():
    async with AsyncClient(url, token, retry=retry, timeout=3, on_answer=on_answer) as several:
        found = await asyncio.gather(*(several.dedicated.buy(**wish, count=2) for _ in range(purchases // 2)))
        return found, [proxy["id"] async for proxy in several.dedicated.all(limit=6)]


found, listed_async = asyncio.run(buy_several())
bought += found
again = [
    client.premium.buy_traffic(pool_type="datacenter", gb=1, idempotency_key="key-of-python")["order_id"] for _ in range(2)
]
subuser = client.premium.create_subuser(name="once-python")
listed = [proxy["id"] for proxy in client.dedicated.all(limit=5)]
assert listed == listed_async

try:
    client.dedicated.buy(**wish, count=1000)
except TurnpikeError as error:
    refused, shown = error, traceback.format_exc() + repr(error) + repr(vars(error))
try:
    client.dedicated.quote(**{**wish, "count": "two"})
except RefusalError as error:
    misspelt = error.details[0]["field"]

print(
    json.dumps(
        {
            "orders": [each["order_id"] for each in bought],
            "prices": [each["price_rub"] for each in bought],
            "proxies": [proxy["id"] for each in bought for proxy in each["proxies"]],
            "again": again,
            "subuser": subuser["subuser"]["subuser_id"],
            "listed": listed,
            "refused": {
                "isRefusal": isinstance(refused, RefusalError),
                "reason": refused.reason,
                "charged": refused.charged,
                "params": refused.params,
                "status": refused.facts.status,
                "requestId": refused.facts.request_id,
                "idempotencyKey": refused.facts.idempotency_key,
            },
            "misspelt": misspelt,
            "proxyUrl": proxy_url(bought[0]["proxies"][0]),
            "replays": len(replays),
            "shown": shown + repr(client) + repr(vars(client)),
        }
    )
)
