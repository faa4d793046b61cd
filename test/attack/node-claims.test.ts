import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { get } from 'node:http'
import { shopSocket } from '../../src/app/settings/config.ts'
import { noStalls, runningSince } from '../../src/core/stall-monitor.ts'
import { checksumOf } from '../../src/db/checksum.ts'
import type { NodeKind } from '../../src/domains/fleet/rules.ts'
import { lookAtRanges } from '../../src/domains/stock/index.ts'
import { enginesOf } from '../harness/database.ts'
import { failureOf } from '../harness/failure.ts'
import { joinNode as joinGateway, reportOf, type TestNode } from '../harness/node.ts'
import { addStock, kindIn } from '../harness/proxies.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/vpn.ts'

const pool = 'residential'
const maxCount = Number.MAX_SAFE_INTEGER
/** Bytes per millisecond at 10 Gbit/s. */
const perMs = 1_250_000

/** A joined node may report any count. The shop believes only what the link of its machine could have relayed. */
describe.each([...enginesOf('sqlite')])('usage claims of a joined node, on %s', (engine) => {
  let service: Service
  let serial = 0
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(async () => {
    expect(await findingsOf(service)).toEqual([])
    await service.stop()
  })

  async function joinNode(kind: NodeKind) {
    const { fleet, db } = service.services
    serial += 1
    const name = `${kind}-${serial}`
    const node = await db.transact((tx) => fleet.add(tx, { kind, name, location: 'local' }))
    await fleet.join((await fleet.issueKey(name)).text, `tpn_${String(serial).padStart(64, '0')}`, 'test')
    const side = kind === 'vpn' ? service.services.vpn.nodes : service.services.premium.nodes
    return { id: node.id, name, report: (body: Parameters<typeof reportOf>[0]) => side.report(node.id, reportOf(body)) }
  }

  /** A sub-user with so many gigabytes, and a subscription with a device. */
  async function newCustomer(gigabytes: number) {
    const { token, customer } = await service.newCustomer(1_000_000n)
    await service.post('/premium/traffic/buy', { pool_type: pool, gb: gigabytes }, { token })
    const bought = (await service.post('/vpn/buy', { period: 1 }, { token })).data
    const info = (await service.get('/vpn/info', { token })).data
    const subuser = (await service.get('/premium/subusers', { token })).data.subusers[0].subuser_id as string
    return {
      token,
      customer,
      subuser,
      uuid: bought.uuid as string,
      device: info.devices[0].id as string,
      used: async () => {
        const { data } = await service.get(`/premium/traffic/balance?pool_type=${pool}`, { token })
        return Math.round(data.used_gb * 1e9)
      },
    }
  }

  test('the shop bills leases that a node claims as used at once no faster than 10 Gbit/s', async () => {
    const owner = await newCustomer(10)
    const node = await joinNode('gateway')
    const startMs = service.clock.nowMs
    let claimed = 0
    for (let turn = 1; claimed < 3_000_000_000; turn += 1) {
      const count = { id: owner.subuser, pool, received: claimed, sent: 0 }
      const request = { id: owner.subuser, pool, turn, want: 'lease' as const }
      const answer = await node.report({ boot: '0boot-0001', subusers: [count], lease_requests: [request] })
      claimed = answer?.allowances[0]?.upto ?? 0
      service.clock.advance(1)
    }
    const tookMs = service.clock.nowMs - startMs
    expect(tookMs).toBeLessThan(1000)
    expect(await owner.used()).toBeLessThanOrEqual((tookMs + 100) * perMs)
    const refusals = await service.services.traffic.counts.refusals()
    expect(refusals.find((each) => each.node === node.id)?.bytes).toBeGreaterThan(1_000_000_000n)
    expect((await service.services.traffic.leases.quarantined(100)).some((each) => each.node === node.id)).toBeTrue()
  })

  test("the shop bills an honest node's counts to the byte: at link rate, after 1 h of silence and with jitter", async () => {
    const owner = await newCustomer(1)
    const node = await joinNode('vpn')
    let relayed = 0
    for (const [waitMs, busyMs] of [
      [1000, 1000],
      [3000, 0],
      [10, 3010],
      [3_600_000, 3_600_000],
    ] as const) {
      service.clock.advance(waitMs)
      relayed += busyMs * perMs
      await node.report({
        boot: '0boot-0001',
        peers: [{ id: owner.device, received: relayed, sent: 0, handshake_at: null }],
      })
    }
    // One report came 3 s late; the next report made up for it.
    expect((await service.services.vpn.show(owner.uuid as never)).subscription.received).toBe(BigInt(relayed) as never)
  })

  test('1100 boots that each claim the largest count overflow no total, and POST /vpn/renew answers 200', async () => {
    const owner = await newCustomer(1)
    const node = await joinNode('vpn')
    const startMs = service.clock.nowMs
    for (let boot = 0; boot < 1100; boot += 1) {
      const peers = [{ id: owner.device, received: maxCount, sent: maxCount, handshake_at: null }]
      await node.report({ boot: `0boot-${String(boot).padStart(6, '0')}`, peers })
      service.clock.advance(10)
    }
    const { received, sent } = (await service.services.vpn.show(owner.uuid as never)).subscription
    expect(Number(received + sent)).toBeLessThanOrEqual((service.clock.nowMs - startMs + 100) * perMs)
    expect((await service.post('/vpn/renew', { period: 1 }, { token: owner.token })).status).toBe(200)
    expect((await service.get('/vpn/info', { token: owner.token })).status).toBe(200)
    expect(await findingsOf(service)).toEqual([])
  })

  test("the shop stops a device's total at 8 PB, and the database rejects more than 9 PB", async () => {
    const owner = await newCustomer(1)
    const node = await joinNode('vpn')
    const { db } = service.services
    const near = 8_000_000_000_000_000n - 100n
    await db.transact(async (tx) => {
      await tx.run('UPDATE vpn_peers SET received = $2 WHERE id = $1', [owner.device, near])
      await tx.run('UPDATE vpn_subscriptions SET received = $2 WHERE uuid = $1', [owner.uuid, near])
      await tx.run(
        `INSERT INTO usage_counts (node, boot, subject, received, sent, believed_received, believed_sent, updated_at, checksum)
         VALUES ('earlier', '0boot-0001', $1, $2, 0, $2, 0, 0, $3)`,
        [owner.device, near, checksumOf([near, 0, near, 0, 0])],
      )
      await tx.run("INSERT INTO usage_boots (node, boot, last_at) VALUES ('earlier', '0boot-0001', 0)")
      await tx.run(
        `INSERT INTO usage_budgets (node, purpose, rest, at, refused, refused_at)
         VALUES ('earlier', 'bytes', 0, 0, 0, NULL)`,
      )
    })
    const peers = [{ id: owner.device, received: 60, sent: 1_000_000, handshake_at: null }]
    await node.report({ boot: '0boot-0001', peers })
    const { received, sent } = (await service.services.vpn.show(owner.uuid as never)).subscription
    expect([received, sent]).toEqual([near + 60n, 40n] as never)
    for (const table of ['vpn_peers', 'vpn_subscriptions']) {
      const past = db.transact((tx) => tx.run(`UPDATE ${table} SET received = 9000000000000001`))
      expect((await failureOf(past)).name).toBe('ConstraintViolation')
    }
    expect(await findingsOf(service)).toEqual([])
  })

  test('GET /premium/usage?by=host answers 200 after 1100 boots that each claim the largest count for a host', async () => {
    const owner = await newCustomer(1)
    await service.post(
      '/premium/subusers/update',
      { subuser_id: owner.subuser, keep_hosts: true },
      { token: owner.token },
    )
    const node = await joinNode('gateway')
    for (let boot = 0; boot < 1100; boot += 1) {
      const hosts = [{ id: owner.subuser, pool, host: 'example.com', received: maxCount, sent: maxCount }]
      await node.report({ boot: `0boot-${String(boot).padStart(6, '0')}`, hosts })
    }
    const usage = await service.get('/premium/usage?by=host', { token: owner.token })
    expect(usage.status).toBe(200)
  })

  test('forgetUsage returns all bytes of one gateway once and none of another gateway', async () => {
    const [owner, other] = [await newCustomer(1), await newCustomer(1)]
    const [bad, good] = [await joinNode('gateway'), await joinNode('gateway')]
    const relay = async (node: typeof bad, boot: string, bytes: number, { subuser: id } = owner) => {
      for (const [turn, received] of [
        [1, 0],
        [2, bytes],
      ] as const) {
        service.clock.advance(1000)
        const subusers = [{ id, pool, received, sent: 0 }]
        await node.report({ boot, subusers, lease_requests: [{ id, pool, turn, want: 'lease' as const }] })
      }
    }
    await relay(good, '0boot-0001', 3_000_000)
    await relay(bad, '0boot-0001', 2_000_000)
    const betweenMs = service.clock.nowMs + 1
    await relay(bad, '0boot-0002', 5_000_000)
    // Counted and not settled when the node is revoked.
    await bad.report({ boot: '0boot-0002', subusers: [{ id: owner.subuser, pool, received: 6_000_000, sent: 0 }] })
    expect(await owner.used()).toBe(11_000_000)
    // The other customer's hours are later and do not change.
    service.clock.advance(3_600_000)
    await relay(good, '0boot-0001', 4_000_000, other)
    const { nodes } = service.services.premium
    expect(await nodes.forgetUsage(bad.id, 0, true)).toEqual({ things: 1, bytes: 8_000_000n })
    expect(await owner.used()).toBe(11_000_000)
    await service.services.fleet.revoke(bad.name)
    expect(await nodes.forgetUsage(bad.id, betweenMs, false)).toEqual({ things: 1, bytes: 6_000_000n })
    expect(await owner.used()).toBe(5_000_000)
    expect(await nodes.forgetUsage(bad.id, 0, false)).toEqual({ things: 1, bytes: 2_000_000n })
    expect(await nodes.forgetUsage(bad.id, 0, false)).toEqual({ things: 0, bytes: 0n })
    expect(await owner.used()).toBe(3_000_000)
    const { traffic, db } = service.services
    const restoredIn = (of: string) => traffic.accounts.restoredTo(db, [{ subuser: owner.subuser as never, pool: of }])
    expect([await restoredIn(pool), await restoredIn('another')]).toEqual([8_000_000n, 0n])
    const usage = await service.get('/premium/usage?by=pool', { token: owner.token })
    expect(JSON.stringify(usage.data)).toContain('0.003')
    // A late report of a forgotten boot is ignored.
    await bad.report({ boot: '0boot-0002', subusers: [{ id: owner.subuser, pool, received: 9_000_000, sent: 0 }] })
    expect([await owner.used(), await other.used()]).toEqual([3_000_000, 4_000_000])
    expect(await findingsOf(service)).toEqual([])
  })

  test('forgetUsage subtracts all bytes of one VPN node once', async () => {
    const owner = await newCustomer(1)
    const [bad, good] = [await joinNode('vpn'), await joinNode('vpn')]
    const relay = (node: typeof bad, boot: string, received: number) =>
      node.report({ boot, peers: [{ id: owner.device, received, sent: 0, handshake_at: null }] })
    await relay(good, '0boot-0001', 1000)
    await relay(bad, '0boot-0001', 50_000_000)
    service.clock.advance(1000)
    await relay(bad, '0boot-0002', 50_000_000)
    const shown = async () => (await service.services.vpn.show(owner.uuid as never)).subscription.received
    expect(await shown()).toBe(100_001_000n as never)
    // A term stores the usage before it, including false counts that are still believed.
    const renewed = await service.post('/vpn/renew', { uuid: owner.uuid, period: 1 }, { token: owner.token })
    expect(renewed.status).toBe(200)
    const { nodes } = service.services.vpn
    expect(await nodes.forgetUsage(bad.id, 0, true)).toEqual({ things: 1, bytes: 100_000_000n })
    expect(await nodes.forgetUsage(bad.id, service.clock.nowMs, false)).toEqual({ things: 1, bytes: 50_000_000n })
    expect(await nodes.forgetUsage(bad.id, 0, false)).toEqual({ things: 1, bytes: 50_000_000n })
    expect(await nodes.forgetUsage(bad.id, 0, false)).toEqual({ things: 0, bytes: 0n })
    expect(await shown()).toBe(1000n as never)
    // The same count again changes nothing.
    await relay(bad, '0boot-0002', 50_000_000)
    expect(await shown()).toBe(1000n as never)
    expect(await findingsOf(service)).toEqual([])
  })
})

