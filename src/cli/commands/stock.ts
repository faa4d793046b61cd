import * as stock from '../../api/admin/stock/shapes.ts'
import { formatPrefix, prefixAround, readAddress, readPrefix } from '../../core/address.ts'
import { readCountry } from '../../core/country.ts'
import { type Given, mistyped, type Option, type Outcome } from '../command.ts'
import { type CallOperation, type OperationCommand, over } from '../operation-command.ts'
import { readTextFile, rows, rub } from '../print.ts'

/** How many addresses of a file one request adds: a body has at most 64 KiB. */
const addressesAtOnce = 1000

const nodeOption: Option = { flag: 'node', value: 'NAME,…', meaning: 'Gateways that serve it. Default: any.' }
const rangeOptions: readonly Option[] = [
  { flag: 'dry-run', meaning: 'Show the contents of the range and the affected customers. Change nothing.' },
  { flag: 'undo', meaning: 'Undo the command.' },
  { flag: 'replace', meaning: 'Replace the addresses of customers now, with others of the same kind.' },
  { flag: 'refund', meaning: 'With --replace: end proxies without a free replacement, and refund the unused part.' },
  { flag: 'note', value: 'TEXT', meaning: 'Reason, shown to the customer.' },
]

const nodesOf = (given: Given): string[] => (given.flags['node'] ?? '').split(',').filter((name) => name !== '')

function fillNodes(given: Given) {
  if (given.has('any') !== given.has('node')) return { nodes: nodesOf(given) }
  throw mistyped('Name the gateways with --node NAME, or for "stock assign" all of them with --any.')
}

const addedLine = ({ added }: { readonly added: number }): string =>
  added > 0 ? `Added ${added}.` : 'Added nothing: all of it is in stock already. "turnpike stock list" shows it.'

const addPrefix = over(stock.addStock, 'stock add', {
  args: 'prefix',
  filled: 'addresses nodes',
  options: [nodeOption],
  fill: (given) => ({ nodes: nodesOf(given) }),
  show: addedLine,
})

export const stockCommands: readonly OperationCommand[] = [
  {
    ...addPrefix,
    summary: 'Add a prefix, one address, or a CSV file with lines address,country,ipv.',
    takes: [{ name: 'WHAT', meaning: '203.0.113.0/24, 203.0.113.7, or a file; - reads the standard input.' }],
    run: (given, call, where) =>
      readPrefix(given.args[0] ?? '') ? addPrefix.run(given, call, where) : addFile(given, call),
  },
  over(stock.listPlaces, 'stock list', { columns: 'place address country ipv carrier state rest_until' }),
  over(stock.countPlaces, 'stock count'),
  over(stock.listBlocks, 'stock blocks'),
  over(stock.listRanges, 'stock ranges', {
    // An address of a block gets its slot when it is sold.
    show: ({ items }, given) =>
      rows(
        items.map(({ retired, ...each }) => ({
          ...each,
          ...(each.block && { places: 'as sold', served: each.served > 0 ? 'yes' : 'no' }),
          ...(given.has('all') && { retired }),
        })),
      ),
  }),
  over(stock.assignRange, 'stock assign', {
    args: 'prefix',
    filled: 'nodes',
    options: [nodeOption, { flag: 'any', meaning: 'Any gateway that proves that it can use them.' }],
    fill: fillNodes,
    show: (data, given) => [`${data.prefix} is on ${given.flags['node'] ?? 'any gateway that can use it'} now.`],
  }),
  over(stock.moveRange, 'stock move', {
    args: 'prefix',
    filled: 'nodes',
    options: [nodeOption],
    fill: fillNodes,
    show: (data, given) => [
      `${data.proxies.length} proxies of ${data.customers} customers ` +
        (data.dry_run ? 'would move. Nothing was changed.' : `move to ${given.flags['node']}.`),
      'They work when the gateway has tried the addresses. A proxy that waits longer than 30 s counts as interrupted.',
      ...data.away.map((name) => `${name} has not reported lately.`),
    ],
  }),
  closing(stock.retireRange, 'retire', 'Take an address or a range off sale. Leases run out, or get other addresses.'),
  closing(stock.quarantineRange, 'quarantine', 'Keep an address from sale for days, or a range until --undo.'),
]

type Verb = 'retire' | 'quarantine'

