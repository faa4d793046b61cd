import { afterAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { enginesOf, makePreparedTestDatabase, type TestDatabase } from '../harness/database.ts'
import { isLong } from '../harness/scale.ts'
import { serveStockOf } from '../harness/stock-gateway.ts'
import { endStarted, type Running, runCommand, startTurnpike, testDatabaseEnv } from '../harness/turnpike.ts'

const cycles = isLong ? 50 : 1
const clients = 8
const token = 'kill-test-token'

type Request = { readonly path: string; readonly body: unknown; readonly key: string }
type Done = Request & { readonly text: string }

/** A shop process, started as an operator does, whose data folder survives the process. */
class Shop {
  private constructor(
    private readonly running: Running,
    readonly url: string,
  ) {}

  static async start(env: Record<string, string>): Promise<Shop> {
    const running = startTurnpike(['shop'], env)
    const [, url = ''] = await running.until(/open at (http\S+)/)
    return new Shop(running, url)
  }

  /** Sends SIGKILL to the runtime: the child of the launcher where Node could not replace itself by it. */
  async kill(): Promise<void> {
    const { pid } = this.running
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
    process.kill(children === '' ? pid : Number(children.split(' ')[0]), 'SIGKILL')
    await this.running.exited
  }

  async post({ path, body, key }: Request): Promise<{ status: number; text: string }> {
    const response = await fetch(`${this.url}/api/v1${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', 'Idempotency-Key': key },
      body: JSON.stringify(body),
    })
    return { status: response.status, text: await response.text() }
  }

  // oxlint-disable-next-line typescript/no-explicit-any
  async get(path: string): Promise<any> {
    const response = await fetch(`${this.url}/api/v1${path}`, { headers: { Authorization: `Bearer ${token}` } })
    return ((await response.json()) as { data: unknown }).data
  }
}

/** What the clients know: the acknowledged answers, and the requests whose outcome is unknown. */
class Books {
  readonly done = new Map<string, Done>()
  doubtful: Request[] = []
  readonly proxies: number[] = []
  private count = 0

  next(): Request {
    this.count += 1
    const key = `request-${this.count}`
    const some = this.proxies[Math.floor(Math.random() * this.proxies.length)]
    if (this.count % 3 === 0 && some !== undefined) {
      return { path: '/dedicated/prolong', body: { ids: [some], period: 3 }, key }
    }
    const ipv = [3, 4, 6, 6][this.count % 4]
    const body = { country_code: ipv === 6 ? 'US' : 'DE', period: 7, count: 1 + (this.count % 2), ipv }
    return { path: '/dedicated/buy', body, key }
  }

  enter(request: Request, answer: { status: number; text: string }): void {
    // Stock runs out in the end. A refusal has no effect and needs no check.
    if (answer.status === 409 && answer.text.includes('out_of_stock')) return
    expect({ status: answer.status, text: answer.text }).toEqual({ status: 200, text: answer.text })
    this.done.set(request.key, { ...request, text: answer.text })
    const { data } = JSON.parse(answer.text) as { data: { proxies?: { id: number }[] } }
    this.proxies.push(...(data.proxies ?? []).map((each) => each.id))
  }
}

/** Buys and prolongs with 8 clients; kills the shop after `answers` answers, while requests are open. */
async function loadUntilKilled(shop: Shop, books: Books, answers: number): Promise<void> {
  const state = { alive: true }
  const answered = { count: 0 }
  const enough = Promise.withResolvers<void>()
  const client = async () => {
    while (state.alive) {
      const request = books.next()
      const answer = await shop.post(request).catch(() => undefined)
      if (answer) books.enter(request, answer)
      else books.doubtful.push(request)
      answered.count += 1
      if (answered.count >= answers) enough.resolve()
    }
  }
  const all = Array.from({ length: clients }, client)
  await Promise.race([enough.promise, Promise.all(all)])
  state.alive = false
  await shop.kill()
  await Promise.all(all)
}

/** Repeats the requests without an answer, and 15 answered ones, which must be replayed byte for byte. */
async function settle(shop: Shop, books: Books): Promise<void> {
  for (const request of books.doubtful) books.enter(request, await shop.post(request))
  books.doubtful = []
  for (const known of [...books.done.values()].slice(-15)) {
    expect(await shop.post(known)).toEqual({ status: 200, text: known.text })
  }
}

/** Every acknowledged purchase exists, no other does, and balance and proxies agree with them. */
async function checkBooks(shop: Shop, books: Books): Promise<void> {
  const orders = new Map<string, number>()
  for (let cursor = ''; ; ) {
    const page = await shop.get(`/orders?limit=500${cursor === '' ? '' : `&cursor=${cursor}`}`)
    for (const order of page.orders) orders.set(order.order_id ?? order.id, Math.round(order.price_rub * 100))
    if (page.next_cursor === null) break
    cursor = page.next_cursor
  }
  const acknowledged = [...books.done.values()].map(
    (each) => (JSON.parse(each.text) as { data: { order_id: string } }).data.order_id,
  )
  expect(acknowledged.filter((id) => !orders.has(id))).toEqual([])
  expect(orders.size).toBe(new Set(acknowledged).size)
  const { balance_rub, api_spent_rub } = await shop.get('/balance')
  const spent = [...orders.values()].reduce((sum, each) => sum + each, 0)
  expect(Math.round(api_spent_rub * 100)).toBe(spent)
  expect(Math.round(balance_rub * 100)).toBe(1_010_000_000 - spent)
  const held = new Set<number>()
  for (let cursor = ''; ; ) {
    const page = await shop.get(`/dedicated/list?limit=500${cursor === '' ? '' : `&cursor=${cursor}`}`)
    for (const proxy of page.proxies) held.add(proxy.id)
    if (page.next_cursor === null) break
    cursor = page.next_cursor
  }
  expect(held).toEqual(new Set(books.proxies))
}

const envOf = (testDatabase: TestDatabase): Record<string, string> => ({
  ...testDatabaseEnv(testDatabase),
  TURNPIKE_PORT: '0',
  TURNPIKE_RATE_READS: '0',
  TURNPIKE_RATE_CHARGES: '0',
  TURNPIKE_SANDBOX_TOKEN: token,
  TURNPIKE_LOG: 'error',
})

afterAll(endStarted)

describe.each([...enginesOf('postgres')])('SIGKILL of a shop during purchases on %s', (engine) => {
  test(`a shop killed by SIGKILL ${cycles} times replays every acknowledged purchase; verify finds nothing`, async () => {
    const testDatabase = await makePreparedTestDatabase(engine, 'stocked')
    const env = envOf(testDatabase)
    const books = new Books()
    let shop = await Shop.start(env)
    await serveStockOf(testDatabase)
    const [customer] = JSON.parse((await runCommand(['customer', 'list', '--json'], env)).out).items
    expect((await runCommand(['credit', customer.customer_id, '10000000'], env)).exit).toBe(0)
    for (let cycle = 1; cycle <= cycles; cycle += 1) {
      await loadUntilKilled(shop, books, isLong ? 1 + Math.floor(Math.random() * 60) : 12)
      shop = await Shop.start(env)
      await settle(shop, books)
      if (cycle % 10 !== 0 && cycle !== cycles) continue
      await checkBooks(shop, books)
      const verified = await runCommand(['verify'], env)
      expect({ exit: verified.exit, output: verified.out + verified.err }).toMatchObject({ exit: 0 })
    }
    expect(books.done.size).toBeGreaterThan(cycles)
    await shop.kill()
    await testDatabase.remove()
  }, 1_800_000)
})
