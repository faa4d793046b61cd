import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { HandTiming, quietLog } from '../../../test/harness/hand-timing.ts'
import { ModelRelay } from '../../../test/harness/model-relay.ts'
import { scaled } from '../../../test/harness/scale.ts'
import { allowance, count, giveBack, grant, type LeaseLine, newLine } from '../../domains/traffic/leases/rules.ts'
import { type ReportAnswer, type ReportBody, reportBodySchema } from '../../node-protocol/report.ts'
import { makeBoot } from './boots.ts'
import { sendEarlier } from './earlier.ts'
import { Journal, type KeptCounts } from './journal.ts'
import { Meter } from './meter.ts'
import { LinkError } from './shop-link.ts'

const pool = 'residential'
const leaseBytes = 1_000n
type Fault = 'none' | 'request lost' | 'answer lost' | 'twice' | 'refused' | 'slow' | 'late'

/** The shop's lease rules over counts in memory, behind a link that loses, delays and repeats messages. */
class RulesShop {
  readonly lines = new Map<string, LeaseLine>()
  readonly proxies = new Map<string, number>()
  readonly requests = new Map<string, string>()
  fault: Fault = 'none'
  private holder = ''
  /** Requests that timed out at the node and have not reached the shop yet. */
  private readonly delayed: ReportBody[] = []

  constructor(private readonly timing: HandTiming) {}

  readonly report = async (sent: ReportBody): Promise<ReportAnswer> => {
    const body = reportBodySchema.parse(sent)
    const { fault } = this
    if (fault === 'request lost') throw new LinkError('unreachable', fault)
    if (fault === 'late') {
      this.delayed.push(body)
      throw new LinkError('unreachable', fault)
    }
    if (fault === 'refused') throw new LinkError('fault', fault, 500)
    if (fault === 'slow') await this.timing.pause(1_500)
    if (fault === 'twice') this.take(body)
    const answer = this.take(body)
    if (fault === 'answer lost') throw new LinkError('unreachable', fault)
    return answer
  }

  /** Delivers the delayed reports, the newest first. */
  arrive(): void {
    for (const body of this.delayed.splice(0).toReversed()) this.take(body)
  }

  private take(body: ReportBody): ReportAnswer {
    const isClosed = body.boot < this.holder
    if (!isClosed && body.lease_requests.some((each) => each.want === 'lease')) this.holder = body.boot
    for (const each of body.proxies) {
      const key = `${body.boot} ${each.id}`
      this.proxies.set(key, Math.max(this.proxies.get(key) ?? 0, each.received + each.sent))
    }
    for (const each of body.subusers) {
      const line = this.line(body.boot, each.id)
      const total = BigInt(each.received + each.sent)
      const claimed = total - line.counted
      if (claimed > 0n) this.put(count(line, { claimed, believed: claimed }, isClosed).line)
    }
    for (const request of body.lease_requests) {
      const line = this.line(body.boot, request.id)
      // A request number means one request, also when it is repeated.
      const key = `${request.id} ${request.want}`
      expect(this.requests.get(`${body.boot} ${request.turn}`) ?? key).toBe(key)
      this.requests.set(`${body.boot} ${request.turn}`, key)
      const free = isClosed ? 0n : leaseBytes
      this.put(
        request.want === 'return'
          ? giveBack(line, request.turn).line
          : grant(line, request.turn, leaseBytes, free).line,
      )
    }
    const allowances = body.lease_requests.map(({ id }) => ({
      id,
      pool,
      upto: Number(allowance(this.line(body.boot, id))),
    }))
    return { now: 0, replaced: isClosed, allowances }
  }

  private line(boot: string, id: string): LeaseLine {
    return this.lines.get(`${boot} ${id}`) ?? newLine({ node: 'n', boot }, id)
  }

  private put(line: LeaseLine): void {
    this.lines.set(`${line.boot} ${line.subject}`, line)
  }
}

type Step =
  | { do: 'relay'; subuser: number; bytes: number }
  | { do: 'proxy'; id: number; bytes: number }
  | { do: 'note' }
  | { do: 'give back'; subuser: number }
  | { do: 'wait'; ms: number }
  | { do: 'fault'; fault: Fault }
  | { do: 'arrive' }
  | { do: 'kill' }
  | { do: 'restart' }

const subuser = fc.nat(2)
const bytes = fc.integer({ min: 1, max: 1_500 })
const faults: Fault[] = ['none', 'none', 'request lost', 'answer lost', 'twice', 'refused', 'slow', 'late']
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('relay' as const), subuser, bytes }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('proxy' as const), id: fc.integer({ min: 1, max: 3 }), bytes }) },
  { weight: 1, arbitrary: fc.constant({ do: 'note' as const }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('give back' as const), subuser }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, 5, 20, 500, 1_000, 7_000) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('fault' as const), fault: fc.constantFrom(...faults) }) },
  { weight: 1, arbitrary: fc.constant({ do: 'arrive' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'kill' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'restart' as const }) },
)

/** One boot of a node, with the relay that knows the bytes it has really relayed. */
type Run = { readonly boot: string; readonly dataPath: ModelRelay; readonly meter: Meter; isDead: boolean }

