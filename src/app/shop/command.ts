import type { Command } from '../../cli/command.ts'
import { configOf, logOf, tellOpened, untilStopped } from '../process.ts'
import { openShop, type Shop } from './shop.ts'
import { unshownTokenIn } from './unshown-token.ts'

export const shopCommand: Command = {
  name: 'shop',
  summary: 'Runs the shop: the API, its description and its docs.',
  takes: [],
  options: [],
  async run(given) {
    const config = configOf(given)
    const told: { shop?: Shop } = {}
    const stopped = untilStopped(() => told.shop?.onHangUp)
    const shop = await openShop(config, logOf(config, 'shop'))
    told.shop = shop
    await Promise.race([shop.settled(), stopped])
    const banner = shop.banner()
    const isSandbox = (await shop.services.customers.mode()) === 'sandbox'
    if (!tellOpened({ banner, isSandbox })) {
      process.stdout.write(banner)
      unshownTokenIn(config.folder).forget()
    }
    await stopped
    await shop.stop()
    return { json: null, lines: [], exit: 0 }
  },
}
