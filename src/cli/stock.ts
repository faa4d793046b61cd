import type { RangeOperator } from '../domains/dedicated/index.ts'
import type { Fleet } from '../domains/fleet/index.ts'
import type { Stock, StockOperator } from '../domains/stock/index.ts'
import { allIpv, type Ipv, type Kind, placeStates, problemOfPrefix } from '../domains/stock/rules.ts'
import { formatAddress, type Prefix, readAddress, readPrefix } from '../kernel/address.ts'
import { readCountry } from '../kernel/country.ts'
import { toIso } from '../kernel/time.ts'
import { closeRange, isRange, rangeOptions, refuseRangeOptions } from './closing.ts'
import { type Command, type Given, mistyped, type Outcome, table } from './command.ts'
import { nodeOption, readHomes } from './ranges.ts'
import { type Opened, readTextFile, readWhole } from './typed.ts'

type Deps = { stock: Stock; stockOperator: StockOperator; rangeOperator: RangeOperator; fleet: Fleet }

const whatWord = { name: 'WHAT', meaning: 'an address in stock, or a range like 203.0.113.0/24' }
const kindOptions = [
  { flag: 'country', value: 'CODE', meaning: 'ISO 3166-1 alpha-2' },
  { flag: 'ipv', value: '3|4|6', meaning: '3 IPv4 shared by three, 4 IPv4, 6 IPv6' },
]

export function stockCommands(open: Opened<Deps>): readonly Command[] {
  return [
    {
      name: 'stock add',
      operation: 'addStock',
      summary: 'Adds addresses: a prefix, one address, or a CSV file with lines address,country,ipv.',
      takes: [{ name: 'WHAT', meaning: '203.0.113.0/24, 203.0.113.7, or a file; - reads it from the input' }],
      options: [...kindOptions, nodeOption],
      run: (given) => open(given, ({ stock }) => add(stock, given)),
    },
    {
      name: 'stock list',
      operation: 'listPlaces',
      summary: 'Lists places in the order they are sold.',
      takes: [],
      options: [
        ...kindOptions,
        { flag: 'state', value: 'STATE', meaning: placeStates.join(', ') },
        { flag: 'limit', value: 'N', meaning: 'how many; 100 unless said' },
        { flag: 'after', value: 'N', meaning: 'begin after this place' },
      ],
      run: (given) =>
        open(given, async ({ stockOperator, fleet }) => {
          const names = new Map((await fleet.nodes('gateway')).map((node) => [node.id as string, node.name]))
          const places = await stockOperator.list({
            country: given.flags['country'] === undefined ? '' : readKindCountry(given.flags['country']),
            ipv: given.flags['ipv'] === undefined ? 0 : readKindIpv(given.flags['ipv']),
            state: readState(given.flags['state']),
            after: readWhole(given, 'after', 0, { min: 0, max: Number.MAX_SAFE_INTEGER }),
            limit: readWhole(given, 'limit', 100, { min: 0, max: 100_000 }),
          })
          return {
            json: places.map((place) => ({
              place: place.id,
              address: place.address,
              slot: place.slot,
              country: place.country,
              ipv: place.ipv,
              state: place.state,
              rest_until: place.restUntil === null ? null : toIso(place.restUntil),
              retiring: place.retiring,
              carrier: place.carrier,
            })),
            lines: table(
              ['PLACE', 'ADDRESS', 'COUNTRY', 'IPV', 'NODE', 'STATE'],
              places.map((place) => [
                String(place.id),
                place.address,
                place.country,
                String(place.ipv),
                place.carrier === null ? 'none' : (names.get(place.carrier) ?? place.carrier),
                place.restUntil === null ? place.state : `${place.state} until ${toIso(place.restUntil)}`,
              ]),
            ),
          }
        }),
    },
    {
      name: 'stock count',
      operation: 'countPlaces',
      summary: 'Counts places by country, kind and state. The states add up to all places.',
      takes: [],
      options: [],
      run: (given) =>
        open(given, async ({ stockOperator }) => {
          const counts = await stockOperator.counts()
          return {
            json: counts,
            lines: table(
              ['COUNTRY', 'IPV', 'STATE', 'PLACES'],
              counts.map((each) => [each.country, String(each.ipv), each.state, String(each.count)]),
            ),
          }
        }),
    },
    {
      name: 'stock blocks',
      operation: 'listBlocks',
      summary: 'Lists IPv6 blocks too large to write out; an address of theirs becomes a place when it is sold.',
      takes: [],
      options: [],
      run: (given) =>
        open(given, async ({ stockOperator }) => {
          const blocks = await stockOperator.blocks()
          return {
            json: blocks.map((block) => ({
              prefix: block.prefix,
              country: block.country,
              carrier: block.carrier,
              added_at: toIso(block.addedAt),
              retired_at: block.retiredAt === null ? null : toIso(block.retiredAt),
            })),
            lines: table(
              ['BLOCK', 'COUNTRY', 'STATE'],
              blocks.map((block) => [block.prefix, block.country, block.retiredAt === null ? 'on sale' : 'retired']),
            ),
          }
        }),
    },
    {
      name: 'stock retire',
      operation: 'retireRange',
      summary: 'Takes an address or a whole range off sale; what is leased runs out, or gets other addresses.',
      takes: [whatWord],
      options: rangeOptions,
      run: (given) => open(given, (deps) => retire(deps, given)),
    },
    {
      name: 'stock quarantine',
      operation: 'quarantineRange',
      summary: 'Keeps a free address from sale for some days; of a range sells nothing and serves nobody until --undo.',
      takes: [whatWord],
      options: [{ flag: 'days', value: 'N', meaning: 'how long, for one address; 7 unless said' }, ...rangeOptions],
      run: (given) =>
        open(given, async ({ stockOperator, rangeOperator }) => {
          if (isRange(given)) {
            if (given.has('days')) throw mistyped('--days is for one address; a range waits for --undo.')
            return closeRange(rangeOperator, 'quarantine', given)
          }
          refuseRangeOptions(given, [])
          const address = readStockAddress(given.words[0])
          const days = readWhole(given, 'days', 7, { min: 0, max: 3650 })
          const places = await stockOperator.quarantine(address, days)
          return {
            json: { address: formatAddress(address), places, days },
            lines: [`${places} resting for ${days} days.`],
          }
        }),
    },
  ]
}

