import { move as moveShop } from '../src/app/backup/move.ts'
import { readConfig } from '../src/app/settings/config.ts'
import type { Verifier } from '../src/core/finding.ts'
import type { Bench, Context } from './context.ts'
import { charge } from './ledger.ts'
import { addPeople } from './people.ts'
import { amountRow, type Row } from './report.ts'
import { type BenchDatabase, engineName, withServices } from './stage.ts'

const postings = 1_000_000
const people = 10_000
const callers = 200

/**
 * The time for which a shop is closed during a move to the other engine: copying, comparing every table, and verify.
 */
export const move: Bench = {
  name: 'move',
  about: `a shop of ${postings.toLocaleString('en-US')} postings to the other engine and back`,
  async run(context) {
    const { stage } = context
    const from = await stage.makeDatabase('sqlite')
    await fill(context, from)
    const [there, back] = [await stage.makeDatabase('postgres'), await stage.makeDatabase('sqlite')]
    const forth = await measure(context, from, there)
    return [...forth, ...(await measure(context, { ...there, folder: from.folder }, back))]
  },
}

function fill(context: Context, database: BenchDatabase): Promise<void> {
  return withServices(database, async (services) => {
    context.say(`${people} customers`)
    const payers = await addPeople(services, people)
    let left = postings - people
    const buy = async (): Promise<void> => {
      while (left > 0) {
        left -= 1
        if (left % 100_000 === 0) context.say(`${left} postings to go`)
        await charge(services, payers[left % people])
      }
    }
    await Promise.all(Array.from({ length: callers }, buy))
  })
}

async function measure(context: Context, from: BenchDatabase, to: BenchDatabase): Promise<Row[]> {
  const config = readConfig({
    TURNPIKE_DATA: from.folder,
    TURNPIKE_SECRET_KEY: '00'.repeat(32),
    ...(from.engine === 'postgres' && { TURNPIKE_DATABASE_URL: from.address }),
  })
  const beganAt = performance.now()
  let verifyingMs = 0
  const { isRight, held } = await moveShop(config, to.engine === 'postgres' ? to.address : to.folder, {
    clock: Date.now,
    onProgress: () => {},
    async verify(verifiers: readonly Verifier[]) {
      const verifyAt = performance.now()
      for (const verifier of verifiers) if ((await verifier.verify()).findings.length > 0) return false
      verifyingMs = performance.now() - verifyAt
      return true
    },
  })
  if (!isRight) throw new Error('the shop did not verify where it was moved to')
  const wholeMs = performance.now() - beganAt
  const rows = Object.values(held).reduce((sum, table) => sum + table.rows, 0)
  const what = `${engineName[from.engine]} to ${engineName[to.engine]}`
  context.say(`${what}: ${Math.round(wholeMs / 1000)} s`)
  return [
    amountRow(`${what}, rows`, [rows], ''),
    amountRow(`${what}, the shop is closed for`, [wholeMs / 1000], ' s', 1),
    amountRow(`${what}, of which verifying`, [verifyingMs / 1000], ' s', 1),
    amountRow(`${what}, reckoned for ten times as many`, [(wholeMs / 1000) * 10], ' s'),
  ]
}
