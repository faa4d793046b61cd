import { describe, expect, test } from 'bun:test'
import { sellInCountries } from '../../../../test/harness/countries.ts'
import { engines } from '../../../../test/harness/database.ts'
import { refusalOf } from '../../../../test/harness/failure.ts'
import { reportOf } from '../../../../test/harness/node.ts'
import { addCustomer, findingsOf } from '../../../../test/harness/wired.ts'

const dayMs = 86_400_000
const graceMs = 3 * dayMs

describe.each([...engines])('traffic of proxies by day on %s', (engine) => {
  const here = sellInCountries(engine, (number) => `10.2.${number}.0/30`)
  const dedicated = () => here.floor.services.dedicated
  const report = (boot: string, proxies: readonly { id: number; received: number; sent: number }[]) =>
    dedicated().nodes.report('gate', reportOf({ boot, proxies: [...proxies] }))
  const count = async (id: number) => {
    const rows = await here.floor.db.all('SELECT * FROM proxy_days WHERE proxy_id = $1', [id])
    return rows.length
  }
  /** Received and sent bytes of each day with traffic, by its distance from today. */
  async function daysOf(id: number, days = 31): Promise<Readonly<Record<string, readonly [number, number]>>> {
    const { proxies } = await dedicated().trafficByDay(here.customer, [id], days)
    const found = proxies[0]?.days ?? []
    expect(found).toHaveLength(days)
    const withTraffic = found.flatMap(({ received, sent }, at) =>
      received + sent > 0n ? [[days - 1 - at, [Number(received), Number(sent)]] as const] : [],
    )
    return Object.fromEntries(withTraffic)
  }

  test("a report adds its new bytes to the proxy's day once, and each day has its own row", async () => {
    const { clock } = here.floor
    const { proxies } = await here.buy(2)
    const [first, second] = proxies.map((each) => each.id) as [number, number]
    clock.nowMs += 10_000
    await report('a', [{ id: first, received: 1000, sent: 100 }])
    await report('a', [{ id: first, received: 1000, sent: 100 }])
    clock.nowMs += 1000
    await report('a', [
      { id: first, received: 1500, sent: 100 },
      { id: second, received: 7, sent: 0 },
    ])
    expect([await daysOf(first), await daysOf(second)]).toEqual([{ 0: [1500, 100] }, { 0: [7, 0] }])
    clock.nowMs += 2 * dayMs
    await report('b', [{ id: first, received: 40, sent: 2 }])
    // An older report that arrives late adds nothing.
    await report('a', [{ id: first, received: 1200, sent: 100 }])
    expect(await daysOf(first)).toEqual({ 2: [1500, 100], 0: [40, 2] })
    expect(await daysOf(first, 2)).toEqual({ 0: [40, 2] })
    expect(await count(first)).toBe(2)
  })

  test("another customer's proxy is not found, and bytes that the node's link cannot have carried are not shown", async () => {
    const { services, clock } = here.floor
    const id = (await here.buy(1)).proxies[0]?.id ?? 0
    const stranger = await addCustomer(services, 0n)
    expect(await refusalOf(services.dedicated.trafficByDay(stranger, [id], 7))).toMatchObject({
      reason: 'proxies_not_found',
    })
    clock.nowMs += 1000
    await report('absurd', [{ id, received: 10 ** 15, sent: 0 }])
    const total = (await services.dedicated.trafficOf([{ id }])).get(id)
    const [received = 0] = (await daysOf(id))['0'] ?? []
    expect([received < 10 ** 15, BigInt(received)]).toEqual([true, total?.received ?? 0n])
  })

  test('days are deleted after 31 days, and with a proxy that is gone; a late report does not bring them back', async () => {
    const { services, clock } = here.floor
    const id = (await here.buy(1, 60)).proxies[0]?.id ?? 0
    clock.nowMs += 1000
    await report('c', [{ id, received: 5, sent: 5 }])
    clock.nowMs += 30 * dayMs
    await report('c', [{ id, received: 6, sent: 5 }])
    await services.dedicatedUpkeep.forgetDays(500)
    expect(await daysOf(id)).toEqual({ 30: [5, 5], 0: [1, 0] })
    clock.nowMs += dayMs
    await services.dedicatedUpkeep.forgetDays(500)
    expect([await daysOf(id), await count(id)]).toEqual([{ 1: [1, 0] }, 1])
    clock.nowMs += 29 * dayMs + graceMs
    await services.dedicatedUpkeep.release(200)
    await report('c', [{ id, received: 9, sent: 5 }])
    expect(await count(id)).toBe(0)
  })

  test('verify finds a day that was raised, and one of a proxy that was never sold', async () => {
    const { services, clock, db } = here.floor
    const id = (await here.buy(1)).proxies[0]?.id ?? 0
    clock.nowMs += 1000
    await report('d', [{ id, received: 5, sent: 5 }])
    const findings = async (change: string, undo: string) => {
      await db.transact((tx) => tx.run(`UPDATE proxy_days SET ${change}`))
      const found = await findingsOf(services)
      await db.transact((tx) => tx.run(`UPDATE proxy_days SET ${undo}`))
      return found.map((each) => [each.promise, each.where, each.reason])
    }
    const ofThis = `WHERE proxy_id = ${id}`
    expect(await findings(`received = received + 1 ${ofThis}`, `received = received - 1 ${ofThis}`)).toEqual([
      ['days', `proxy ${id}`, 'checksum'],
      ['days', `proxy ${id}`, 'days_over'],
    ])
    const unknown = 999_999
    expect(await findings(`proxy_id = ${unknown} ${ofThis}`, `proxy_id = ${id} WHERE proxy_id = ${unknown}`)).toEqual([
      ['delivery', `proxy ${unknown}`, 'counted_unknown'],
      ['days', `proxy ${unknown}`, 'days_over'],
    ])
  })
})
