import { readPriceListText } from '../../api/admin/catalogue/price-list-text.ts'
import * as catalogue from '../../api/admin/catalogue/shapes.ts'
import * as operators from '../../api/admin/operators/shapes.ts'
import { getLiveNetwork, getUpcoming } from '../../api/admin/overview/shapes.ts'
import shippedCatalogue from '../../domains/pricing/catalogue.yaml' with { type: 'text' }
import { mistyped } from '../command.ts'
import { type OperationCommand, over } from '../operation-command.ts'
import { local, readTextFile, rows, secret, showProgress, verdictLines } from '../print.ts'

const waitMs = 200

const showLink = (data: { readonly link: string; readonly name: string; readonly expires_at: string }): string[] =>
  secret(data.link, `It signs ${data.name} in once, until ${local(data.expires_at)}.`)

export const operatorCommands: readonly OperationCommand[] = [
  over(getUpcoming, 'upcoming'),
  over(getLiveNetwork, 'network'),
  over(operators.addOperator, 'operator add', { args: 'name', show: showLink }),
  over(operators.listOperators, 'operator list', { columns: 'name role created_at operator_id' }),
  over(operators.linkOperator, 'operator link', { show: showLink }),
  over(operators.setOperatorRole, 'operator role', { args: 'role', show: (data) => `${data.name} is ${data.role}.` }),
  over(operators.removeOperator, 'operator remove', {
    show: (data) => `${data.name} is removed. Tokens and sessions end within a second.`,
  }),
  over(operators.createOperatorToken, 'operator token', {
    show: (data) => secret(data.token, `Its id is ${data.token_id}.`),
  }),
  over(operators.listOperatorTokens, 'operator tokens', { columns: 'token_id begins expires_at revoked_at name' }),
  over(operators.revokeOperatorToken, 'operator revoke', { show: (data) => `${data.token_id} is revoked.` }),
  over(operators.listAuditLog, 'audit list', { columns: 'seq at name role action source request' }),
  {
    ...over(operators.startVerify, 'verify', {}),
    options: [
      { flag: 'against', value: 'HASH|FILE', meaning: 'A checkpoint that was kept elsewhere, or a file of them.' },
      { flag: 'part', meaning: 'Only what is new, and the next part of a round over everything, for every night.' },
    ],
    async run({ flags, has }, call, where) {
      const against = flags['against'] === undefined ? {} : { against: await readKept(flags['against']) }
      let data = await call(operators.startVerify, { ...against, ...(has('part') && { part: true }) })
      let progress = showProgress('')
      for (let part: string | null = ''; data.state === 'running'; data = await call(operators.getVerify, {})) {
        if (data.part !== part) {
          progress.end()
          progress = showProgress(data.part ?? '')
          part = data.part
        }
        progress.tell(data.done)
        await Bun.sleep(waitMs)
      }
      progress.end()
      const verdict = { ...data, ok: data.ok ?? false, found: data.found ?? 0 }
      const lines =
        data.state === 'failed'
          ? ['The verification failed; the log of the shop has the error.']
          : [...verdictLines(verdict), `The checked database is ${where}.`]
      return { json: { ...data, database: where }, lines, exit: data.ok ? 0 : 1 }
    },
  },
  over(operators.makeCheckpoint, 'checkpoint', {
    show: ({ checkpoint: made }) =>
      made === null
        ? 'Nothing has settled since the last checkpoint.'
        : `Checkpoint ${made.number} over ${made.accounts} accounts, ${made.postings} postings: ${made.hash}`,
  }),
]

const fileArg = { name: 'FILE', meaning: 'A price list in YAML; - reads the standard input.' }
const readCatalogue = async ({ args: [path = ''] }: { readonly args: readonly string[] }) => {
  const read = readPriceListText(await readTextFile(path))
  if ('value' in read) return { catalogue: read.value }
  throw mistyped(
    read.problem === 'key_twice'
      ? `${path} has the key ${read.key} twice in one place. Keep one of them.`
      : `${path} is not YAML: ${read.detail}`,
  )
}

export const catalogueCommands: readonly OperationCommand[] = [
  over(catalogue.applyCatalogue, 'catalog apply', {
    takes: [fileArg],
    filled: 'catalogue',
    fill: readCatalogue,
    show: ({ version, changes }) =>
      version === null ? ['Nothing changed: it is in force already.'] : [...changes, `Version ${version} is in force.`],
  }),
  over(catalogue.compareCatalogue, 'catalog diff', {
    takes: [fileArg],
    filled: 'catalogue',
    fill: readCatalogue,
    show: ({ changes, effects }) =>
      changes.length === 0 ? ['Nothing would change.'] : [...changes, ...(effects.length > 0 ? rows(effects) : [])],
  }),
  {
    ...over(catalogue.getCatalogue, 'catalog show', {}),
    options: [
      { flag: 'version', value: 'N', meaning: 'Version number. Default: the version in force.' },
      { flag: 'versions', meaning: 'List the versions instead.' },
      { flag: 'shipped', meaning: 'Write the price list of a sandbox instead, to start your own from.' },
    ],
    async run(given, call) {
      if (given.has('shipped')) {
        const text = String(shippedCatalogue)
        return { json: Bun.YAML.parse(text), lines: [text.trimEnd()] }
      }
      if (given.has('versions')) {
        const data = await call(catalogue.listCatalogues, {})
        return { json: data, lines: data.items.map((each) => `${each.version}  ${local(each.applied_at)}`) }
      }
      const data = await call(catalogue.getCatalogue, given.has('version') ? { version: given.flags['version'] } : {})
      return { json: data, lines: [Bun.YAML.stringify(data.catalogue, null, 2)] }
    },
  },
]

/** A checkpoint's hash, or a file with one on each line, as the shop appends them; `-` is the standard input. */
async function readKept(text: string) {
  if (/^[0-9a-f]{64}$/i.test(text)) return [{ hash: text }]
  const file = await readTextFile(text, ' --against is a hash of 64 hexadecimal digits, or a file of them.')
  const kept = file.split('\n').flatMap((line) => {
    const [hash] = /\b[0-9a-f]{64}\b/i.exec(line) ?? []
    const [, number] = /"number":\s*(\d{1,15})/.exec(line) ?? []
    return hash === undefined ? [] : [{ hash, ...(number !== undefined && { number: Number(number) }) }]
  })
  if (kept.length === 0) throw mistyped(`${text} has no checkpoint in it.`)
  return kept
}
