// Verifies the webhooks of its standard input, and prints for each the event or the problem.
import { verifyWebhook } from '@turnpike/client'

const cases = JSON.parse(await new Response(process.stdin).text())
const results = cases.map(({ body, headers, keys, nowMs }) =>
  verifyWebhook(body, headers, keys, { nowMs }).catch((error) => error.problem ?? error.name),
)
console.log(JSON.stringify(await Promise.all(results)))
