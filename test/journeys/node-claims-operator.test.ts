import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { trafficJobs } from '../../src/jobs/shop.ts'
import { enginesOf } from '../harness/database.ts'
import { reportOf } from '../harness/node.ts'
import { type Service, startService } from '../harness/service.ts'
import { runJson, testDatabaseEnv } from '../harness/turnpike.ts'
import { findingsOf } from '../harness/vpn.ts'

describe.each([...enginesOf('postgres')])('usage that nodes claim on %s', (engine) => {
  let service: Service
  let env: Record<string, string>
  beforeAll(async () => {
    service = await startService(engine)
    // Commands run on the real clock.
    service.clock.nowMs = Date.now()
    env = testDatabaseEnv(service.testDatabase)
  })
  afterAll(() => service.stop())

  const run = (...args: string[]) => runJson(args, env)

  test('usage above a node’s link is refused, quarantined and logged; forget-usage undoes the rest', async () => {
    const { fleet, vpn } = service.services
    const { token } = await service.newCustomer(1000n)
    const { uuid, device } = (await service.post('/vpn/buy', { period: 1 }, { token })).data
    expect((await run('node', 'add', 'liar', '--kind', 'vpn', '--link-mbit', '100')).exit).toBe(0)
    expect((await run('node', 'link', 'liar', '1000')).json).toMatchObject({ name: 'liar', link_mbit: 1000 })
    expect((await run('node', 'link', 'liar', '0')).exit).toBe(2)
    const node = await fleet.findByName('liar')
    await fleet.join((await fleet.issueKey('liar')).text, `tpn_${'ab'.repeat(32)}`, 'test')
    const logged: [string, unknown][] = []
    const log = (event: string, fields?: unknown) => void logged.push([event, fields])
    const jobs = trafficJobs({ ...service.services, clock: service.clock.read }, { info: log, error: log })
    service.clock.advance(900)
    const peers = [{ id: device, received: 1_000_000_000, sent: 0, handshake_at: null }]
    await vpn.nodes.report(node?.id ?? '', reportOf({ boot: '0boot-0001', peers }))
    // One second of 1 Gbit/s: 0.1 s that every node starts with, and the 0.9 s that have passed.
    const accepted = 125_000_000
    const shown = async () => Number((await vpn.show(uuid)).subscription.received)
    expect(await shown()).toBe(accepted)
    for (const job of [...jobs, ...jobs]) await job.work()
    expect(logged).toEqual([
      [
        'a node reported more bytes than its link can have relayed',
        { node: node?.id, refused_bytes: 1_000_000_000 - accepted },
      ],
    ])
    const listed = (await run('node', 'list')).json.items.find((each: { name: string }) => each.name === 'liar')
    expect(listed).toMatchObject({ refused_bytes: 1_000_000_000 - accepted, link_mbit: 1000 })
    expect((await run('usage', 'quarantine')).json.items).toMatchObject([
      { node: node?.id, boot: '0boot-0001', subject: device, bytes: 1_000_000_000 - accepted },
    ])
    const open = await run('node', 'forget-usage', 'liar')
    expect([open.exit, open.out]).toEqual([1, expect.stringContaining('node close liar')])
    await run('node', 'revoke', 'liar')
    const dry = await run('node', 'forget-usage', 'liar', '--dry-run')
    expect(dry.json).toMatchObject({ dry_run: true, things: 1, bytes: accepted })
    expect(await shown()).toBe(accepted)
    expect((await run('node', 'forget-usage', 'liar', '--since', '2100-01-01')).json.bytes).toBe(0)
    expect((await run('node', 'forget-usage', 'liar')).json).toMatchObject({ dry_run: false, bytes: accepted })
    expect(await shown()).toBe(0)
    expect((await run('node', 'forget-usage', 'nobody')).exit).toBe(1)
    expect((await run('node', 'forget-usage', 'liar', '--since', 'yesterday')).exit).toBe(2)
    expect(await findingsOf(service)).toEqual([])
  })

  test('usage quarantine lists 2^54 - 2 bytes as 2^53 - 1; an exit counts 2^51 per day and direction', async () => {
    const { fleet, premium, vpn } = service.services
    const { token } = await service.newCustomer(1000n)
    const { device } = (await service.post('/vpn/buy', { period: 1 }, { token })).data
    expect((await run('node', 'add', 'boaster', '--kind', 'vpn')).exit).toBe(0)
    const node = await fleet.findByName('boaster')
    await fleet.join((await fleet.issueKey('boaster')).text, `tpn_${'cd'.repeat(32)}`, 'test')
    const max = Number.MAX_SAFE_INTEGER
    const peers = [{ id: device, received: max, sent: max, handshake_at: null }]
    await vpn.nodes.report(node?.id ?? '', reportOf({ boot: '0boot-0001', peers }))
    const listed = await run('usage', 'quarantine')
    expect(listed.json.items).toContainEqual(expect.objectContaining({ node: node?.id, subject: device, bytes: max }))
    const [exit] = (await run('exit', 'list')).json.items
    const gateway = (await fleet.nodes('gateway'))[0]?.id ?? ''
    const exits = [{ id: exit.exit_id, received: max, sent: max }]
    await premium.nodes.report(gateway, reportOf({ boot: '0boot-0001', exits }))
    const day = new Date(service.clock.nowMs).toISOString().slice(0, 10)
    const compared = await run('exit', 'compare', exit.exit_id, '--from', day, '--to', day, '--supplied', '0')
    expect([compared.exit, compared.json]).toEqual([
      0,
      expect.objectContaining({ carried_bytes: 2 ** 52, difference_bytes: -(2 ** 52) }),
    ])
  })

  test('exit counts invented in 20 boots of a gateway do not keep later counts from being stored', async () => {
    const { fleet, premium } = service.services
    const [exit] = (await run('exit', 'list')).json.items
    const [gateway] = await fleet.nodes('gateway')
    const counts = (received: bigint, sent = received) => [{ exit: exit.exit_id, received, sent }]
    // At most 2^51 bytes are counted per day; without that limit the sum would overflow 63 bits.
    for (let boot = 0; boot < 20; boot += 1) {
      await premium.exits.takeCounts(gateway?.id ?? '', `invented-${boot}`, counts(2n ** 59n))
    }
    await premium.exits.takeCounts(gateway?.id ?? '', 'honest', counts(1000n, 200n))
    const day = new Date(service.clock.nowMs).toISOString().slice(0, 10)
    const compared = await run('exit', 'compare', exit.exit_id, '--from', day, '--to', day, '--supplied', '0')
    expect([compared.exit, compared.json.carried_bytes]).toEqual([0, 2 ** 52])
    const largest = 'SELECT received, sent FROM exit_days ORDER BY received DESC LIMIT 1'
    expect(await service.services.db.first(largest)).toEqual({ received: 2n ** 51n, sent: 2n ** 51n })
    expect(await findingsOf(service)).toEqual([])
  })
})