class Node {
  readonly runs: Run[] = []
  private wallMs = Date.UTC(2026, 0)

  constructor(
    readonly folder: string,
    readonly shop: RulesShop,
    readonly timing: HandTiming,
  ) {
    this.start()
  }

  get run(): Run {
    return this.runs.at(-1)!
  }

  start(): void {
    // The wall clock is set back between boots.
    this.wallMs -= 60_000
    const { folder, timing } = this
    const boot = makeBoot({ folder, clock: () => this.wallMs, randomBytes: (many) => new Uint8Array(many) })
    const dataPath = new ModelRelay()
    const run: Partial<Run> & { isDead: boolean } = { boot, dataPath, isDead: false }
    // A killed process sends no report and receives no answer.
    const link = {
      report: async (body: ReportBody) => {
        if (run.isDead) return new Promise<ReportAnswer>(() => {})
        const answer = await this.shop.report(body)
        return run.isDead ? new Promise<ReportAnswer>(() => {}) : answer
      },
    }
    const shared = { timing, chance: () => 0.5, log: quietLog, boot, version: '1' }
    const journal = new Journal({ ...shared, folder, node: 'n' })
    const meter = new Meter({
      ...shared,
      dataPath,
      link,
      lagMs: () => 0,
      sendEarlier: (end) => sendEarlier({ ...shared, folder, node: 'n', link, end }),
      journal: Object.assign(Object.create(journal) as Journal, {
        note: (counts: KeptCounts) => (run.isDead ? undefined : journal.note(counts)),
      }),
    })
    this.runs.push(Object.assign(run, { meter }) as Run)
    meter.start()
  }

  kill(): void {
    // The journal has the counts of the agent's last read. A dead process must not read further counts.
    this.run.isDead = true
    const { dataPath } = this.run
    dataPath.takeChanged = () => ({ proxies: [], subusers: [], hosts: [], peers: [] })
    this.start()
  }

  async restart(): Promise<void> {
    const stopping = this.run.meter.stop()
    await this.timing.advance(5_000)
    await stopping
    this.start()
  }
}

function checkNotOvercounted(node: Node): void {
  for (const { boot, dataPath } of node.runs) {
    for (const [key, subject] of dataPath.subjects) {
      const [id] = key.split(' ')
      const line = node.shop.lines.get(`${boot} ${id}`)
      const relayed = subject.received + subject.sent
      expect(Number(line?.counted ?? 0n)).toBeLessThanOrEqual(relayed)
      // The node relays no bytes beyond its leases, so the shop quarantines none.
      expect(line?.quarantined ?? 0n).toBe(0n)
      expect(relayed).toBeLessThanOrEqual(Number((line?.granted ?? 0n) - (line?.returned ?? 0n)))
    }
    for (const [id, proxy] of dataPath.proxies) {
      expect(node.shop.proxies.get(`${boot} ${id}`) ?? 0).toBeLessThanOrEqual(proxy.received + proxy.sent)
    }
  }
}

/** After all reports, the shop has the relayed bytes of this boot and the journalled bytes of killed boots. */
function checkNothingLost(node: Node): void {
  for (const { boot, dataPath } of node.runs) {
    for (const [key, noted] of dataPath.lastRead) {
      expect(Number(node.shop.lines.get(`${boot} ${key.split(' ')[0]}`)?.counted ?? 0n)).toBe(noted)
    }
    for (const [id, noted] of dataPath.lastReadProxies) expect(node.shop.proxies.get(`${boot} ${id}`)).toBe(noted)
  }
  const { dataPath } = node.run
  for (const [key, subject] of dataPath.subjects) {
    expect(dataPath.lastRead.get(key) ?? 0).toBe(subject.received + subject.sent)
  }
}

async function play(node: Node, each: Step): Promise<void> {
  const { dataPath, meter } = node.run
  if (each.do === 'relay') dataPath.relay(meter, `sub_${each.subuser}`, pool, each.bytes)
  if (each.do === 'proxy') dataPath.relayProxy(each.id, each.bytes)
  if (each.do === 'note') meter.noteNow()
  if (each.do === 'give back') dataPath.giveBack(meter, `sub_${each.subuser}`, pool)
  if (each.do === 'wait') await node.timing.advance(each.ms)
  if (each.do === 'fault') node.shop.fault = each.fault
  if (each.do === 'arrive') node.shop.arrive()
  if (each.do === 'kill') node.kill()
  if (each.do === 'restart') await node.restart()
}

describe('the meter under lost, late and repeated messages, kills and restarts', () => {
  test('the meter never reports more bytes than were relayed, and finally reports every journalled byte', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 80, size: 'max' }), async (steps) => {
        const folder = mkdtempSync(join(tmpdir(), 'turnpike-history-'))
        const timing = new HandTiming()
        const node = new Node(folder, new RulesShop(timing), timing)
        for (const each of steps) {
          await play(node, each)
          checkNotOvercounted(node)
        }
        node.shop.fault = 'none'
        node.shop.arrive()
        await timing.advance(120_000)
        checkNotOvercounted(node)
        checkNothingLost(node)
        await node.restart()
        node.run.isDead = true
        rmSync(folder, { recursive: true, force: true })
      }),
      { numRuns: scaled(1_000) },
    )
  })
})
