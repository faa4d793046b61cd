import { HandClock } from '../harness/clock.ts'
import { openTestDatabase, type Engine } from '../harness/database.ts'
import { fillShop, wireFilled } from '../harness/filled.ts'
import { editsOf, openHands } from './edits.ts'
const engine = (process.argv[2] ?? 'sqlite') as Engine
const most = Number(process.argv[3] ?? 1)
const only = process.argv[4]
const { db, place, close } = await openTestDatabase(engine)
const clock = new HandClock()
let t = performance.now()
await fillShop({ services: wireFilled(db, clock), clock })
console.log('filled', performance.now() - t)
let base: Set<string> | undefined
const show = (f: any) => `${f.promise} | ${f.where} | ${f.problem}`
const find = async () => {
  const out: string[] = []
  const late = (n: string) => ['integrity', 'schema'].indexOf(n)
  for (const v of wireFilled(db, clock).verifiers.toSorted((a, b) => late(a.name) - late(b.name))) {
    if (base && v.name === 'schema') continue
    if (base && !only && out.some((x) => !base!.has(x))) break
    try { out.push(...(await v.verify()).findings.map(show)) } catch (e) { out.push(`THROW ${v.name} ${(e as Error).message}`) }
  }
  return out
}
t = performance.now()
console.log('honest', await find(), performance.now() - t)
const hands = await openHands(engine, place.address)
for (const x of hands.tables) console.log(x.name, x.rows.length)
base = new Set(await find())
const edits = editsOf(hands.tables, most).filter(e => !only || e.table === only || `${e.table}.${e.column}` === only)
console.log('edits', edits.length)
t = performance.now()
const by = new Map<string, { found: number; all: number; missed: string[] }>()
let threw = 0
for (const e of edits) {
  if (!(await hands.apply(e))) continue
  const f = (await find()).filter(x => !base!.has(x))
  await hands.undo(e)
  const s = by.get(e.table) ?? { found: 0, all: 0, missed: [] }
  s.all++
  if (f.length) s.found++; else s.missed.push(`${e.column} ${e.kind}`)
  if (f.some(x => x.startsWith('THROW'))) threw++
  if (only && f.length) console.log(e.column, e.kind, f.slice(0,3))
  by.set(e.table, s)
}
console.log('took', performance.now() - t)
let found = 0, all = 0
for (const [n, s] of by) { found += s.found; all += s.all; console.log(n, `${s.found}/${s.all}`, s.missed.join(', ')) }
console.log('TOTAL', found, all, 'threw', threw)
console.log('after', (await find()).filter(x => !base!.has(x)))
await hands.close(); await close(); process.exit(0)
