import { bytesOf, kopecksOf, type Movement, type Purchases } from './books.ts'
import type { Customer } from './customer.ts'
import type { World } from './world.ts'

/** The comparison of a customer's books with the shop's, while the customer is idle. */
export type Settled = {
  readonly problems: readonly string[]
  /** Byte accounts whose bill had to be exact, and those with a gateway kill or a cut line. */
  readonly exact: number
  readonly bounded: number
  readonly unbilledBytes: number
  readonly usedBytes: number
  readonly purchases: Purchases
}

const billWithinMs = 90_000
/** Longer than the gateway's report interval: pending reports have arrived by then. */
const afterwardsMs = 2_500
const attempts = 5

type Shown = { kind: Movement['kind']; amount_rub: number; order_id: string | null }

/** Compares the shop's statement, proxies and traffic with the customer's books. */
export async function settle(customer: Customer, world: World): Promise<Settled> {
  const problems = customer.problems.splice(0)
  const money = await settleMoney(customer)
  problems.push(...money.problems, ...(await settleProxies(customer)))
  const traffic = await settleTraffic(customer, world)
  const { purchases } = money
  return {
    ...traffic,
    purchases,
    problems: [...problems, ...traffic.problems].map((each) => `${customer.name}: ${each}`),
  }
}

/** Automatic renewals run meanwhile: a statement counts if the balance was the same before and after it. */
export async function settleMoney({
  shopper,
  money,
}: Pick<Customer, 'shopper' | 'money'>): Promise<Pick<Settled, 'problems' | 'purchases'>> {
  let problems: string[] = ['the statement was not answered']
  let purchases = money.count([])
  for (let attempt = 0; attempt < attempts && problems.length > 0; attempt += 1) {
    const before = await shopper.get('/balance')
    const shown = await shopper.list<Shown>('/transactions', 'transactions')
    const after = await shopper.get('/balance')
    if (!shown || before.status !== 200 || before.data.balance_rub !== after.data.balance_rub) continue
    const movements = shown.map((each) => ({
      kind: each.kind,
      amount: kopecksOf(each.amount_rub),
      order: each.order_id,
    }))
    const renewals = new Map<string, number>()
    for (const { kind, order } of movements) {
      if (kind !== 'charge' || order === null || money.charged.has(order)) continue
      const { data } = await shopper.get(`/orders/${order}`)
      if (data.action === 'renew') renewals.set(order, data.request.ids[0])
    }
    problems = money.compare(movements, kopecksOf(before.data.balance_rub), renewals)
    purchases = money.count(movements)
  }
  return { problems, purchases }
}

async function settleProxies({ shopper, proxies }: Customer): Promise<string[]> {
  const shown = await shopper.list<{ id: number; exit_ip: string; expires_at: string }>('/dedicated/list', 'proxies')
  if (!shown) return ['the list of proxies was not answered']
  const problems = shown.flatMap((each) => {
    const own = proxies.get(each.id)
    if (!own) return [`proxy ${each.id} was never answered for`]
    if (!own.isSure) return []
    if (own.ip !== each.exit_ip) return [`proxy ${each.id} is at ${each.exit_ip}, not at ${own.ip}`]
    return own.expiresAt === each.expires_at ? [] : [`proxy ${each.id} ends ${each.expires_at}, not ${own.expiresAt}`]
  })
  const there = new Set(shown.map((each) => each.id))
  return [...problems, ...[...proxies.keys()].filter((id) => !there.has(id)).map((id) => `proxy ${id} is lost`)]
}

export async function settleTraffic(
  { shopper, bytes }: Pick<Customer, 'shopper' | 'bytes'>,
  world: Pick<World, 'faults'>,
): Promise<Omit<Settled, 'purchases'>> {
  const kills = world.faults.gatewayKills
  const problems: string[] = []
  const sums = { exact: 0, bounded: 0, unbilledBytes: 0, usedBytes: 0 }
  for (const [name, books] of bytes) {
    const [subuser = '', pool = ''] = name.split(' ')
    const read = async () => {
      const { status, data } = await shopper.get(`/premium/traffic/balance?pool_type=${pool}&subuser_id=${subuser}`)
      return status === 200 ? { used: bytesOf(data.used_gb), purchased: bytesOf(data.purchased_gb) } : undefined
    }
    const giveUpAt = performance.now() + billWithinMs
    let shown = await read()
    while (performance.now() < giveUpAt && (!shown || books.compare(shown.used, kills).problem !== undefined)) {
      await Bun.sleep(200)
      shown = await read()
    }
    if (sums.exact + sums.bounded === 0) await Bun.sleep(afterwardsMs)
    shown = (await read()) ?? shown
    if (!shown) {
      problems.push(`${pool}: what was used was not answered`)
      continue
    }
    const { problem, isExact } = books.compare(shown.used, kills)
    if (problem !== undefined) problems.push(`${pool} of ${subuser}: ${problem}`)
    if (shown.purchased !== books.purchased) {
      problems.push(`${pool} of ${subuser}: ${shown.purchased} bytes were bought, not ${books.purchased}`)
    }
    sums[isExact ? 'exact' : 'bounded'] += 1
    sums.unbilledBytes += books.settle(shown.used)
    sums.usedBytes += shown.used
  }
  return { problems, ...sums }
}
