import { describe, expect, test } from 'bun:test'
import { lookEveryMs, outageAfterMs } from '../../src/domains/dedicated/outages/rules.ts'
import { HandClock, runtimeWith } from '../harness/clock.ts'
import { engines, enginesOf } from '../harness/database.ts'
import { freePort } from '../harness/gateway.ts'
import { type GatewayProcess, makeGatewayProcess } from '../harness/gateway-process.ts'
import { type Service, startService } from '../harness/service.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { findingsOf } from '../harness/wired.ts'

/** Longer than the shop caches the list of nodes. */
const cacheMs = 501
/** Longer than the interval of the outage check, and short enough to miss no outage. */
const stepMs = 2 * lookEveryMs

/** A shop on a manual clock, so that its checks are on time on a machine of any speed. */
async function openShop(engine: (typeof engines)[number]) {
  const clock = new HandClock(Date.now())
  const shop = await startService(engine, {}, runtimeWith(clock), false)
  const checkOutages = () => shop.services.outageWatch.look()
  return {
    shop,
    clock,
    /** Checks after the next report of the gateway, so that no running gateway counts as silent on this clock. */
    checkAfterReport: async (name: string): Promise<void> => {
      clock.advance(cacheMs)
      await untilReported(shop, name, clock.nowMs)
      await checkOutages()
    },
    /** Advances the clock in steps with a check after each; running gateways report every 20 s of it. */
    passMs: async (ms: number, meanwhile: () => Promise<void>): Promise<void> => {
      for (let passed = 0; passed < ms; passed += stepMs) {
        clock.advance(stepMs)
        if (passed % (2 * stepMs) === 0) await meanwhile()
        await checkOutages()
      }
    },
  }
}

/** Waits until the shop has stored a report of the gateway since an instant. */
async function untilReported({ services }: Service, name: string, sinceAt: number): Promise<void> {
  const hasReported = async () => ((await services.fleet.findByName(name))?.lastSeenAt ?? 0) >= sinceAt
  if (!(await untilTrue(hasReported))) throw new Error(`${name} sent no report`)
}

describe.each([...enginesOf('sqlite')])('an outage of a gateway on %s', (engine) => {
  test('a gateway silent for 30 s interrupts its proxies until it or another gateway serves them again', async () => {
    const { shop, clock, checkAfterReport, passMs } = await openShop(engine)
    const { services } = shop
    const gateways: GatewayProcess[] = []
    try {
      const first = await makeGatewayProcess(shop, freePort())
      gateways.push(first)
      await first.start()
      const buy = () => shop.post('/dedicated/buy', { country_code: 'DE', period: 7, count: 1, ipv: 4 })
      const isSold = async () => {
        clock.advance(cacheMs)
        await untilReported(shop, first.name, clock.nowMs)
        return (await buy()).status === 200
      }
      expect(await untilTrue(isSold)).toBeTrue()
      const list = async () => (await shop.get('/dedicated/list')).data.proxies[0]
      const bought = await list()
      const nodeOf = async () => (await services.proxyOperator.show(bought.id)).node
      await passMs(outageAfterMs + lookEveryMs, () => untilReported(shop, first.name, clock.nowMs))
      expect(await list()).toMatchObject({ state: 'serving', expires_at: bought.expires_at })

      await first.kill()
      await passMs(outageAfterMs + lookEveryMs, async () => {})
      expect((await list()).state).toBe('interrupted')
      await first.start()
      const isBack = async (name: string) => {
        await checkAfterReport(name)
        return (await list()).state === 'serving'
      }
      expect(await untilTrue(() => isBack(first.name))).toBeTrue()
      const longer = Date.parse((await list()).expires_at) - Date.parse(bought.expires_at)
      expect(longer).toBeGreaterThanOrEqual(outageAfterMs)

      await first.kill()
      await passMs(outageAfterMs + lookEveryMs, async () => {})
      expect((await list()).state).toBe('interrupted')
      expect(await nodeOf()).toBe(first.name)
      const second = await makeGatewayProcess(shop, freePort())
      gateways.push(second)
      await second.start()
      expect(await untilTrue(() => isBack(second.name))).toBeTrue()
      const eventTypes = async () =>
        (await shop.get('/events')).data.events
          .map((event: { type: string }) => event.type)
          .filter((type: string) => type !== 'order.created')
      const hasMoved = async () => {
        await checkAfterReport(second.name)
        return (await nodeOf()) === second.name && (await eventTypes()).includes('proxy.moved')
      }
      expect(await untilTrue(hasMoved)).toBeTrue()
      const types = await eventTypes()
      const once = ['proxy.interrupted', 'proxy.restored', 'proxy.extended']
      expect(types).toEqual([...once, ...once, 'proxy.moved'])
      expect(await findingsOf(services)).toEqual([])
    } finally {
      for (const gateway of gateways) {
        await gateway.kill()
        gateway.remove()
      }
      await shop.stop()
    }
  })
})
