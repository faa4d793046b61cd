import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { HandTiming, quietLog, recordingLog } from '../../../test/harness/hand-timing.ts'
import { scaled } from '../../../test/harness/scale.ts'
import type { ReportBody } from '../../node-protocol/report.ts'
import { listEarlier, readJournal, sendEarlier } from './earlier.ts'
import { eachKept, Journal, journalName, type KeptCounts, keyOf, readRecords, saltOf, toRecord } from './journal.ts'
import { LinkError } from './shop-link.ts'

const node = 'nod_1'
const boot = '0mabcdefg-00000001'
const nothing: KeptCounts = { proxies: [], subusers: [], peers: [] }
const subuser = (id: string, received: number, sent = 0): KeptCounts => ({
  ...nothing,
  subusers: [{ id, pool: 'residential', received, sent }],
})

/** Each subject's counts, for comparing. */
function totalsOf(counts: KeptCounts): Map<string, { received: number; sent: number }> {
  return new Map([...eachKept(counts)].map((kept) => [keyOf(kept), kept.count]))
}

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-journal-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const open = (limits?: { maxBytes: number; maxTimesLive: number }, log = quietLog) =>
  new Journal({ folder, node, boot, timing: new HandTiming(), log, ...(limits && { limits }) })
const path = () => join(folder, journalName(boot))

describe('the journal', () => {
  test('readJournal returns every noted count without a close or a flush of the journal', () => {
    const journal = open()
    const counts: KeptCounts = {
      proxies: [{ id: 7, received: 1, sent: Number.MAX_SAFE_INTEGER }],
      subusers: [{ id: 'sub_1', pool: 'residential', received: 2, sent: 3 }],
      peers: [{ id: 'dev_1', received: 4, sent: 5, handshake_at: null }],
    }
    journal.note(counts)
    expect(readJournal(folder, node, boot)).toEqual({ counts, damaged: 0 })
    const later = { ...nothing, peers: [{ id: 'dev_1', received: 5, sent: 5, handshake_at: 9 }] }
    journal.note(later)
    expect(readJournal(folder, node, boot).counts).toEqual({ ...counts, peers: later.peers })
    expect(statSync(path()).mode & 0o777).toBe(0o600)
  })

  test('the journal has no file before its first count, and none after the shop has confirmed every count', async () => {
    const journal = open()
    await journal.sync()
    expect(readdirSync(folder)).toEqual([])
    const counts = subuser('sub_1', 1)
    journal.note(counts)
    journal.taken(counts)
    await journal.close()
    expect(readdirSync(folder)).toEqual([])
  })

  test('the journal keeps a count that has grown since the confirmed report was sent', async () => {
    const journal = open()
    const sent = subuser('sub_1', 1)
    journal.note(sent)
    journal.note(subuser('sub_1', 2))
    journal.taken(sent)
    await journal.close()
    expect(readJournal(folder, node, boot).counts).toEqual(subuser('sub_1', 2))
  })

  test('the journal file stays below 4,000 bytes in 500 rounds and keeps the latest unconfirmed counts', async () => {
    const journal = open({ maxBytes: 2_000, maxTimesLive: 4 })
    journal.note(subuser('sub_quiet', 5))
    let longest = 0
    for (let received = 1; received <= 500; received += 1) {
      const counts = subuser('sub_busy', received)
      journal.note(counts)
      if (received % 3 === 0) journal.taken(counts)
      if (received % 10 === 0) {
        const syncing = journal.sync()
        // Noted while the compacted file is being written.
        journal.note(subuser('sub_between', received))
        await syncing
      }
      longest = Math.max(longest, statSync(path()).size)
    }
    expect(longest).toBeLessThan(4_000)
    expect(totalsOf(readJournal(folder, node, boot).counts)).toEqual(
      totalsOf({
        ...nothing,
        subusers: [
          { id: 'sub_quiet', pool: 'residential', received: 5, sent: 0 },
          { id: 'sub_busy', pool: 'residential', received: 500, sent: 0 },
          { id: 'sub_between', pool: 'residential', received: 500, sent: 0 },
        ],
      }),
    )
    expect(readdirSync(folder)).toEqual([journalName(boot)])
  })

  test('the journal logs a write failure once for 50 notes, and writes all 50 counts once its file can be opened', () => {
    const timing = new HandTiming()
    const { entries, log } = recordingLog()
    // A folder at the path of the file: opening it for writing fails.
    mkdirSync(path())
    const journal = new Journal({ folder, node, boot, timing, log })
    for (let received = 1; received <= 50; received += 1) journal.note(subuser(`sub_${received}`, received))
    expect(entries.map((each) => each.event)).toEqual(['journal not written'])
    rmSync(path(), { recursive: true })
    journal.note(nothing)
    expect(readJournal(folder, node, boot).counts.subusers).toHaveLength(50)
  })

  test('the journal logs ENOSPC of a full disk, and note(), sync() and close() do not throw', async () => {
    const { entries, log } = recordingLog()
    symlinkSync('/dev/full', path())
    const journal = open(undefined, log)
    journal.note(subuser('sub_1', 1))
    await journal.sync()
    await journal.close()
    expect(entries[0]).toMatchObject({
      level: 'error',
      event: 'journal not written',
      fields: { fault: { code: 'ENOSPC' } },
    })
  })

  test('readJournal reads no counts from the journal of another node or another boot', () => {
    open().note(subuser('sub_1', 1))
    expect(readJournal(folder, 'nod_2', boot)).toEqual({ counts: nothing, damaged: 1 })
    const text = readFileSync(path(), 'utf8')
    writeFileSync(join(folder, journalName('0mabcdefg-00000002')), text)
    expect(readJournal(folder, node, '0mabcdefg-00000002').counts).toEqual(nothing)
  })

  test('a journal with an incomplete record loses only that record', () => {
    open().note(subuser('sub_1', 1))
    appendFileSync(path(), toRecord([...eachKept(subuser('sub_2', 2))][0]!, saltOf(node, boot)).slice(0, 20))
    open().note(subuser('sub_3', 3))
    const { counts, damaged } = readJournal(folder, node, boot)
    expect(counts.subusers.map((each) => each.id)).toEqual(['sub_1', 'sub_3'])
    expect(damaged).toBe(1)
  })
})