/** Loopback addresses are real source addresses on any machine. */
describe.each([...enginesOf('sqlite')])('a hostile gateway and a range without a named gateway, on %s', (engine) => {
  const [range, within, outside, proxy] = ['127.77.0.0/30', '127.77.0.2', '127.77.0.4', '127.0.0.9']
  let service: Service
  let hostile: TestNode
  beforeAll(async () => {
    const proxies = { TURNPIKE_TRUSTED_PROXIES: `${proxy}/32` }
    const env = { TURNPIKE_SANDBOX: 'off', TURNPIKE_LOCAL_NODES: 'gateway', ...proxies }
    service = await startService(engine, env, undefined, false)
    const { db, customers } = service.services
    await db.transact((tx) => customers.decideMode(tx, 'production'))
    await addStock(service.services, range, 'DE', 4)
    hostile = await joinGateway(service)
  })
  afterAll(async () => {
    expect(await findingsOf(service)).toEqual([])
    await service.stop()
  })

  /** The source address that the shop saw. */
  const callFrom = (node: TestNode, localAddress: string, forwarded?: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const authorization = `Bearer ${node.secret}`
      const headers = forwarded === undefined ? { authorization } : { authorization, 'x-forwarded-for': forwarded }
      get(`${service.url}/node/v1/seen`, { localAddress, headers, agent: false }, (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (part: string) => {
          text += part
        })
        response.on('end', () => resolve(JSON.parse(text).data.from))
      }).on('error', reject)
    })
  /** The number of addresses on sale after a gateway has claimed all four. */
  async function onSaleBy(node: TestNode): Promise<number> {
    service.clock.advance(1001)
    await node.report({})
    await node.catchUp()
    const ranges = [...node.held.ranges.keys()].map((id) => ({ id, served: [[0, 4]], problems: [], seen_as: null }))
    expect((await node.ask('POST', 'tried', { ranges })).status).toBe(200)
    return service.services.stock.available(kindIn('DE', 4))
  }

  test("the shop sells no address on a gateway's claim, a call from outside the range or a forged X-Forwarded-For", async () => {
    expect(await onSaleBy(hostile)).toBe(0)
    expect(await callFrom(hostile, outside)).toBe(outside)
    expect(await callFrom(hostile, '127.0.0.1', within)).toBe('127.0.0.1')
    expect(await callFrom(hostile, outside, `${within}, ${within}`)).toBe(outside)
    // A trusted proxy that forwards an invalid address does not make the caller a local one.
    expect(await callFrom(hostile, proxy, 'unknown')).toBe('')
    expect(await callFrom(hostile, proxy, `${within}, ${outside}`)).toBe(outside)
    expect(await onSaleBy(hostile)).toBe(0)
    const since = runningSince({ clock: () => service.clock.nowMs, stalls: noStalls })
    const [shown] = await lookAtRanges(service.services, since)
    expect(shown?.problems.join()).toContain('4 claimed and not proven, not sold')
    service.clock.advance(5000)
    expect([...(await service.services.stock.ranges.unproven())]).toEqual([[hostile.id, 1]])
  })

  test('the shop sells 4 addresses for the gateway that called from one of them, and none for another gateway', async () => {
    const honest = await joinGateway(service)
    expect(await callFrom(honest, within)).toBe(within)
    expect(await onSaleBy(hostile)).toBe(0)
    expect(await onSaleBy(honest)).toBe(4)
    expect(await onSaleBy(hostile)).toBe(4)
    const { slotCounts } = await service.services.stock.ranges.overview()
    expect(slotCounts).toMatchObject([{ servingNode: honest.id, slots: 4 }])
  })

  test('the shop sells 2 addresses for a gateway at its Unix socket without a call from them', async () => {
    await addStock(service.services, '203.0.113.0/31', 'NL', 4)
    const local = await joinGateway(service)
    await local.report({})
    await local.catchUp()
    const id = [...local.held.ranges.values()].find((each) => each.prefix === '203.0.113.0/31')?.id
    const body = JSON.stringify({ ranges: [{ id, served: [[0, 2]], problems: [], seen_as: null }] })
    const claimOver = async (url: string, unix?: string): Promise<number> => {
      const headers = { authorization: `Bearer ${local.secret}`, 'content-type': 'application/json' }
      const options = { method: 'POST', headers, body, ...(unix !== undefined && { unix }) }
      expect((await fetch(`${url}/node/v1/tried`, options)).status).toBe(200)
      service.clock.advance(1001)
      return service.services.stock.available(kindIn('NL', 4))
    }
    expect(await claimOver(service.url)).toBe(0)
    expect(await claimOver('http://localhost', shopSocket(service.testDatabase.folder))).toBe(2)
  })

  test('the shop accepts a call over a trusted proxy from an address of the range as a proof', async () => {
    const behind = await joinGateway(service)
    expect(await callFrom(behind, proxy, within)).toBe(within)
    const { trials } = await service.services.stock.ranges.overview()
    expect(trials.find((each) => each.node === behind.id)?.provenFrom).toBe(within)
  })
})