async function add(stock: Stock, given: Given) {
  const what = given.words[0] ?? ''
  const prefix = readPrefix(what)
  const homes = await readHomes(stock, given)
  const added = prefix
    ? await stock.add(assertVersion(prefix, readKind(given)), readKind(given), showProgress, homes)
    : await addFile(stock, what, homes)
  const nothing = 'Added nothing: all of it is in stock already, of this kind or another. "stock list" shows it.'
  return { json: { added }, lines: [added === 0 ? nothing : `Added ${added}.`] }
}

/** A file of many kinds is added kind by kind; a line that cannot be read stops it before anything is added. */
async function addFile(stock: Stock, path: string, homes: readonly string[]): Promise<number> {
  const kinds = new Map<string, { kind: Kind; addresses: string[] }>()
  for (const [index, line] of (await readTextFile(path, ' It is no prefix either.')).split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#') || /^address\s*,/i.test(line)) continue
    const [text = '', country = '', ipv = ''] = line.split(',').map((part) => part.trim())
    const where = `Line ${index + 1} of ${path}: `
    const address = readAddress(text)
    if (!address) throw mistyped(`${where}"${text}" is not an address.`)
    const kind = { country: readKindCountry(country, where), ipv: readKindIpv(ipv, where) }
    assertVersion({ base: address, length: address.bytes.length * 8 }, kind, where)
    const name = `${kind.country} ${kind.ipv}`
    const group = kinds.get(name) ?? { kind, addresses: [] }
    group.addresses.push(formatAddress(address))
    kinds.set(name, group)
  }
  if (kinds.size === 0) throw mistyped(`${path} names no address: a line is address,country,ipv.`)
  let added = 0
  for (const { kind, addresses } of kinds.values()) {
    added += await stock.addAddresses(addresses, kind, showProgress, homes)
  }
  return added
}

async function retire({ stockOperator, rangeOperator }: Deps, given: Given): Promise<Outcome> {
  if (isRange(given)) return closeRange(rangeOperator, 'retire', given)
  refuseRangeOptions(given, ['undo'])
  const what = given.words[0] ?? ''
  const address = readStockAddress(what)
  const places = await (given.has('undo') ? stockOperator.restore(address) : stockOperator.retire(address))
  return { json: { address: what, places }, lines: [`${places} place${places === 1 ? '' : 's'} changed.`] }
}

function readKind(given: Given): Kind {
  return { country: readKindCountry(given.flags['country'] ?? ''), ipv: readKindIpv(given.flags['ipv'] ?? '') }
}

function readKindCountry(text: string, where = '') {
  const country = readCountry(text)
  if (!country) throw mistyped(`${where}"${text}" is not a country code${where === '' ? '; say --country DE' : ''}.`)
  return country
}

function readKindIpv(text: string, where = ''): Ipv {
  const ipv = allIpv.find((each) => String(each) === text)
  if (!ipv) throw mistyped(`${where}"${text}" is not a kind${where === '' ? '; say --ipv 3, 4 or 6' : ': 3, 4 or 6'}.`)
  return ipv
}

function assertVersion(prefix: Prefix, kind: Kind, where = ''): Prefix {
  const problem = problemOfPrefix(prefix, kind)
  if (problem !== undefined) throw mistyped(`${where}${problem}.`)
  return prefix
}

function readStockAddress(text = '') {
  const address = readAddress(text)
  if (!address) throw mistyped(`"${text}" is not an address.`)
  return address
}

function readState(text = ''): string {
  if (text !== '' && !placeStates.some((state) => state === text))
    throw mistyped(`--state is ${placeStates.join(', ')}.`)
  return text
}

function showProgress(done: number): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${done} added`)
}
