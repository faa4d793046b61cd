import { kindName, type Outages, type ProxyOperator, type ProxySight } from '../domains/dedicated/index.ts'
import type { Told } from '../domains/orders/index.ts'
import type { Stock } from '../domains/stock/index.ts'
import { toIso } from '../kernel/time.ts'
import { type Command, type Given, mistyped, table } from './command.ts'
import { keyOption, noteOption, type Opened, readKey, readNote, readWhole } from './typed.ts'

const proxyWord = { name: 'PROXY', meaning: "the proxy's id, a number" }

type Deps = { proxyOperator: ProxyOperator; outages: Outages; stock: Stock }

export function proxyCommands(open: Opened<Deps>): readonly Command[] {
  return [
    {
      name: 'proxy show',
      operation: 'showProxy',
      summary:
        "Shows a customer's dedicated proxy: its order, term, gateway, state, bytes, and every address it has had.",
      takes: [proxyWord],
      options: [],
      run: (given) => open(given, async ({ proxyOperator }) => toOutcome(await proxyOperator.show(readProxy(given)))),
    },
    {
      name: 'proxy interrupted',
      operation: 'listInterrupted',
      summary: 'Lists proxies that cannot be used now, on which gateway, since when, and why. Their terms stand still.',
      takes: [],
      options: [
        { flag: 'after', value: 'PROXY', meaning: 'begin after this one' },
        { flag: 'limit', value: 'N', meaning: 'how many, 1 to 10000; 100 unless said' },
      ],
      run: (given) =>
        open(given, async ({ outages, stock }) => {
          const after = readWhole(given, 'after', 0, { min: 0, max: Number.MAX_SAFE_INTEGER })
          const found = await outages.list(after, readWhole(given, 'limit', 100, { min: 1, max: 10_000 }))
          const nodes = await stock.served.carrierNames(found.map((proxy) => proxy.place))
          const rows = found.map((proxy) => ({
            proxy: proxy.id,
            customer: proxy.customer,
            address: proxy.address,
            node: nodes.get(proxy.place) ?? null,
            since: toIso(proxy.interruptedAt ?? 0),
            reason: proxy.interruptedBy,
          }))
          return {
            json: rows,
            lines: table(
              ['PROXY', 'CUSTOMER', 'ADDRESS', 'NODE', 'SINCE', 'WHY'],
              rows.map((row) => [
                String(row.proxy),
                row.customer,
                row.address,
                row.node ?? 'none',
                row.since,
                row.reason ?? '',
              ]),
            ),
          }
        }),
    },
    {
      name: 'proxy end',
      operation: 'endProxy',
      summary: 'Ends a proxy now and gives back what is unused of its price. Its customer is told.',
      takes: [proxyWord],
      options: [{ flag: 'no-refund', meaning: 'give nothing back' }, noteOption, keyOption],
      run: (given) =>
        open(given, async ({ proxyOperator }) => {
          const give = given.has('no-refund') ? 'nothing' : 'unused'
          const note = readNote(given, 'ended by the operator')
          const told = await proxyOperator.end(readProxy(given), { give, note, key: readKey(given) })
          return {
            json: told,
            lines: [`${before(told)}Proxy ${word(told, 'proxy')} is ended. Gave back ${word(told, 'amount_rub')} RUB.`],
          }
        }),
    },
    {
      name: 'proxy replace',
      operation: 'replaceProxy',
      summary: "Swaps a proxy's address for another of its kind; id, credentials and term stay. Its customer is told.",
      takes: [proxyWord],
      options: [noteOption, keyOption],
      run: (given) =>
        open(given, async ({ proxyOperator }) => {
          const wish = { note: readNote(given, 'replaced by the operator'), key: readKey(given) }
          const told = await proxyOperator.replace(readProxy(given), wish)
          return {
            json: told,
            lines: [
              told['replayed']
                ? `${before(told)}proxy ${word(told, 'proxy')} got ${word(told, 'to')} for ${word(told, 'from')} then.`
                : `Proxy ${word(told, 'proxy')} leaves from ${word(told, 'to')}, no longer from ${word(told, 'from')}.`,
            ],
          }
        }),
    },
  ]
}

/** What was answered under a key is not done again. */
const before = (told: Told): string => (told['replayed'] ? 'Done before under this key, nothing changed now: ' : '')

const word = (told: Told, name: string): string => {
  const value = told[name]
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

function readProxy(given: Given): number {
  const text = given.words[0] ?? ''
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(id)) throw mistyped('PROXY is a number, as the customer sees it in "dedicated/list".')
  return id
}

function toOutcome({ proxy, status, node, received, sent, addresses }: ProxySight) {
  const json = {
    proxy: proxy.id,
    customer: proxy.customer,
    order_id: proxy.order,
    status,
    address: proxy.address,
    node,
    country: proxy.country,
    ipv: proxy.ipv,
    port_type: proxy.portType,
    username: proxy.username,
    comment: proxy.comment,
    started_at: toIso(proxy.startedAt),
    expires_at: toIso(proxy.expiresAt),
    ended_at: proxy.endedAt === null ? null : toIso(proxy.endedAt),
    interrupted_at: proxy.interruptedAt === null ? null : toIso(proxy.interruptedAt),
    interrupted_by: proxy.interruptedBy,
    auto_renew: proxy.renewPeriod,
    rx_bytes: Number(received),
    tx_bytes: Number(sent),
    addresses: addresses.map((each) => ({
      address: each.address,
      from: toIso(each.startedAt),
      until: each.endedAt === null ? null : toIso(each.endedAt),
    })),
  }
  return {
    json,
    lines: [
      `Proxy ${proxy.id} of ${proxy.customer}, bought with ${proxy.order}: ${status}`,
      `${proxy.country} ${kindName(proxy.ipv)} ${proxy.address}, ${proxy.portType}, ${proxy.username}`,
      ...(json.interrupted_at === null
        ? []
        : [`cannot be used since ${json.interrupted_at} (${proxy.interruptedBy}), on ${node ?? 'no node'}`]),
      `from ${json.started_at} until ${json.ended_at ?? json.expires_at}, ${received} bytes in, ${sent} out`,
      ...table(
        ['ADDRESS', 'FROM', 'UNTIL'],
        json.addresses.map((each) => [each.address, each.from, each.until ?? '']),
      ),
    ],
  }
}
