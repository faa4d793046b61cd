import { join } from 'node:path'
import { checksSql } from './checks.ts'
import { histories } from './histories.ts'
import { historySql } from './history.ts'

const folder = join(import.meta.dir, '../../migrations')
const baseline = '0001-baseline'
/** The migration whose view has the plain name, and which has the CHECK functions. */
const first = '0002-history-and-checks'

/** The text of each migration that is made from a list. */
export async function makeMigrations(): Promise<{ file: string; text: string }[]> {
  const tables = await Bun.file(join(folder, `${baseline}.sql`)).text()
  return Object.entries(histories).map(([name, list]) => {
    const view = name === first ? 'row_contents' : `row_contents_${name.slice('0000-'.length).replaceAll('-', '_')}`
    const lines = [
      '-- Made by "npm run schema" from tools/schema/histories.ts and the CHECKs of 0001-baseline.sql. Do not edit.',
      ...(name === first ? checksSql(tables) : []),
      ...historySql(view, list),
    ]
    return { file: join(folder, `${name}.sql`), text: `${lines.join('\n')}\n` }
  })
}
