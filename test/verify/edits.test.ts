import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Services } from '../../src/app/shop/services.ts'
import { auditOf, type Finding, sayFinding, stepOf, type Verifier, type Walk } from '../../src/core/finding.ts'
import { type Engine, engines } from '../harness/database.ts'
import { openFilledShop } from '../harness/filled.ts'
import { isLong } from '../harness/scale.ts'
import { type Edit, editsOf, openRawDatabase, type RawDatabase } from './edits.ts'
import { type Unseen, unseen } from './unseen.ts'

/**
 * All edits to three rows of each table in a long run; otherwise a sample of those to one row, smaller on PostgreSQL.
 * TURNPIKE_TEST_TABLES=vpn_ tries only the tables whose names begin so.
 */
const rowsEach = isLong ? 3 : 1
/** Each part has the time limit of a test. */
const parts = isLong ? 12 : 1
const oneIn: Readonly<Record<Engine, number>> = isLong ? { sqlite: 1, postgres: 1 } : { sqlite: 10, postgres: 100 }

const tablesBegin = process.env['TURNPIKE_TEST_TABLES'] ?? ''

const nameOf = (edit: Edit): string => `${edit.table}.${edit.column || '*'} ${edit.kind}`

/**
 * Notes of attempts, state that the next look of a job or report of a node writes again, and what is deleted soon: the
 * share of found edits leaves them out.
 */
const passing = new Set([
  'alerts',
  'brand_images',
  'brand_texts',
  'event_marks',
  'exit_reports',
  'history_marks',
  'node_boots',
  'node_samples',
  'notice_days',
  'notice_letters',
  'rate_buckets',
  'request_log',
  'traffic_alerts',
  'vpn_places',
  'webhook_deliveries',
  'webhook_progress',
])

const excuseFor = (edit: Edit): Unseen | undefined =>
  unseen.find(
    (each) =>
      each.table === edit.table &&
      each.column === edit.column &&
      (each.kinds?.includes(edit.kind) ?? true) &&
      (each.of === undefined || [...edit.before, ...edit.after].some(each.of)),
  )

/** The fastest parts first, behind the one that found the table's last edit: the others do not search what it finds. */
const inTurn = [
  'shop',
  'history',
  'fleet',
  'money',
  'days',
  'payments',
  'events',
  'webhooks',
  'operators',
  'sign-in',
  'dedicated',
  'vpn',
  'traffic',
  'premium',
  'access',
  'integrity',
]

/** `whole` is one run of everything; `parts` are the steps of the nights of a round. */
type Way = 'whole' | 'parts'

type Found = { readonly by: string; readonly text: string }

async function* findings({ verifiers }: Services, way: Way, first?: string): AsyncGenerator<Found> {
  const order = first === undefined ? inTurn : [first, ...inTurn.filter((each) => each !== first)]
  for (const name of order) {
    const verifier = verifiers.find((each) => each.name === name)
    if (!verifier) throw new Error(`verify has no part called ${name}`)
    for await (const finding of way === 'parts' && verifier.walks ? stepsOf(name, verifier.walks) : wholeOf(verifier)) {
      const each = sayFinding(finding)
      yield { by: name, text: `${each.promise}: ${each.where}: ${each.problem}` }
    }
  }
}

async function* wholeOf(verifier: Verifier): AsyncGenerator<Finding> {
  yield* (await auditOf(verifier)).findings
}

async function* stepsOf(name: string, walks: readonly Walk[]): AsyncGenerator<Finding> {
  for (const walk of walks) {
    let after: string | undefined
    do {
      const done = await stepOf(name, walk, after)
      yield* done.findings
      after = done.next
    } while (after !== undefined)
  }
}

type EditCounts = { found: number; all: number }
type Outcome = { readonly edit: Edit; readonly isFound: boolean }

