import { describe, expect, test } from 'bun:test'
import { lookEveryMs, outageAfterMs } from '../../src/domains/dedicated/outages/rules.ts'
import { HandClock, runtimeWith } from '../harness/clock.ts'
import { engines, enginesOf } from '../harness/database.ts'
import { freePort } from '../harness/gateway.ts'
import { type GatewayProcess, makeGatewayProcess } from '../harness/gateway-process.ts'
import { type Service, startService } from '../harness/service.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { findingsOf } from '../harness/wired.ts'

/** Longer than the shop remembers which nodes there are. */
const rememberedMs = 501
/** Less often than the shop does by itself, and often enough that it is not blind in between. */
const stepMs = 2 * lookEveryMs

/** A shop on a clock that only the test moves, so that it looks in time on a machine of any speed. */
async function openShop(engine: (typeof engines)[number]) {
  const clock = new HandClock(Date.now())
  const shop = await startService(engine, {}, runtimeWith(clock), false)
  const look = () => shop.services.outageWatch.look()
  return {
    shop,
    clock,
    /** The shop looks after the next report of a gateway, so no gateway that runs is silent on this clock. */
    lookAfterReport: async (name: string): Promise<void> => {
      clock.advance(rememberedMs)
      await untilHeard(shop, name, clock.nowMs)
      await look()
    },
    /** Time passes and the shop looks; gateways that run report every 20 s of it. */
    passMs: async (ms: number, meanwhile: () => Promise<void>): Promise<void> => {
      for (let passed = 0; passed < ms; passed += stepMs) {
        clock.advance(stepMs)
        if (passed % (2 * stepMs) === 0) await meanwhile()
        await look()
      }
    },
  }
}

/** Waits until the shop has noted a report of a gateway since an instant. */
async function untilHeard({ services }: Service, name: string, sinceAt: number): Promise<void> {
  const isHeard = async () => ((await services.fleet.findByName(name))?.lastSeenAt ?? 0) >= sinceAt
  if (!(await untilTrue(isHeard))) throw new Error(`${name} says nothing`)
}

describe.each([...enginesOf('sqlite')])('a gateway that dies on %s', (engine) => {
  test('a gateway that is silent for 30 s interrupts what it carried, until it or another gateway serves it again', async () => {
    const { shop, clock, lookAfterReport, passMs } = await openShop(engine)
    const { services } = shop
    const gateways: GatewayProcess[] = []
    try {
      const first = await makeGatewayProcess(shop, freePort())
      gateways.push(first)
      await first.start()
      const buy = () => shop.post('/dedicated/buy', { country_code: 'DE', period: 7, count: 1, ipv: 4 })
      const isSold = async () => {
        clock.advance(rememberedMs)
        await untilHeard(shop, first.name, clock.nowMs)
        return (await buy()).status === 200
      }
      expect(await untilTrue(isSold)).toBeTrue()
      const list = async () => (await shop.get('/dedicated/list')).data.proxies[0]
      const bought = await list()
      const nodeOf = async () => (await services.proxyOperator.show(bought.id)).node
      await passMs(outageAfterMs + lookEveryMs, () => untilHeard(shop, first.name, clock.nowMs))
      expect(await list()).toMatchObject({ state: 'serving', expires_at: bought.expires_at })

      await first.kill()
      await passMs(outageAfterMs + lookEveryMs, async () => {})
      expect((await list()).state).toBe('interrupted')
      await first.start()
      const isBack = async (name: string) => {
        await lookAfterReport(name)
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
      const tell = async () => (await shop.get('/events')).data.events.map((event: { type: string }) => event.type)
      const hasMoved = async () => {
        await lookAfterReport(second.name)
        return (await nodeOf()) === second.name && (await tell()).includes('proxy.moved')
      }
      expect(await untilTrue(hasMoved)).toBeTrue()
      const told = await tell()
      const once = ['proxy.interrupted', 'proxy.restored', 'proxy.extended']
      expect(told).toEqual([...once, ...once, 'proxy.moved'])
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
