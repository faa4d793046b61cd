/**
 * A node's agent with a relay that moves bytes without pause, until it is killed or stopped. Run as its own process:
 * `relay-load.ts LINK URL FOLDER KEY SUBUSER…`. A `rough` LINK loses and repeats reports, a `smooth` one does not. It
 * prints `will BOOT SUBUSER TOTAL` before bytes are counted, `noted BOOT SUBUSER TOTAL` once they are in the journal
 * and `reported BOOT` once the shop has accepted a report, so that the test knows what could be lost.
 */

import { writeSync } from 'node:fs'
import { makeBoot } from '../../src/dataplane/agent/boots.ts'
import type { NodeCounts } from '../../src/dataplane/agent/data-path.ts'
import { sendEarlier } from '../../src/dataplane/agent/earlier.ts'
import { takeIdentity } from '../../src/dataplane/agent/identity.ts'
import { Journal } from '../../src/dataplane/agent/journal.ts'
import { Meter } from '../../src/dataplane/agent/meter.ts'
import { realTiming } from '../../src/dataplane/agent/runtime.ts'
import { createShopLink, LinkError, type ShopLink } from '../../src/dataplane/agent/shop-link.ts'
import type { ReportBody } from '../../src/node-protocol/report.ts'
import { quietLog } from '../harness/hand-timing.ts'
import { ModelRelay } from '../harness/model-relay.ts'

const [quality = '', url = '', folder = '', key = '', ...subusers] = process.argv.slice(2)
const pool = 'residential'
const chunkBytes = 64 * 1024
const noteBytes = 1024 * 1024
const random = (count: number): Uint8Array => crypto.getRandomValues(new Uint8Array(count))
const shared = { folder, timing: realTiming, chance: Math.random, log: quietLog, version: '0.0.0' }

/** Prints each accepted report. */
function printing(link: Pick<ShopLink, 'report'>): Pick<ShopLink, 'report'> {
  return {
    async report(body: ReportBody, end?: AbortSignal) {
      const answer = await link.report(body, end)
      writeSync(1, `reported ${body.boot}\n`)
      return answer
    },
  }
}

/** Loses requests and answers and repeats reports, in about half of the calls. */
function rough(link: ShopLink): Pick<ShopLink, 'report'> {
  return {
    async report(body: ReportBody, end?: AbortSignal) {
      const fate = Math.random()
      if (fate < 0.15) throw new LinkError('unreachable', 'the request was lost')
      if (fate < 0.3) await link.report(body, end)
      const answer = await link.report(body, end)
      if (fate > 0.85) throw new LinkError('unreachable', 'the answer was lost')
      return answer
    },
  }
}

const linkWith = (secret: string) => createShopLink({ url, secret })
const identity = await takeIdentity({ ...shared, linkWith, key, randomBytes: random })
// The shop's clock is moved by the test and may be months behind: boots count up from 0.
const boot = makeBoot({ folder, clock: () => 0, randomBytes: random })
const node = identity.node
const link = printing(quality === 'rough' ? rough(linkWith(identity.secret)) : linkWith(identity.secret))
const journal = new Journal({ ...shared, node, boot })
const modelRelay = new ModelRelay()
const meter = new Meter({
  ...shared,
  dataPath: modelRelay,
  link,
  boot,
  lagMs: () => 0,
  sendEarlier: (end) => sendEarlier({ ...shared, node, boot, link, end }),
  journal: Object.assign(Object.create(journal) as Journal, {
    note(counts: NodeCounts) {
      journal.note(counts)
      for (const each of counts.subusers) writeSync(1, `noted ${boot} ${each.id} ${each.received + each.sent}\n`)
    },
  }),
})
meter.start()

const ending = new AbortController()
process.once('SIGTERM', () => ending.abort())
const sinceNote = new Map<string, number>()
while (!ending.signal.aborted) {
  for (const id of subusers) {
    const { received, sent } = modelRelay.subject(id, pool)
    writeSync(1, `will ${boot} ${id} ${received + sent + chunkBytes}\n`)
    const moved = (sinceNote.get(id) ?? 0) + modelRelay.relay(meter, id, pool, chunkBytes)
    if (moved >= noteBytes) meter.noteNow()
    sinceNote.set(id, moved >= noteBytes ? 0 : moved)
    if (Math.random() < 0.01) modelRelay.giveBack(meter, id, pool)
  }
  await Bun.sleep(1)
}
await meter.stop()
process.exit(0)
