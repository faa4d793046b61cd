import { describe, expect, test } from 'bun:test'
import { lookEveryMs, outageAfterMs } from '../../src/domains/dedicated/outages/rules.ts'
import { surroundingsWith } from '../harness/clock.ts'
import { engines, enginesOf } from '../harness/database.ts'
import { freePort } from '../harness/gateway.ts'
import { type GatewayProcess, makeGatewayProcess } from '../harness/gateway-process.ts'
import { type Service, startService } from '../harness/service.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { findingsOf } from '../harness/wired.ts'

/** A shop on the real clock that a test puts forward, as it looks at what is sold all the while. */
async function openShop(engine: (typeof engines)[number]) {
  let aheadMs = 0
  const clock = (): number => Date.now() + aheadMs
  const shop = await startService(engine, {}, surroundingsWith({ read: clock }), false)
  const look = () => shop.services.outageWatch.look()
  return {
    shop,
    look,
    clock,
    /** Time goes by and the shop looks; gateways that run say something meanwhile, on the real clock. */
    passMs: async (ms: number, meanwhile: () => Promise<void>): Promise<void> => {
      for (let passed = 0; passed < ms; passed += lookEveryMs) {
        aheadMs += lookEveryMs
        await meanwhile()
        await look()
      }
    },
  }
}

/** It was heard of since now, and so is there on whatever clock the shop goes by. */
async function untilHeard({ services }: Service, name: string, sinceAt: number): Promise<void> {
  const isHeard = async () => ((await services.fleet.findByName(name))?.lastSeenAt ?? 0) >= sinceAt
  if (!(await untilTrue(isHeard))) throw new Error(`${name} says nothing`)
}

describe.each([...enginesOf('sqlite')])('a gateway that dies on %s', (engine) => {
  test('interrupts what it carried, which goes on when it is back, or when another one takes its range over', async () => {
    const { shop, look, clock, passMs } = await openShop(engine)
    const { services } = shop
    const gateways: GatewayProcess[] = []
    try {
      const first = await makeGatewayProcess(shop, freePort())
      gateways.push(first)
      await first.start()
      const buy = () => shop.post('/dedicated/buy', { country_code: 'DE', period: 7, count: 1, ipv: 4 })
      expect(await untilTrue(async () => (await buy()).status === 200)).toBeTrue()
      const list = async () => (await shop.get('/dedicated/list')).data.proxies[0]
      const bought = await list()
      const nodeOf = async () => (await services.proxyOperator.show(bought.id)).node
      await passMs(outageAfterMs + lookEveryMs, () => untilHeard(shop, first.name, clock()))
      expect(await list()).toMatchObject({ state: 'serving', expires_at: bought.expires_at })

      await first.kill()
      await passMs(outageAfterMs + lookEveryMs, async () => {})
      expect((await list()).state).toBe('interrupted')
      await first.start()
      const isBack = async () => {
        await look()
        return (await list()).state === 'serving'
      }
      expect(await untilTrue(isBack)).toBeTrue()
      const longer = Date.parse((await list()).expires_at) - Date.parse(bought.expires_at)
      expect(longer).toBeGreaterThanOrEqual(outageAfterMs)

      await first.kill()
      await passMs(outageAfterMs + lookEveryMs, async () => {})
      expect((await list()).state).toBe('interrupted')
      expect(await nodeOf()).toBe(first.name)
      const second = await makeGatewayProcess(shop, freePort())
      gateways.push(second)
      await second.start()
      expect(await untilTrue(isBack)).toBeTrue()
      const tell = async () => (await shop.get('/events')).data.events.map((event: { type: string }) => event.type)
      const hasMoved = async () => {
        await look()
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
