import { createLog } from '../../src/adapters/log.ts'
import { type Config, readConfig } from '../../src/app/settings/config.ts'
import type { Services } from '../../src/app/shop/services.ts'
import { openShop, type Shop } from '../../src/app/shop/shop.ts'
import { type Caller, createCaller } from './caller.ts'
import { type Engine, makePreparedTestDatabase } from './database.ts'
import { freePort } from './gateway.ts'

/** A shop on real time that can be stopped and started again, on the same data and port. */
export type StoppableShop = Caller & {
  readonly url: string
  readonly services: Services
  readonly config: Config
  stop(): Promise<void>
  /** Starts on its own data, or on another configuration from now on. */
  start(other?: Config): Promise<void>
  /** Stops it and removes its data. */
  remove(): Promise<void>
}

export async function openStoppableShop(engine: Engine, env: Record<string, string> = {}): Promise<StoppableShop> {
  const testDatabase = await makePreparedTestDatabase(engine, 'stocked')
  let config = readConfig({
    TURNPIKE_PORT: String(freePort()),
    TURNPIKE_DATA: testDatabase.folder,
    TURNPIKE_SANDBOX_TOKEN: 'sandbox-token-of-a-test',
    TURNPIKE_RATE_READS: '0',
    TURNPIKE_METRICS_LISTEN: '',
    TURNPIKE_RATE_CHARGES: '0',
    ...(engine === 'postgres' && { TURNPIKE_DATABASE_URL: testDatabase.address }),
    ...env,
  })
  const open = (): Promise<Shop> =>
    openShop(
      config,
      createLog('silent', 'shop', () => {}),
    )
  let shop: Shop | undefined = await open()
  const { url } = shop
  const caller = await createCaller(url, config.sandboxToken ?? '')

  async function stop(): Promise<void> {
    await shop?.stop()
    shop = undefined
  }

  return {
    ...caller,
    url,
    config,
    get services(): Services {
      if (!shop) throw new Error('the shop is closed')
      return shop.services
    },
    stop,
    async start(other = config) {
      config = other
      shop ??= await open()
    },
    async remove() {
      await stop()
      await testDatabase.remove()
    },
  }
}
