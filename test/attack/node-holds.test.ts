import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { trafficJobs } from '../../src/jobs/shop.ts'
import { engines } from '../harness/database.ts'
import { failureOf } from '../harness/failure.ts'
import { reportOf } from '../harness/node.ts'
import { isLong } from '../harness/scale.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/vpn.ts'

const pool = 'residential'
const maxCount = Number.MAX_SAFE_INTEGER
/** The limit of one node for an account of more than 2 GiB: four times the largest lease. */
const limit = 1_073_741_824n

/** A gateway that requests leases and relays nothing, so that customers of other gateways run out of traffic. */
describe.each([...engines])('leases of a hostile gateway, on %s', (engine) => {
  let service: Service
  let serial = 0
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(async () => {
    expect(await findingsOf(service)).toEqual([])
    await service.stop()
  })

  async function joinGateway(linkMegabits?: number) {
    const { fleet, db, premium } = service.services
    serial += 1
    const name = `gateway-${serial}`
    const node = await db.transact((tx) => fleet.add(tx, { kind: 'gateway', name, location: 'local' }))
    if (linkMegabits !== undefined) await fleet.setLink(name, linkMegabits)
    await fleet.join((await fleet.issueKey(name)).text, `tpn_${String(serial).padStart(64, '0')}`, 'test')
    return {
      id: node.id,
      report: (body: Parameters<typeof reportOf>[0]) => premium.nodes.report(node.id, reportOf(body)),
    }
  }

  async function newSubuser(gigabytes: number) {
    const { token } = await service.newCustomer(10_000_000n)
    expect((await service.post('/premium/traffic/buy', { pool_type: pool, gb: gigabytes }, { token })).status).toBe(200)
    const id = (await service.get('/premium/subusers', { token })).data.subusers[0].subuser_id as string
    const request = (turn: number, moving = maxCount) => ({
      id,
      pool,
      turn,
      want: 'lease' as const,
      moving,
      pace: maxCount,
    })
    const account = async () => {
      const { db, traffic } = service.services
      const [found] = await traffic.accounts.list(db, [id as never])
      return found ?? { balance: 0n, aside: 0n }
    }
    return { id, request, account }
  }

  test('the shop refuses a report with two lease requests for one account and leases nothing', async () => {
    const owner = await newSubuser(100)
    const gateway = await joinGateway()
    const failure = await failureOf(
      gateway.report({ boot: '0boot-0001', lease_requests: [owner.request(1), owner.request(2)] }),
    )
    expect(failure).toMatchObject({ code: 'invalid_request' })
    expect(await owner.account()).toMatchObject({ balance: 100_000_000_000n, aside: 0n })
  })

  /** Four reports reach the limit; the others request more. */
  const reports = isLong ? 1000 : 40
  test(`${reports} reports over 20 boots leave one gateway at most 1 GiB of a 100 GB account`, async () => {
    const owner = await newSubuser(100)
    const gateway = await joinGateway()
    for (let turn = 1; turn <= reports; turn += 1) {
      const boot = `0boot-${String(Math.floor((turn * 20) / reports)).padStart(4, '0')}`
      await gateway.report({ boot, lease_requests: [owner.request(turn)] })
    }
    expect((await owner.account()).aside).toBe(limit)
    const honest = await joinGateway()
    const answer = await honest.report({ boot: '0boot-0001', lease_requests: [{ ...owner.request(1, 0), pace: 0 }] })
    expect(answer?.allowances).toEqual([{ id: owner.id, pool, upto: 8_388_608 }])
  })

  test('a gateway holds at most half of an account of 1 GB', async () => {
    const owner = await newSubuser(1)
    const gateway = await joinGateway()
    for (let turn = 1; turn <= 20; turn += 1)
      await gateway.report({ boot: '0boot-0001', lease_requests: [owner.request(turn)] })
    expect((await owner.account()).aside).toBe(500_000_000n)
  })

  test("the shop leases to accounts with bytes in flight what the gateway's link moves in 10 s", async () => {
    const owners = await Promise.all([newSubuser(1), newSubuser(1), newSubuser(1)])
    // 8 Mbit/s move 10 MB in 10 s: one lease of 8 MiB in flight, and a fifth of the next.
    const gateway = await joinGateway(8)
    const ask = (turn: number) =>
      gateway.report({ boot: '0boot-0001', lease_requests: owners.map((each) => ({ ...each.request(turn), pace: 0 })) })
    await ask(1)
    await ask(2)
    const held = await Promise.all(owners.map(async (each) => (await each.account()).aside))
    expect(held.toSorted((a, b) => Number(a - b))).toEqual([8_388_608n, 8_388_608n + 1_611_392n, 2n * 8_388_608n])
  })

  test('the traffic job logs the bytes that a gateway holds and its accounts at the limit, and no honest gateway', async () => {
    const owner = await newSubuser(100)
    const [hostile, honest] = [await joinGateway(), await joinGateway()]
    for (let turn = 1; turn <= 8; turn += 1)
      await hostile.report({ boot: '0boot-0001', lease_requests: [owner.request(turn)] })
    await honest.report({ boot: '0boot-0001', lease_requests: [{ ...owner.request(1, 0), pace: 0 }] })
    const held = await service.services.traffic.leases.held()
    expect(held.get(hostile.id)).toEqual({ bytes: limit, accountsAtLimit: 1 })
    expect(held.get(honest.id)).toEqual({ bytes: 8_388_608n, accountsAtLimit: 0 })
    const notes: [string, unknown][] = []
    const note = (event: string, fields?: unknown) => void notes.push([event, fields])
    const jobs = trafficJobs({ ...service.services, clock: service.clock.read }, { info: note, error: note })
    for (const job of jobs) await job.work()
    const fields = { node: hostile.id, held_bytes: Number(limit), accounts_at_limit: 1 }
    expect(notes).toContainEqual(['a node holds as much of accounts as one node may', fields])
    expect(notes.filter(([, each]) => (each as { node: string }).node === honest.id)).toEqual([])
  })
})
