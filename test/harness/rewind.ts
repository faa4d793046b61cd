import { expect } from 'bun:test'
import type { Caller } from './caller.ts'
import type { BoughtProxy } from './gateway.ts'
import { untilTrue } from './turnpike.ts'

/** A web server that answers each request. */
type Origin = { readonly port?: number | undefined }

/** Whether a proxy's login relays a request now. */
export async function works(proxy: BoughtProxy, port: number, origin: Origin): Promise<boolean> {
  const via = `http://${proxy.username}:${proxy.password}@127.0.0.1:${port}`
  const url = `http://127.0.0.1:${origin.port}/`
  const response = await fetch(url, { proxy: via, headers: { connection: 'close' } })
  await response.text()
  return response.status === 200
}

/**
 * Buys until one purchase is answered with 200. The lost login must not work any more at that moment, and no answer is
 * a fault.
 */
export async function buyAfterRewind(
  caller: Pick<Caller, 'post'>,
  lost: BoughtProxy,
  port: number,
  origin: Origin,
): Promise<BoughtProxy> {
  const statuses = new Set<number>()
  let bought: BoughtProxy | undefined
  const isSold = await untilTrue(async () => {
    const answer = await caller.post('/dedicated/buy', { country_code: 'DE', period: 7, count: 1, ipv: 4 })
    statuses.add(answer.status)
    bought = answer.status === 200 ? answer.data.proxies[0] : undefined
    return bought !== undefined
  })
  expect([isSold, statuses.has(500)]).toEqual([true, false])
  expect(await works(lost, port, origin)).toBe(false)
  if (!bought) throw new Error('nothing was sold')
  return bought
}
