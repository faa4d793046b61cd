// Buys over a bad connection, and prints a report as JSON.
import { inspect } from 'node:util'
import { createClient, proxyUrl, RefusalError } from '@turnpike/client'

const { TURNPIKE_URL: url, TURNPIKE_TOKEN: token, PURCHASES: purchases } = process.env
const retry = { attempts: 40, firstPauseMs: 1, maxPauseMs: 20 }
const replays = []
const onAnswer = ({ operation, isReplayed, attempts }) => isReplayed && replays.push(`${operation} ${attempts}`)
const client = createClient({ url, token, retry, timeoutMs: 3000, onAnswer })
const wish = { country_code: 'DE', ipv: 4, period: 30 }

const bought = []
for (let each = 0; each < purchases / 2; each++) bought.push(await client.dedicated.buy({ ...wish, count: 1 }))
const several = Array.from({ length: purchases / 2 }, () => client.dedicated.buy({ ...wish, count: 2 }))
bought.push(...(await Promise.all(several)))

const again = []
for (let each = 0; each < 2; each++) {
  again.push(
    (await client.premium.buyTraffic({ pool_type: 'datacenter', gb: 1 }, { idempotencyKey: 'key-of-node' })).order_id,
  )
}
const subuser = await client.premium.createSubuser({ name: 'once-node' })

const listed = []
for await (const proxy of client.dedicated.all({ limit: 5 })) listed.push(proxy.id)

const refused = await client.dedicated.buy({ ...wish, count: 1000 }).catch((error) => error)
const aborted = await client.balance.get(undefined, { signal: AbortSignal.abort(new Error('enough')) }).catch(String)
const misspelt = await client.dedicated.quote({ ...wish, count: 'two' }).catch((error) => error)

console.log(
  JSON.stringify({
    orders: bought.map((each) => each.order_id),
    prices: bought.map((each) => each.price_rub),
    proxies: bought.flatMap((each) => each.proxies.map(({ id }) => id)),
    again,
    subuser: subuser.subuser.subuser_id,
    listed,
    refused: { isRefusal: refused instanceof RefusalError, ...refused.refusal, ...refused.facts },
    misspelt: misspelt.refusal.details[0].field,
    aborted,
    proxyUrl: proxyUrl(bought[0].proxies[0]),
    replays: replays.length,
    shown:
      inspect([client, refused, misspelt], { depth: 10, showHidden: true }) + refused.stack + JSON.stringify(refused),
  }),
)
