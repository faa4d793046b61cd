import { shipped } from '../../harness/proxies.ts'
import type { FleetWorld } from '../fleet/world.ts'
import { type ShopAnswer, Shopper } from '../shopper.ts'

/** What operators look at during a day. */
const pages = [
  '/overview',
  '/orders?limit=50',
  '/customers?limit=50',
  '/search?q=honest-1',
  '/payments?limit=50',
  '/reports/days?days=30',
  '/stock/ranges',
  '/nodes',
  '/activity?limit=50',
  '/alerts',
] as const

/** The operator of the shop, over HTTP. */
export class Operator {
  readonly problems: string[] = []
  reads = 0
  private readonly shopper: Shopper

  private constructor(world: FleetWorld, token: string) {
    this.shopper = new Shopper(world, token, '/admin/v1')
  }

  static async open(world: FleetWorld): Promise<Operator> {
    const token = await world.operate(async ({ db, operators }) => {
      await db.transact((tx) => operators.add(tx, 'soak', 'owner'))
      return operators.issueToken('soak', { name: 'soak', expiresAt: null })
    })
    return new Operator(world, token.text)
  }

  post(path: string, body: unknown, key?: string): Promise<ShopAnswer> {
    return this.shopper.post(path, body, { ...(key !== undefined && { key }) })
  }

  /** Reads the next page. A fault is a problem; a shop that does not answer is not. */
  async read(): Promise<void> {
    const page = pages[this.reads % pages.length] ?? '/overview'
    this.reads += 1
    const { status, text } = await this.shopper.get(page)
    if (status >= 400 && status !== 502 && status !== 503) this.problems.push(`GET ${page}: ${text.slice(0, 200)}`)
  }

  /** The prices of all dedicated proxies go up and down. */
  async changePrices(number: number): Promise<boolean> {
    const catalogue = shipped()
    for (const kind of Object.values(catalogue.dedicated.kinds)) {
      for (const country of Object.values(kind.countries)) country.per_day = 5 + (number % 2)
    }
    const answer = await this.post('/catalogue/apply', { catalogue })
    if (answer.status === 400) this.problems.push(`a price list: ${answer.text.slice(0, 200)}`)
    return answer.status === 200
  }
}
