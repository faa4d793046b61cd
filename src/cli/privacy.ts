import { existsSync } from 'node:fs'
import { open as openFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Acting } from '../domains/operators/index.ts'
import { toolActor, toRequestText } from '../domains/operators/rules.ts'
import type { AddressQuestion, Erasing, Exporting, Holders } from '../domains/privacy/index.ts'
import { readAddress } from '../kernel/address.ts'
import type { CustomerId } from '../kernel/ids.ts'
import { toRoubles } from '../kernel/money.ts'
import { type Clock, readIsoSpan, toIso } from '../kernel/time.ts'
import { type Command, type Given, mistyped, table } from './command.ts'
import { customerWord, type Opened, readCustomer } from './typed.ts'

type Action = Acting['action']

type Deps = {
  readonly erasing: Erasing
  readonly exporting: Exporting
  readonly acting: { readonly mustNote: (action: Action) => Promise<void> }
  readonly now: Clock
  readonly findHolders: (action: Action, asked: AddressQuestion) => Promise<Holders>
}

/** As many records as are held at once. */
const atOnce = 500

export function privacyCommands(open: Opened<Deps>): readonly Command[] {
  return [exportCommand(open), eraseCommand(open), holdersCommand(open)]
}

const exportCommand = (open: Opened<Deps>): Command => ({
  name: 'customer export',
  operation: 'exportCustomer',
  summary: 'Writes everything that is kept about a customer into a file of JSON, without secrets.',
  takes: [customerWord],
  options: [{ flag: 'to', value: 'FILE', meaning: 'the file, which must not be there yet; only you can read it' }],
  run: (given) =>
    open(given, async (deps) => {
      const id = readCustomer(given.words[0])
      if (given.flags['to'] === undefined) throw mistyped('--to names the file to write.')
      const path = resolve(given.flags['to'])
      if (existsSync(path)) throw mistyped(`${path} is there already.`)
      await deps.exporting.page(id, 'operator', undefined, 1)
      await deps.acting.mustNote(actionOf(given))
      const records = await writeExport(deps, id, path)
      return { json: { customer: id, file: path, records }, lines: [`${records} records of ${id} are in ${path}.`] }
    }),
})

/** A record a line, so that neither who writes it nor who reads it needs all of it at once. */
async function writeExport({ exporting, now }: Deps, id: CustomerId, path: string): Promise<number> {
  const file = await openFile(path, 'wx', 0o600)
  let records = 0
  try {
    await file.write(`{"customer":"${id}","exported_at":"${toIso(now())}","records":[`)
    for (let cursor: string | undefined; ; ) {
      const page = await exporting.page(id, 'operator', cursor, atOnce)
      const lines = page.items.map((item, index) => `${records + index === 0 ? '\n' : ',\n'}${JSON.stringify(item)}`)
      await file.write(lines.join(''))
      records += page.items.length
      if (page.next === undefined) break
      cursor = page.next
    }
    await file.write('\n]}\n')
    await file.sync()
  } finally {
    await file.close()
  }
  return records
}

const eraseCommand = (open: Opened<Deps>): Command => ({
  name: 'customer erase',
  operation: 'eraseCustomer',
  summary: 'Forgets who a customer was, for good. His money, orders and addresses stay under his number.',
  takes: [customerWord],
  options: [{ flag: 'yes', meaning: 'it is meant, with all that goes with him; without it you are told what that is' }],
  run: (given) =>
    open(given, async ({ erasing }) => {
      const id = readCustomer(given.words[0])
      const { erasedAt, lost, versions, entries } = await erasing.erase(id, {
        by: 'operator',
        isConfirmed: () => given.has('yes'),
      })
      return {
        json: {
          customer: id,
          erased_at: toIso(erasedAt),
          lost: {
            balance_rub: toRoubles(lost.balance),
            proxies: lost.proxies,
            vpn_subscriptions: lost.subscriptions,
            traffic_bytes: Number(lost.trafficBytes),
          },
          versions,
          entries,
        },
        lines: [
          `${id} is erased since ${toIso(erasedAt)}.`,
          `${versions} versions of rows and ${entries} entries of the audit log say less now.`,
          'Backups that were made before have him until they are deleted.',
        ],
      }
    }),
})

