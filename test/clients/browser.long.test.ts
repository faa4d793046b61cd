import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join, normalize } from 'node:path'
import type { Browser } from 'playwright-core'
import { openChromium, readyWithinMs } from '../browser/chromium.ts'
import { type Service, startService } from '../harness/service.ts'
import { type Installed, installClients } from './installed.ts'

let browser: Browser
let clients: Installed
let shop: Service
/** A reseller's site of another origin, with the package as it is installed. */
let site: ReturnType<typeof Bun.serve>
beforeAll(async () => {
  clients = await installClients()
  const root = join(clients.folder, 'node_modules/@turnpike/client')
  site = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const { pathname } = new URL(request.url)
      if (pathname === '/') return new Response('<!doctype html>', { headers: { 'Content-Type': 'text/html' } })
      return new Response(Bun.file(join(root, normalize(pathname))))
    },
  })
  shop = await startService('sqlite', { TURNPIKE_CORS_ORIGINS: site.url.origin })
  browser = await openChromium()
}, readyWithinMs)
afterAll(async () => {
  await browser?.close()
  await shop?.stop()
  await site?.stop(true)
  clients?.remove()
})

test('the client in Chromium quotes, buys once under a key and lists, from a page of another origin', async () => {
  const { token } = await shop.newCustomer(1000n)
  const page = await browser.newPage()
  await page.goto(site.url.href)
  const done = await page.evaluate(
    async ({ url, token: secret, path }) => {
      const { createClient } = (await import(path)) as typeof import('../../packages/client/src/index.ts')
      const client = createClient({ url, token: secret })
      const order = { country_code: 'DE', period: 30, count: 1, ipv: 4 } as const
      const quote = await client.dedicated.quote(order)
      const options = { idempotencyKey: 'from-a-page' }
      const bought = [await client.dedicated.buy(order, options), await client.dedicated.buy(order, options)]
      const { balance_rub: left } = await client.balance.get()
      const refusal = await client.dedicated.buy({ ...order, country_code: 'XX' }).catch(String)
      return { price: quote.price_rub, orders: bought.map((each) => each.order_id), left, refusal }
    },
    { url: shop.url, token, path: '/dist/index.js' },
  )
  expect(new Set(done.orders).size).toBe(1)
  expect(done.left).toBe(1000 - done.price)
  expect(done.refusal).toStartWith('RefusalError')
})
