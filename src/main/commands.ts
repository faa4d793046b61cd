import { existsSync } from 'node:fs'
import { drawing } from '../adapters/qr-drawing.ts'
import { catalogCommands } from '../cli/catalog.ts'
import { codeCommands } from '../cli/codes.ts'
import type { Command, Given } from '../cli/command.ts'
import { customerCommands, tokenCommands } from '../cli/customers.ts'
import { eventCommands } from '../cli/events.ts'
import { exitCommands } from '../cli/exits.ts'
import { moneyCommands } from '../cli/money.ts'
import { nodeCommands } from '../cli/nodes.ts'
import { orderCommands } from '../cli/orders.ts'
import { paymentProviderCommands } from '../cli/payment-providers.ts'
import { paymentCommands } from '../cli/payments.ts'
import { premiumCommands } from '../cli/premium.ts'
import { proxyCommands } from '../cli/proxies.ts'
import { rangeCommands } from '../cli/ranges.ts'
import { reportCommands } from '../cli/reports.ts'
import { stockCommands } from '../cli/stock.ts'
import { vpnCommands } from '../cli/vpn.ts'
import { migrate, pending } from '../db/migrate.ts'
import type { NewNode } from '../domains/fleet/index.ts'
import type { Adjustment } from '../domains/ledger/index.ts'
import { readPrefix } from '../kernel/address.ts'
import type { CustomerId } from '../kernel/ids.ts'
import { Refusal } from '../kernel/refusal.ts'
import { gatewayCommand } from './node/gateway.ts'
import { vpnNodeCommands } from './node/vpn.ts'
import { configOf, logOf, tellOpened, untilStopped } from './process.ts'
import { type Config, databaseAddress, shopUrl } from './settings/config.ts'
import { openConfigured, readMigrations } from './shop/database.ts'
import { arrangementsOf, createServices, realSurroundings, type Services } from './shop/services.ts'
import { openShop } from './shop/shop.ts'
import { unshownTokenIn } from './shop/unshown-token.ts'
import { openVault } from './shop/vault.ts'
import { upCommand } from './up.ts'

/** The services, and the few actions of an operator that are a transaction of their own. */
function createToolbox(services: Services, config: Config) {
  const { db, fleet, ledger, pricing } = services
  return {
    ...services,
    drawing,
    now: realSurroundings.clock,
    adjust: (customer: CustomerId, wish: Adjustment) => db.transact((tx) => ledger.adjust(tx, customer, wish)),
    shopUrl: shopUrl(config),
    stock: stockWithin(services),
    addNode: (wish: NewNode) => db.transact((tx) => fleet.add(tx, wish)),
    applyCatalogue: (value: unknown) => db.transact((tx) => pricing.apply(tx, value)),
  }
}

/** The stock, to which only what customers could use is added. */
const stockWithin = ({ stock, reach }: Services): Services['stock'] => ({
  ...stock,
  async add(prefix, ...rest) {
    await reach.assertSellable(prefix)
    return stock.add(prefix, ...rest)
  },
  async addAddresses(addresses, ...rest) {
    const all = [...addresses]
    for (const text of all) {
      const prefix = readPrefix(text)
      if (prefix) await reach.assertSellable(prefix)
    }
    return stock.addAddresses(all, ...rest)
  },
})

type Toolbox = ReturnType<typeof createToolbox>

/** Opens the database for one command and closes it after. A schema that is behind is named, not mended in passing. */
async function withServices<Result>(given: Given, work: (services: Toolbox) => Promise<Result>): Promise<Result> {
  const config = configOf(given)
  if (config.databaseUrl === undefined && !existsSync(databaseAddress(config))) {
    throw new Refusal(
      'conflict',
      'conflict',
      `There is no shop in ${config.folder}. "turnpike up" or "turnpike migrate" opens one.`,
    )
  }
  const db = openConfigured(config)
  try {
    const missing = await pending(db, readMigrations())
    if (missing.length > 0) {
      throw new Refusal(
        'conflict',
        'conflict',
        'The database is not ready for this version. Run "turnpike migrate" first.',
      )
    }
    const { vault } = await openVault(config, db)
    return await work(createToolbox(createServices(db, realSurroundings, arrangementsOf(config, vault)), config))
  } finally {
    await db.close()
  }
}

const roleCommands: readonly Command[] = [
  {
    name: 'shop',
    summary: 'Runs the shop: the API, its description and its docs.',
    takes: [],
    options: [],
    async run(given) {
      const config = configOf(given)
      const stopped = untilStopped()
      const shop = await openShop(config, logOf(config, 'shop'))
      if (!tellOpened({ banner: shop.banner })) {
        process.stdout.write(shop.banner)
        unshownTokenIn(config.folder).forget()
      }
      await stopped
      await shop.stop()
      return { json: null, lines: [], exit: 0 }
    },
  },
  {
    name: 'migrate',
    summary: 'Brings the database up to the schema of this version.',
    takes: [],
    options: [],
    async run(given) {
      const db = openConfigured(configOf(given))
      try {
        const applied = await migrate(db, readMigrations())
        const lines = applied.length > 0 ? applied.map((name) => `applied ${name}`) : ['Nothing to do.']
        return { json: { applied }, lines }
      } finally {
        await db.close()
      }
    },
  },
]

/** Every command there is. */
export const commands: readonly Command[] = [
  upCommand,
  ...roleCommands,
  gatewayCommand,
  ...vpnNodeCommands,
  ...customerCommands(withServices),
  ...tokenCommands(withServices),
  ...moneyCommands(withServices),
  ...orderCommands(withServices),
  ...paymentCommands(withServices),
  ...paymentProviderCommands(withServices),
  ...codeCommands(withServices),
  ...reportCommands(withServices),
  ...eventCommands(withServices),
  ...catalogCommands(withServices),
  ...premiumCommands(withServices),
  ...exitCommands(withServices),
  ...nodeCommands(withServices),
  ...vpnCommands(withServices),
  ...proxyCommands(withServices),
  ...stockCommands(withServices),
  ...rangeCommands(withServices),
]
