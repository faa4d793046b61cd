import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createNodeState } from '../../src/api/node/state.ts'
import { engines } from '../harness/database.ts'
import { joinNode, type TestNode } from '../harness/node.ts'
import { type Service, startService } from '../harness/service.ts'
import { untilTrue } from '../harness/turnpike.ts'

/** The longest time that an answer waits for gateways. */
const maxReadWaitMs = 2000

/** Work that has begun. `isEarly` is true if it ended before the longest wait was over. */
function begin<Result>(work: () => Promise<Result>) {
  const beganAt = performance.now()
  const state = { isEarly: false, isOver: false, ended: work() }
  void state.ended.finally(() => {
    state.isOver = true
    state.isEarly = performance.now() - beganAt < maxReadWaitMs
  })
  return state
}

describe.each([...engines])('a gateway that acknowledges, on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(() => service.stop())

  async function joinGateway(): Promise<TestNode> {
    const node = await joinNode(service)
    node.acknowledges = true
    return node
  }
  /** Sends state requests until the work has ended. */
  async function readUntilEnd(node: TestNode, work: { readonly isOver: boolean }): Promise<void> {
    expect(await untilTrue(async () => (await node.catchUp()).length > 0 && work.isOver)).toBe(true)
  }
  const health = { tunnels: 0, lag_ms: 0, total_bytes: 0, hop_bytes: 0 }
  /** Whether purchases wait for the gateway. */
  const isAwaited = async (node: TestNode) =>
    (await service.services.fleet.acknowledgements()).some((each) => each.node === node.id)

  test('a purchase waits for a gateway that has read its first page and has neither acknowledged nor reported', async () => {
    const node = await joinGateway()
    await node.catchUp()
    const known = node.held.subusers.size
    const bought = begin(() => service.post('/premium/subusers', {}))
    node.applyPage(await node.page(10))
    expect(node.held.subusers.size).toBeGreaterThan(known)
    expect(bought.isEarly).toBe(false)
    await readUntilEnd(node, bought)
    expect((await bought.ended).status).toBe(200)
  })

  test('a shop that saw no gateway a moment before waits for one that starts at another shop', async () => {
    service.clock.advance(20_000)
    const other = createNodeState({ ...service.services, clock: service.clock.read })
    const node = await joinGateway()
    await other.announce()
    await node.catchUp()
    const announced = begin(() => other.announce())
    expect(await isAwaited(node)).toBe(true)
    expect(announced.isEarly).toBe(false)
    await readUntilEnd(node, announced)
    other.stop()
  })

  test('purchases wait for a starting gateway for 10 s after its last request for the whole state', async () => {
    const node = await joinGateway()
    expect(await isAwaited(node)).toBe(false)
    const page = node.applyPage(await node.page())
    expect(page.more).toBe(false)
    expect(await isAwaited(node)).toBe(true)
    service.clock.advance(10_000)
    expect(await isAwaited(node)).toBe(true)
    service.clock.advance(1)
    expect(await isAwaited(node)).toBe(false)
    node.cursor = undefined
    node.applyPage(await node.page())
    expect(await isAwaited(node)).toBe(true)
  })

  test('purchases do not wait for a gateway that stops, and wait for its next process before its first report', async () => {
    const node = await joinGateway()
    await node.catchUp()
    service.clock.advance(1)
    await node.report({ boot: '0boot-0001', health })
    expect(await isAwaited(node)).toBe(true)
    await node.report({ boot: '0boot-0001', health: { ...health, stopping: true } })
    expect(await isAwaited(node)).toBe(false)
    service.clock.advance(1)
    node.cursor = undefined
    await node.catchUp()
    expect(await isAwaited(node)).toBe(true)
  })

  test('purchases do not wait for a gateway without a site', async () => {
    const node = await joinGateway()
    await node.catchUp()
    expect(await isAwaited(node)).toBe(true)
    node.acknowledges = false
    node.cursor = undefined
    await node.catchUp()
    expect(await isAwaited(node)).toBe(false)
  })
})
