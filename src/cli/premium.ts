import type { Premium } from '../domains/premium/index.ts'
import type { Traffic } from '../domains/traffic/index.ts'
import { toGigabytes } from '../kernel/bytes.ts'
import { toRoubles, toRoubleText } from '../kernel/money.ts'
import { toIso } from '../kernel/time.ts'
import { type Command, table } from './command.ts'
import { type Opened, orderWord, readNote, readOrder } from './typed.ts'

type Deps = { premium: Premium; traffic: Traffic }

export function premiumCommands(open: Opened<Deps>): readonly Command[] {
  return [...poolCommands(open), ...trafficCommands(open)]
}

function poolCommands(open: Opened<Deps>): readonly Command[] {
  return [
    {
      name: 'pool list',
      operation: 'listPools',
      summary: 'Lists the pools of premium proxies: their price and their exits. The catalogue says which there are.',
      takes: [],
      options: [],
      run: (given) =>
        open(given, async ({ premium }) => {
          const rows = (await premium.exits.overview()).map((each) => ({
            pool: each.pool,
            sold: each.isSold,
            from_rub_per_gb: toRoubles(each.fromPerGigabyte),
            expires_days: each.expiresDays,
            exits: each.exits,
            serving: each.serving,
          }))
          return {
            json: rows,
            lines: table(
              ['POOL', 'SOLD', 'FROM RUB/GB', 'EXITS', 'SERVING'],
              rows.map((row) => [
                row.pool,
                row.sold ? 'yes' : 'no',
                String(row.from_rub_per_gb),
                String(row.exits),
                String(row.serving),
              ]),
            ),
          }
        }),
    },
  ]
}

function trafficCommands(open: Opened<Deps>): readonly Command[] {
  return [
    {
      name: 'traffic refund',
      operation: 'refundTraffic',
      summary: 'Takes back what is unused of a purchase of traffic and returns that part of its price, once.',
      takes: [orderWord],
      options: [{ flag: 'note', value: 'TEXT', meaning: 'why; the customer sees it' }],
      run: (given) =>
        open(given, async ({ premium }) => {
          const id = readOrder(given.words[0])
          const refund = await premium.traffic.refund(id, readNote(given, 'unused traffic'))
          const gb = toGigabytes(refund.returned)
          return {
            json: {
              order: id,
              returned_gb: gb,
              refunded_rub: toRoubles(refund.money),
              balance_rub: toRoubles(refund.balance),
            },
            lines: [`Took back ${gb} GB and refunded ${toRoubleText(refund.money)} RUB.`],
          }
        }),
    },
    {
      name: 'usage quarantine',
      operation: 'listQuarantined',
      summary:
        'Lists what nodes have claimed beyond their leases, or beyond what their links can carry. It is not billed.',
      takes: [],
      options: [],
      run: (given) =>
        open(given, async ({ traffic }) => {
          const claims = [
            ...(await traffic.leases.quarantined(mostListed)),
            ...(await traffic.counts.unbelieved(mostListed)),
          ]
          return {
            json: claims.map((each) => ({
              node: each.node,
              boot: each.boot,
              subject: each.subject,
              bytes: Number(each.bytes),
              at: toIso(each.at),
            })),
            lines:
              claims.length === 0
                ? ['No claim is in quarantine.']
                : table(
                    ['NODE', 'BOOT', 'SUBJECT', 'BYTES', 'LAST'],
                    claims.map((each) => [each.node, each.boot, each.subject, String(each.bytes), toIso(each.at)]),
                  ),
          }
        }),
    },
  ]
}

const mostListed = 10_000