const id = fc.constantFrom('sub_1', 'sub_2', 'sub_3', 'dev_é', '"\n\\')
const grown = fc.nat(2 ** 40)
const step = fc.record({
  kind: fc.constantFrom('proxy', 'subuser', 'peer'),
  id,
  number: fc.integer({ min: 1, max: 3 }),
  received: grown,
  sent: grown,
})

/** Cumulative counts, as a gateway reports them. */
function grow(
  steps: readonly { kind: string; id: string; number: number; received: number; sent: number }[],
): KeptCounts[] {
  const totals = new Map<string, { received: number; sent: number }>()
  return steps.map((each) => {
    const key = `${each.kind} ${each.kind === 'proxy' ? each.number : each.id}`
    const before = totals.get(key) ?? { received: 0, sent: 0 }
    const now = { received: before.received + each.received, sent: before.sent + each.sent }
    totals.set(key, now)
    if (each.kind === 'proxy') return { ...nothing, proxies: [{ id: each.number, ...now }] }
    if (each.kind === 'peer') return { ...nothing, peers: [{ id: each.id, ...now, handshake_at: null }] }
    return { ...nothing, subusers: [{ id: each.id, pool: 'residential', ...now }] }
  })
}

type Damage =
  | { do: 'cut'; at: number }
  | { do: 'overwrite'; at: number; bytes: Uint8Array }
  | { do: 'insert'; at: number; bytes: Uint8Array }
  | { do: 'remove'; at: number; length: number }
  | { do: 'repeat'; at: number; length: number }
const at = fc.nat(10_000)
const bytes = fc.uint8Array({ minLength: 1, maxLength: 30 })
const length = fc.integer({ min: 1, max: 200 })
const damage: fc.Arbitrary<Damage> = fc.oneof(
  fc.record({ do: fc.constant('cut' as const), at }),
  fc.record({ do: fc.constant('overwrite' as const), at, bytes }),
  fc.record({ do: fc.constant('insert' as const), at, bytes }),
  fc.record({ do: fc.constant('remove' as const), at, length }),
  fc.record({ do: fc.constant('repeat' as const), at, length }),
)

function applyDamage(file: Buffer, how: Damage): Buffer {
  const from = how.at % (file.length + 1)
  const [head, tail] = [file.subarray(0, from), file.subarray(from)]
  if (how.do === 'cut') return head
  if (how.do === 'insert') return Buffer.concat([head, how.bytes, tail])
  if (how.do === 'overwrite') return Buffer.concat([head, how.bytes, tail.subarray(how.bytes.length)])
  if (how.do === 'remove') return Buffer.concat([head, tail.subarray(how.length)])
  return Buffer.concat([file, tail.subarray(0, how.length)])
}

