import { kopecks } from '../../../src/core/money.ts'
import { kopecksOf } from '../books.ts'
import { Shopper } from '../shopper.ts'
import { type OpenAttack, retryWhileDown } from './attacker.ts'

type ShownOrder = { order_id: string; action: string; price_rub: number; request: { count?: number } }
type Shown = { kind: string; amount_rub: number; order_id: string | null }

/** Sends one key many times at once and with other bodies: at most one order per key, and no unpaid proxy. */
export const openRepeatedKeys: OpenAttack = async ({ world }) => {
  const { token } = await world.addAccount('repeats keys', 1_000_000n)
  const shopper = new Shopper(world, token)
  const used = new Set<string>()
  let tried = 0
  let replacedAnswers = 0
  return {
    name: 'repeated keys',
    unit: 'orders and proxies beyond one purchase a key',
    everyMs: 2_000,
    async step() {
      const key = `k${tried}`
      const body = (count: number) => ({ country_code: 'NL', period: 3, count, ipv: 6 })
      const requests = [1, 1, 1, 2, 2, 3].map((count) => shopper.post('/dedicated/buy', body(count), { key }))
      const answers = await Promise.all(requests)
      tried += requests.length
      used.add(key)
      const texts = new Set(answers.filter((each) => each.status === 200).map((each) => each.text))
      replacedAnswers += Math.max(0, texts.size - 1)
    },
    async count() {
      const orders = (await shopper.list<ShownOrder>('/orders', 'orders')) ?? []
      const proxies = (await shopper.list<{ id: number }>('/dedicated/list', 'proxies')) ?? []
      const paid = orders.reduce((sum, each) => sum + (each.request.count ?? 0), 0)
      const beyond = Math.max(0, orders.length - used.size)
      const unpaid = Math.abs(proxies.length - paid)
      return { tried, gained: beyond + unpaid + replacedAnswers, note: `${orders.length} orders` }
    },
  }
}

/** Eight purchases at once with money for three. */
export const openOverdraft: OpenAttack = async ({ world }) => {
  const account = await world.addAccount('overdraws', 0n)
  const shopper = new Shopper(world, account.token)
  const price = 1_800n
  let tried = 0
  let credited = 0n
  return {
    name: 'overdraft',
    unit: 'kopecks',
    everyMs: 4_000,
    async step() {
      const amount = kopecks(3n * price)
      await world.operate(({ db, ledger }) =>
        db.transact((tx) => ledger.credit(tx, account.customer, amount, 'operator', 'a storm')),
      )
      credited += amount
      const body = { country_code: 'DE', period: 3, count: 20, ipv: 6 }
      await Promise.all(
        Array.from({ length: 8 }, (_, n) => shopper.post('/dedicated/buy', body, { key: `o${tried + n}` })),
      )
      tried += 8
    },
    async count() {
      const movements = (await shopper.list<Shown>('/transactions', 'transactions')) ?? []
      const { data } = await shopper.get('/balance')
      const sum = (kind: string) =>
        movements.filter((each) => each.kind === kind).reduce((total, each) => total + kopecksOf(each.amount_rub), 0n)
      const spent = -sum('charge')
      const proxies = (await shopper.list<{ id: number }>('/dedicated/list', 'proxies')) ?? []
      const orders = (await shopper.list<ShownOrder>('/orders', 'orders')) ?? []
      const unpaid = Math.max(0, proxies.length - orders.length * 20)
      const over = spent - sum('credit')
      const below = -kopecksOf(data.balance_rub)
      const gained = Number(over > below ? over : below) + unpaid
      return { tried, gained: Math.max(0, gained), note: `${spent} of ${credited} spent` }
    },
  }
}

/** A token with a small cap enables automatic renewal of proxies for 90 days. */
export const openCapPasser: OpenAttack = async ({ world }) => {
  const account = await world.addAccount('passes its cap', 100_000n)
  const capRoubles = 1_000n
  const { text: capped } = await world.operate(({ customers }) =>
    customers.issueToken(account.customer, { name: 'capped', cap: kopecks(capRoubles * 100n) }),
  )
  const shopper = new Shopper(world, account.token)
  const statuses: Record<string, number> = {}
  let tried = 0
  return {
    name: 'cap passed by renewals',
    unit: 'kopecks',
    everyMs: 5_000,
    async step() {
      const bought = await shopper.post('/dedicated/buy', { country_code: 'FR', period: 1, count: 1, ipv: 4 })
      if (bought.status !== 200) return
      const body = { ids: [bought.data.proxies[0].id], period: 90 }
      const { status } = await shopper.post('/dedicated/auto-renew', body, { token: capped })
      statuses[status] = (statuses[status] ?? 0) + 1
      tried += 1
    },
    async count() {
      const orders = (await shopper.list<ShownOrder>('/orders', 'orders')) ?? []
      const renewed = orders.filter((each) => each.action === 'renew')
      const spent = renewed.reduce((sum, each) => sum + kopecksOf(each.price_rub), 0n)
      const beyond = spent - capRoubles * 100n
      const note = `${renewed.length} renewals for ${spent}; asked for them: ${JSON.stringify(statuses)}`
      return { tried, gained: Math.max(0, Number(beyond)), note }
    },
  }
}

/** A purchase whose body arrives slowly; meanwhile the token is revoked, or the customer blocked. */
export const openDripper: OpenAttack = async ({ world, dice }) => {
  const account = await world.addAccount('drips', 100_000n)
  const port = Number(new URL(world.url).port)
  const { RawClient } = await import('../../harness/raw-client.ts')
  const statuses: Record<string, number> = {}
  const offMs = 1_200
  let tried = 0
  let bought = 0
  return {
    name: 'access revoked within the body',
    unit: 'purchases',
    everyMs: 3_000,
    async step() {
      const { text: token, token: made } = await world.operate(({ customers }) =>
        customers.issueToken(account.customer, { name: 'drips' }),
      )
      const client = await RawClient.open(port)
      const body = JSON.stringify({ country_code: 'US', period: 7, count: 1, ipv: 4 })
      client.send(
        `POST /api/v1/dedicated/buy HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n` +
          `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 10)}`,
      )
      const blocks = dice(2) === 0
      const setBlocked = (blocked: boolean) =>
        world.operate((services) => services.setBlocked(account.customer, blocked))
      if (blocks) await setBlocked(true)
      else await world.operate(({ customers }) => customers.revokeToken(made.id))
      await Bun.sleep(offMs)
      client.send(body.slice(10))
      await client.readUntil((text) => text.includes('\r\n\r\n'))
      const status = /^HTTP\/1\.1 (\d+)/.exec(client.text)?.[1] ?? 'none'
      client.reset()
      if (blocks) await retryWhileDown(() => setBlocked(false))
      tried += 1
      statuses[status] = (statuses[status] ?? 0) + 1
      if (status === '200') bought += 1
    },
    count: async () => ({ tried, gained: bought, note: JSON.stringify(statuses) }),
  }
}
