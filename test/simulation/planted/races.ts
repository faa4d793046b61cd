import type { Engine } from '../../harness/database.ts'

/** A race that Turnpike had, or that one of its rules prevents: the source as it would be without the fix. */
export type PlantedRace = {
  readonly name: string
  /** The commit that fixed it, or that made the rule. */
  readonly fixedBy: string
  /** The engine on which statements of different transactions can meet, if not SQLite. */
  readonly engine?: Engine
  readonly edits: readonly { readonly file: string; readonly find: string; readonly replace: string }[]
}

const sell = 'src/domains/orders/sell.ts'
const meter = 'src/dataplane/agent/meter.ts'
const counter = 'src/db/counter.ts'

export const plantedRaces: readonly PlantedRace[] = [
  {
    name: 'the answer under a key is stored after the commit of its purchase',
    fixedBy: '4a2aff70',
    edits: [
      {
        file: sell,
        find: '    if (kept !== undefined) storeAnswer(deps, { ...sale, order, token: by.token?.id ?? null }, kept, what, body)\n',
        replace:
          '    if (kept !== undefined) void Promise.resolve().then(() => deps.db.transact(async (late) => storeAnswer(deps, { ...sale, tx: late, order, token: by.token?.id ?? null }, kept, what, body)))\n',
      },
    ],
  },
  {
    name: 'stock and balance are checked before the key of a repeated purchase',
    fixedBy: '4a2aff70',
    edits: [
      {
        file: 'src/domains/dedicated/buy.ts',
        find: "  return deps.orders.sell(request, { product, action: 'buy', input }, async (sale) => {",
        replace:
          "  if ((await stock.available(order)) < count) throw new Refusal('out_of_stock', { available: 0 }, { available: 0, charged: false })\n  return deps.orders.sell(request, { product, action: 'buy', input }, async (sale) => {",
      },
      {
        file: 'src/domains/dedicated/buy.ts',
        find: 'import { addDays }',
        replace: "import { Refusal } from '../../core/refusal.ts'\nimport { addDays }",
      },
    ],
  },
  {
    name: 'a purchase by payment has no key, and a notification and the job both make it',
    fixedBy: '65d38f9a',
    edits: [
      {
        file: 'src/domains/payments/purchases.ts',
        find: '      by,\n      key,\n      catalogue:',
        replace: '      by,\n      key: undefined,\n      catalogue:',
      },
    ],
  },
  {
    name: 'a swap of an address is made again under its key',
    fixedBy: '8b6bf223',
    edits: [
      {
        file: sell,
        find: '    if (kept !== undefined) storeAnswer(',
        replace: "    if (kept !== undefined && what.action !== 'replace') storeAnswer(",
      },
    ],
  },
  {
    name: 'a lease ends before it began where the clock was set back',
    fixedBy: 'b041fd44',
    edits: [
      {
        file: 'src/domains/stock/store.ts',
        find: 'SET ended_at = CASE WHEN started_at < $2 THEN $2 ELSE started_at + 1 END',
        replace: 'SET ended_at = $2',
      },
    ],
  },
  {
    name: 'a late or repeated report counts its bytes again',
    fixedBy: 'cb6435a3',
    edits: [
      {
        file: 'src/domains/traffic/counts/rules.ts',
        find: '  received: other && other.received > count.received ? other.received : count.received,\n  sent: other && other.sent > count.sent ? other.sent : count.sent,',
        replace: '  received: count.received,\n  sent: count.sent,',
      },
    ],
  },
  {
    name: 'counts that grow while their report is on its way are dropped with it',
    fixedBy: '057d87e5',
    edits: [
      {
        file: meter,
        find: 'return from.get(key) === sent && from.delete(key)',
        replace: 'return sent !== undefined && from.delete(key)',
      },
    ],
  },
  {
    name: 'a restarted gateway does not report the journal of the killed one',
    fixedBy: 'c98bafe3',
    edits: [
      {
        file: meter,
        find: 'return (await this.deps.sendEarlier?.(this.end.signal)) ?? true',
        replace: 'return true',
      },
    ],
  },
  {
    name: 'a gateway whose clock was set back has an older boot id than before',
    fixedBy: 'cb6435a3',
    edits: [
      {
        file: 'src/dataplane/agent/boots.ts',
        find: 'const at = Math.max(Math.trunc(deps.clock()), ...known.map((each) => each + 1))',
        replace: 'const at = Math.max(Math.trunc(deps.clock()), known.length * 0)',
      },
    ],
  },
  {
    name: 'a poll of a provider settles the payment as it was before the answer',
    fixedBy: '36f418fa',
    edits: [
      {
        file: 'src/domains/payments/watch.ts',
        find: '    const before = await lockKnown(tx, payment.id)\n',
        replace: '    const before = payment\n',
      },
    ],
  },
  {
    name: 'a key stays in use after a request under it has failed',
    fixedBy: '4a2aff70',
    edits: [
      {
        file: sell,
        find: '  } finally {\n    running.delete(name)\n  }',
        replace: '  } catch (error) {\n    throw error\n  }',
      },
    ],
  },
  {
    name: 'the events of a purchase are written after its commit',
    fixedBy: '053ff3a1',
    edits: [
      {
        file: sell,
        find: '    await deps.events.note(tx, sale.events())\n',
        replace:
          '    void Promise.resolve().then(() => deps.db.transact((late) => deps.events.note(late, sale.events())))\n',
      },
    ],
  },
  {
    name: 'an account is read without its lock',
    fixedBy: '5742b375',
    engine: 'postgres',
    edits: [
      {
        file: 'src/domains/ledger/store.ts',
        find: 'FROM accounts WHERE customer_id = $1 FOR UPDATE',
        replace: 'FROM accounts WHERE customer_id = $1',
      },
    ],
  },
  {
    name: 'a shop that starts does not look for the mark of the last one',
    fixedBy: '2c06e5fe',
    edits: [
      {
        file: 'src/app/shop/history.ts',
        find: 'let kept = findMark(path)',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
        replace: 'let kept = findMark(`${path}.of-another`)',
      },
    ],
  },
  {
    name: 'ids are given out again after a database went back',
    fixedBy: '2c06e5fe',
    edits: [{ file: counter, find: '[name, knownIds, skipped]', replace: '[name, 1, skipped * 0]' }],
  },
  {
    name: 'providers are not asked again after a database went back',
    fixedBy: '2c06e5fe',
    edits: [
      {
        file: 'src/app/backup/after-restore.ts',
        find: '  await askAgainAfterRestore(tx)\n',
        replace: '  void askAgainAfterRestore\n',
      },
    ],
  },
]
