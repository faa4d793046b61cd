import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf, report } from '../harness/vpn.ts'

const dayMs = 86_400_000

/** A block of 29 addresses: a customer who could take a few dozen without paying would leave none for others. */
describe.each([...enginesOf('sqlite')])('VPN addresses and one customer, on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine, { TURNPIKE_VPN_POOL: '10.66.0.0/27' })
  })
  afterAll(async () => {
    expect(await findingsOf(service)).toEqual([])
    await service.stop()
  })

  async function subscriber() {
    const { token, customer } = await service.newCustomer(1000n)
    const bought = (await service.post('/vpn/buy', { period: 1 }, { token })).data
    return {
      token,
      customer,
      uuid: bought.uuid as string,
      add: async () => (await service.post('/vpn/devices', {}, { token })).data?.device?.id as string | undefined,
      remove: (device: string) => service.post('/vpn/devices/remove', { device }, { token }),
    }
  }
  const resting = async (): Promise<number> =>
    Number(
      (
        await service.services.db.first<{ n: bigint }>(
          'SELECT COUNT(*) AS n FROM vpn_addresses WHERE peer_id IS NULL AND free_at > $1',
          [service.clock.nowMs],
        )
      )?.n ?? 0n,
    )

  test('an unused address is free again after 2 min, so adding and removing 12 devices exhausts no block', async () => {
    const attacker = await subscriber()
    for (let round = 0; round < 12; round += 1) {
      const device = await attacker.add()
      if (device !== undefined) await attacker.remove(device)
    }
    service.clock.advance(121_000)
    expect(await resting()).toBe(0)
    const others = [await subscriber(), await subscriber()]
    for (const other of others) expect(await other.add()).toBeString()
  })

  test('a customer adds at most 35 devices a day, even if each is used or the subscription is bought again', async () => {
    service.clock.advance(2 * dayMs)
    const attacker = await subscriber()
    let [added, refusals] = [1, 0]
    for (let round = 0; round < 60; round += 1) {
      const answer = await service.post('/vpn/devices', {}, { token: attacker.token })
      if (answer.status === 200) {
        added += 1
        await report(service, 'boot-0001', [{ device: answer.data.device.id, rx: 10, tx: 10 }])
        await attacker.remove(answer.data.device.id)
      } else {
        refusals += 1
        expect([answer.status, answer.error.code]).toEqual([409, 'conflict'])
      }
      // A quarantined address would leave no room in this small block; the test frees it, because the daily limit is
      // under test.
      if (round % 8 === 7)
        await service.services.db.transact((tx) => tx.run('UPDATE vpn_addresses SET free_at = 0 WHERE peer_id IS NULL'))
    }
    expect([added, refusals > 0]).toEqual([3 * 5 + 20, true])
    await service.post('/vpn/delete', { uuid: attacker.uuid }, { token: attacker.token })
    const again = await service.post('/vpn/buy', { period: 1 }, { token: attacker.token })
    expect([again.status, again.error?.code]).toEqual([409, 'conflict'])
    service.clock.advance(dayMs)
    expect((await service.post('/vpn/buy', { period: 1 }, { token: attacker.token })).status).toBe(200)
  })

  test('a used address is quarantined for 24 h, also when the node reports the use after the removal', async () => {
    service.clock.advance(2 * dayMs)
    const customer = await subscriber()
    const [seen, late] = [(await customer.add()) ?? '', (await customer.add()) ?? '']
    await report(service, 'boot-0002', [{ device: seen, rx: 0, tx: 0, handshakeAt: service.clock.nowMs }])
    await customer.remove(seen)
    await customer.remove(late)
    await report(service, 'boot-0002', [{ device: late, rx: 1, tx: 0 }])
    service.clock.advance(dayMs - 1)
    expect(await resting()).toBe(2)
    service.clock.advance(1)
    expect(await resting()).toBe(0)
  })
})
