"""Verifies the webhooks of its standard input, and prints for each the event or the problem."""

import json
import sys

from turnpike_client import WebhookError, verify_webhook


def result(case):
    try:
        return verify_webhook(case["body"], case["headers"], case["keys"], now=case["nowMs"] / 1000)
    except WebhookError as error:
        return error.problem
    except ValueError:
        return "TypeError"


print(json.dumps([result(case) for case in json.load(sys.stdin)]))