describe('a truncated or damaged journal', () => {
  test('readRecords never returns a larger count than was written, however the file is truncated or damaged', () => {
    const salt = saltOf(node, boot)
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), fc.array(damage, { maxLength: 5 }), (steps, damages) => {
        const history = grow(steps)
        const records = history.flatMap((counts) => [...eachKept(counts)].map((kept) => toRecord(kept, salt)))
        let file: Buffer = Buffer.from(records.join(''))
        for (const each of damages) file = applyDamage(file, each)
        const read = totalsOf(readRecords(file.toString('utf8'), salt).counts)
        const written = new Map<string, { received: number; sent: number }>()
        for (const counts of history) for (const [key, count] of totalsOf(counts)) written.set(key, count)
        for (const [key, count] of read) {
          const max = written.get(key)
          expect(max).toBeDefined()
          expect(count.received).toBeLessThanOrEqual(max?.received ?? -1)
          expect(count.sent).toBeLessThanOrEqual(max?.sent ?? -1)
        }
        if (damages.length === 0) expect(read).toEqual(written as typeof read)
      }),
      { numRuns: scaled(20_000) },
    )
  })
})

describe('journals of earlier boots', () => {
  const chance = () => 0.5
  const later = '0mzzzzzzz-00000001'
  const end = new AbortController().signal
  const note = (of: string, counts: KeptCounts) =>
    new Journal({ folder, node, boot: of, timing: new HandTiming(), log: quietLog }).note(counts)

  test('sendEarlier reports journals of earlier boots oldest first under their own boot ids, then removes them', async () => {
    const many = Array.from({ length: 2_500 }, (_, index) => ({ id: index + 1, received: index, sent: 1 }))
    note('0mabcdefg-00000002', { ...nothing, proxies: many })
    note('0mabcdefg-00000001', subuser('sub_1', 9))
    writeFileSync(join(folder, `${journalName(boot)}.new`), 'half of something')
    const reports: ReportBody[] = []
    const link = {
      async report(body: ReportBody) {
        reports.push(body)
        return { now: 0, replaced: true, allowances: [] }
      },
    }
    await sendEarlier({
      folder,
      node,
      boot: later,
      version: '1',
      link,
      timing: new HandTiming(),
      chance,
      log: quietLog,
      end,
    })
    expect(
      reports.map(
        (each) => `${each.boot} ${each.proxies.length} ${each.subusers.length} ${each.lease_requests.length}`,
      ),
    ).toEqual([
      '0mabcdefg-00000001 0 1 0',
      '0mabcdefg-00000002 1000 0 0',
      '0mabcdefg-00000002 1000 0 0',
      '0mabcdefg-00000002 500 0 0',
    ])
    expect(readdirSync(folder)).toEqual([])
  })

  test('sendEarlier reports the journal of a running boot only after that boot has ended', async () => {
    const [dead, running] = ['0mabcdefg-00000001', '0mabcdefg-00000002']
    note(dead, subuser('sub_1', 9))
    note(running, subuser('sub_2', 7))
    const draft = `${journalName(running)}.new`
    writeFileSync(join(folder, draft), 'half of something')
    const reported: string[] = []
    const link = {
      async report(body: ReportBody) {
        reported.push(body.boot)
        return { now: 0, replaced: false, allowances: [] }
      },
    }
    let isRunning = true
    const isAlive = async (each: string) => each === running && isRunning
    const send = () =>
      sendEarlier({
        folder,
        node,
        boot: later,
        version: '1',
        link,
        chance,
        end,
        isAlive,
        timing: new HandTiming(),
        log: quietLog,
      })
    expect(await send()).toBe(false)
    expect(reported).toEqual([dead])
    expect(readdirSync(folder).toSorted()).toEqual([journalName(running), draft])
    isRunning = false
    expect(await send()).toBe(true)
    expect(reported).toEqual([dead, running])
    expect(readdirSync(folder)).toEqual([])
  })

  test('sendEarlier keeps journals while the shop is unreachable, and afterwards only those that it rejects', async () => {
    note('0mabcdefg-00000001', subuser('sub_bad', 1))
    note('0mabcdefg-00000002', subuser('sub_good', 1))
    const timing = new HandTiming()
    let isUnreachable = true
    const link = {
      async report(body: ReportBody) {
        if (isUnreachable) throw new LinkError('unreachable', 'down')
        if (body.subusers[0]?.id === 'sub_bad') throw new LinkError('fault', 'rejected', 400)
        return { now: 0, replaced: false, allowances: [] }
      },
    }
    const sending = sendEarlier({ folder, node, boot: later, version: '1', link, timing, chance, log: quietLog, end })
    await timing.advance(600_000)
    expect(listEarlier(folder, later)).toHaveLength(2)
    isUnreachable = false
    await timing.advance(60_000)
    await sending
    expect(listEarlier(folder, later)).toEqual(['0mabcdefg-00000001'])
    expect(existsSync(join(folder, journalName('0mabcdefg-00000002')))).toBe(false)
  })
})