const holdersCommand = (open: Opened<Deps>): Command => ({
  name: 'address holders',
  operation: 'findHolders',
  summary: 'Who had an address at a time, for a report of abuse. That it was asked, and why, is in the audit log.',
  takes: [{ name: 'ADDRESS', meaning: 'the address that was complained about' }],
  options: [
    { flag: 'from', value: 'TIME', meaning: 'the moment, as exactly as it is written: a second is that whole second' },
    { flag: 'to', value: 'TIME', meaning: 'the last moment of a span; the first one unless said' },
    { flag: 'reason', value: 'TEXT', meaning: 'why it is asked: the number of the report, or of the letter' },
    { flag: 'host', value: 'HOST', meaning: 'where somebody went from an exit of a pool, as far as that is kept' },
  ],
  run: (given) =>
    open(given, async (deps) => {
      const address = readAddress(given.words[0] ?? '')
      if (!address) throw mistyped('ADDRESS is an address like 203.0.113.7 or 2001:db8::7.')
      const reason = given.flags['reason'] ?? ''
      if (!/^[^\p{Cc}\p{Cs}]{1,200}$/u.test(reason) || reason.trim() === '') {
        throw mistyped('--reason says why it is asked, in 1 to 200 printable characters.')
      }
      const asked = { address, ...readSpan(given), host: given.flags['host'] ?? '' }
      return toOutcome(await deps.findHolders(actionOf(given), asked))
    }),
})

const actionOf = ({ command, words, flags }: Given): Action => ({
  actor: toolActor,
  operation: command.operation ?? command.name,
  request: toRequestText({ words, ...flags }),
})

function readSpan(given: Given): { from: number; to: number } {
  const first = readIsoSpan(given.flags['from'] ?? '')
  if (!first) throw mistyped('--from is a moment like 2027-01-31T12:00:00Z.')
  const last = given.flags['to'] === undefined ? first : readIsoSpan(given.flags['to'])
  if (!last || last.to < first.from) throw mistyped('--to is a moment like 2027-01-31T12:00:00Z, not before --from.')
  return { from: first.from, to: last.to }
}

const until = (at: number | null): string => (at === null ? '' : toIso(at))

function toOutcome({ proxies, devices, isExit, candidates }: Holders) {
  const json = {
    proxies: proxies.map((each) => ({
      customer: each.customer,
      proxy: each.proxy,
      order_id: each.order,
      username: each.username,
      from: toIso(each.startedAt),
      until: each.endedAt === null ? null : toIso(each.endedAt),
    })),
    devices: devices.map((each) => ({
      customer: each.customer,
      device: each.id,
      uuid: each.subscription,
      from: toIso(each.createdAt),
      until: each.removedAt === null ? null : toIso(each.removedAt),
    })),
    is_exit: isExit,
    candidates: candidates.map((each) => ({
      customer: each.customer_id,
      subuser: each.subuser_id,
      login: each.login,
      pool: each.pool,
      hour: toIso(Number(each.hour)),
      rx_bytes: Number(each.received),
      tx_bytes: Number(each.sent),
    })),
  }
  const exact = [
    ...proxies.map((each) => [each.customer, `proxy ${each.proxy}`, toIso(each.startedAt), until(each.endedAt)]),
    ...devices.map((each) => [each.customer, `device ${each.id}`, toIso(each.createdAt), until(each.removedAt)]),
  ]
  const possible = json.candidates.map((each) => [
    each.customer,
    each.login,
    each.hour,
    String(each.rx_bytes + each.tx_bytes),
  ])
  return {
    json,
    lines: [
      ...(exact.length === 0 ? ['Nobody had it to himself.'] : table(['CUSTOMER', 'WITH', 'FROM', 'UNTIL'], exact)),
      ...(isExit ? ['It is an exit of a pool, through which many leave. In that hour its pool carried for:'] : []),
      ...(isExit ? table(['CUSTOMER', 'LOGIN', 'HOUR', 'BYTES'], possible) : []),
    ],
  }
}