/** One address and a whole range are two operations with one command. */
function closing(operation: typeof stock.retireRange, verb: Verb, summary: string): OperationCommand {
  const days: Option = { flag: 'days', value: 'N', meaning: 'How long, for one address. Default: 7.' }
  return {
    name: `stock ${verb}`,
    operation,
    summary,
    takes: [{ name: 'WHAT', meaning: 'An address in stock, or a range like 203.0.113.0/24.' }],
    options: [...(verb === 'quarantine' ? [days] : []), ...rangeOptions],
    async run(given, call): Promise<Outcome> {
      const [what = ''] = given.args
      if (!what.includes('/')) return closeAddress(verb, what, given, call)
      if (given.has('days')) throw mistyped('--days is for one address; a range waits for --undo.')
      if (given.has('dry-run')) return survey(await call(stock.surveyRange, { prefix: what }))
      const data = await call(operation, {
        prefix: what,
        undo: given.has('undo'),
        replace: given.has('replace'),
        refund: given.has('refund'),
        ...(given.has('note') && { note: given.flags['note'] }),
      })
      const counts = `Replaced ${data.replaced.length}, ended ${data.ended.length}, interrupted ${data.interrupted}`
      const left = data.waiting.length > 0 ? [`No address is free for proxies ${data.waiting.join(', ')}.`] : []
      return { json: data, lines: [`${data.places} slots. ${counts}, restored ${data.restored}.`, ...left] }
    },
  }
}

async function closeAddress(verb: Verb, address: string, given: Given, call: CallOperation): Promise<Outcome> {
  const allowed = verb === 'retire' ? ['undo'] : []
  const wrong = rangeOptions.find(({ flag }) => given.has(flag) && !allowed.includes(flag))
  if (wrong) throw mistyped(`--${wrong.flag} is for a range, like 203.0.113.0/24.`)
  if (verb === 'retire') {
    const data = await call(stock.retireAddress, { address, undo: given.has('undo') })
    return { json: data, lines: [`${data.places} slot${data.places === 1 ? '' : 's'} changed.`] }
  }
  const days = given.has('days') ? { days: Number(given.flags['days']) } : {}
  const data = await call(stock.quarantineAddress, { address, ...days })
  return { json: data, lines: [`Slots kept from sale for ${data.days} days: ${data.places}.`] }
}

const survey = (data: typeof stock.surveyRange.example): Outcome => ({
  json: data,
  lines: [
    ...rows(data.kinds),
    ...data.blocks.map((block) => `The block ${block}.`),
    `${data.proxies.length} proxies of ${data.customers} customers; ${rub(data.unused_rub)} RUB of them are unused.`,
    'Nothing was changed.',
  ],
})

async function addFile(given: Given, call: CallOperation): Promise<Outcome> {
  let added = 0
  for (const part of await readStockFile(given.args[0] ?? '')) {
    added += (await call(stock.addStock, { ...part, nodes: nodesOf(given) })).added
  }
  return { json: { added }, lines: [addedLine({ added })] }
}

function problemOfLine(text: string, country: string, ipv: string): string | undefined {
  const address = readAddress(text)
  if (!address) return `"${text}" is not an address`
  if (!readCountry(country)) return `"${country}" is not a country code`
  if (!/^[346]$/.test(ipv)) return `"${ipv}" is not a kind: 3, 4 or 6`
  return (address.version === 6) === (ipv === '6') ? undefined : `${text} is not an address of kind ${ipv}`
}

/** Addresses by kind, in parts that fit into a request. A line that cannot be read stops before anything is added. */
async function readStockFile(path: string) {
  const meant = prefixAround(path)
  if (meant) throw mistyped(`${path} has bits set past its length. Did you mean ${formatPrefix(meant)}?`)
  const lines = (await readTextFile(path, ' It is no prefix either.')).split(/\r?\n/)
  const listed = lines.flatMap((line, index) => {
    if (line.trim() === '' || line.startsWith('#') || /^address\s*,/i.test(line)) return []
    const [address = '', country = '', ipv = ''] = line.split(',').map((part) => part.trim())
    const problem = problemOfLine(address, country, ipv)
    if (problem !== undefined) throw mistyped(`Line ${index + 1} of ${path}: ${problem}.`)
    return [{ address, country, ipv: Number(ipv) }]
  })
  if (listed.length === 0) throw mistyped(`${path} names no address: a line is address,country,ipv.`)
  const parts = Map.groupBy(
    listed.entries(),
    ([at, { country, ipv }]) => `${country} ${ipv} ${Math.floor(at / addressesAtOnce)}`,
  )
  return [...parts.values()].map((part) => {
    const { country, ipv } = part[0]?.[1] ?? { country: '', ipv: 0 }
    return { addresses: part.map(([, each]) => each.address), country, ipv }
  })
}
