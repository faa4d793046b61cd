import type { Fleet } from '../domains/fleet/index.ts'
import { type ExitWish, type NewExit, readExitWish } from '../domains/premium/index.ts'
import { type FieldProblem, Refusal } from '../kernel/refusal.ts'
import { type Given, mistyped } from './command.ts'
import { readTextFile } from './typed.ts'

/** The id of a gateway that is named. */
export async function readGateway(fleet: Pick<Fleet, 'findByName'>, name: string | undefined): Promise<string | null> {
  if (name === undefined) return null
  const node = await fleet.findByName(name)
  if (node?.kind !== 'gateway') throw mistyped('--node is the name of a gateway, as "node list" shows it.')
  return node.id
}

/** Options by the names of the fields that they fill; the password comes from a file, which others cannot see. */
const optionOf = (field: string): string => (field === 'password' ? 'password-file' : field)

/** What is wrong is said of the option that was typed. */
export async function readExit(given: Given): Promise<NewExit> {
  const { local, upstream, username, node, countries, country, state, city, zip, asn } = given.flags
  const place = { countries, country, state, city, zip, asn }
  const wish: ExitWish = {
    pool: given.words[0] ?? '',
    local,
    upstream,
    username,
    password: await readPassword(given),
    node,
    ...place,
  }
  try {
    return readExitWish(wish)
  } catch (error) {
    const details = error instanceof Refusal && Array.isArray(error.details) ? error.details : []
    const [first] = details as readonly FieldProblem[]
    throw first ? mistyped(`--${optionOf(first.field)} ${first.problem}.`) : error
  }
}

async function readPassword(given: Given): Promise<string | undefined> {
  const path = given.flags['password-file']
  return path === undefined ? undefined : (await readTextFile(path)).split('\n')[0]
}