describe.each([...engines])('single edits on %s', (engine) => {
  let opened: Awaited<ReturnType<typeof openFilledShop>>
  let rawDatabase: RawDatabase
  let edits: readonly Edit[]
  const outcomes: Outcome[] = []
  /** The part that found a table's last edit. */
  const finderOf = new Map<string, string>()
  beforeAll(async () => {
    opened = await openFilledShop(engine)
    const audits = await Promise.all(opened.services.verifiers.map((each) => auditOf(each)))
    expect(audits.flatMap((audit) => audit.findings)).toEqual([])
    rawDatabase = await openRawDatabase(engine, opened.testDatabase.address)
    const all = editsOf(rawDatabase.tables, rowsEach).filter(({ table }) => table.startsWith(tablesBegin))
    // What cannot be found costs most, and is the same on both engines.
    const skipsExcused = isLong && engine === 'postgres'
    edits = all.filter((edit, index) => index % oneIn[engine] === 0 && !(skipsExcused && excuseFor(edit)))
  })
  afterAll(async () => {
    await rawDatabase?.close()
    await opened.close()
  })

  /** Whether each of these edits that the database accepted was found. */
  async function tryEdits(tried: readonly Edit[]): Promise<Outcome[]> {
    const known = new Set(await Array.fromAsync(findings(opened.services, 'whole'), ({ text }) => text))
    const isFound = async (way: Way, table = ''): Promise<boolean> => {
      for await (const { by, text } of findings(opened.services, way, finderOf.get(table))) {
        if (known.has(text)) continue
        finderOf.set(table, by)
        return true
      }
      return false
    }
    const made: Outcome[] = []
    for (const edit of tried) {
      if (!(await rawDatabase.apply(edit))) continue
      // Only a long run on SQLite takes both ways for every edit.
      const isBoth = isLong && engine === 'sqlite'
      const ways: readonly Way[] = isBoth ? ['whole', 'parts'] : [made.length % 2 === 0 ? 'whole' : 'parts']
      let isFoundByAll = true
      for (const way of ways) isFoundByAll = (await isFound(way, edit.table)) && isFoundByAll
      made.push({ edit, isFound: isFoundByAll })
      await rawDatabase.undo(edit)
    }
    expect([await isFound('whole'), await isFound('parts')]).toEqual([false, false])
    return made
  }

  test('each table has rows to edit', () => {
    expect(rawDatabase.tables.filter((table) => table.rows.length === 0).map((table) => table.name)).toEqual([])
  })

  test.each(Array.from({ length: parts }, (_, part) => part + 1))(
    `verify and its parts find an edit of any column of any table, or unseen.ts lists why it cannot: part %i of ${parts}`,
    async (part) => {
      const [from, to] = [part - 1, part].map((each) => Math.round((edits.length * each) / parts))
      const tried = await tryEdits(edits.slice(from, to))
      outcomes.push(...tried)
      const missed = tried.filter((each) => !each.isFound && !excuseFor(each.edit))
      expect(missed.map((each) => nameOf(each.edit))).toEqual([])
    },
  )

  test('verify finds most edits, and in a long run each reason of unseen.ts is needed', () => {
    if (isLong) console.log(tableOf(engine, outcomes))
    const missed = outcomes.filter((each) => !each.isFound)
    const lasting = outcomes.filter(({ edit }) => !passing.has(edit.table))
    const share = lasting.filter((each) => each.isFound).length / lasting.length
    // The share of the short run's sample of 200 edits varies by a few per cent; on PostgreSQL the sample is too small.
    if (tablesBegin !== '') return
    if (isLong || engine === 'sqlite') expect(share).toBeGreaterThan(isLong ? 0.92 : 0.85)
    if (!isLong || engine === 'postgres') return
    // Excuses for some rows only may not occur among the tried rows.
    const used = new Set(missed.map((each) => excuseFor(each.edit)))
    expect(
      unseen
        .filter((each) => each.of === undefined && each.byChance !== true && !used.has(each))
        .map((each) => `${each.table}.${each.column}`),
    ).toEqual([])
  })
})

/** The figures by table, for readers of the long run. */
function tableOf(engine: Engine, outcomes: readonly Outcome[]): string {
  const countsByName = new Map<string, EditCounts>()
  for (const { edit, isFound } of outcomes) {
    for (const name of [edit.table, 'all']) {
      const counts = countsByName.get(name) ?? { found: 0, all: 0 }
      countsByName.set(name, { found: counts.found + Number(isFound), all: counts.all + 1 })
    }
  }
  return [...countsByName].map(([name, { found, all }]) => `${engine} ${name}: ${found} of ${all}`).join('\n')
}
