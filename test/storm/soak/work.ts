import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { verifyAll } from '../storm.ts'
import type { SoakWorld } from './world.ts'

/** What happens to the shop while it sells, one after another. */
export type Happening = { readonly what: string; readonly happen: (number: number) => Promise<string | undefined> }

const downMs = 1_500

/**
 * Kills, orderly restarts and the handover hit the last shop and the last gateway. The first ones run through, so that
 * a slow leak shows.
 */
export function happeningsOf({ fleet, operator, backups }: SoakWorld): readonly Happening[] {
  const gateway = fleet.gateways.at(-1)
  const shop = fleet.shops.at(-1)
  if (!gateway || !shop) throw new Error('there is no fleet')
  const { name } = gateway.machine
  const { faults } = fleet
  const verify = async (): Promise<string | undefined> => {
    const found = await verifyAll(fleet.env)
    return found === 'clean' ? undefined : `verify: ${found}`
  }
  return [
    {
      what: 'gateway killed',
      happen: () =>
        faults.during(
          'gateway killed',
          async () => {
            faults.gatewayKills.push(performance.now())
            await gateway.process.kill()
            await Bun.sleep(downMs)
            await gateway.process.start()
            return undefined
          },
          name,
        ),
    },
    {
      what: 'prices changed',
      happen: async (number) => ((await operator.changePrices(number)) ? undefined : 'the prices were not changed'),
    },
    { what: 'verify', happen: verify },
    {
      what: 'shop killed',
      happen: () =>
        faults.during(
          'shop killed',
          async () => {
            await shop.kill()
            await Bun.sleep(downMs)
            await shop.start()
            return undefined
          },
          'shops',
        ),
    },
    {
      what: 'backup',
      async happen(number) {
        const folder = join(backups, String(number))
        try {
          await fleet.tool('backup', folder)
          return undefined
        } catch (error) {
          return `a backup: ${error instanceof Error ? error.message : String(error)}`
        } finally {
          rmSync(folder, { recursive: true, force: true })
        }
      },
    },
    {
      what: 'gateway exchanged',
      happen: () =>
        faults.unnoticed('gateway exchanged', async () => {
          await gateway.process.takeOver()
          return undefined
        }),
    },
    {
      what: 'shop upgraded',
      happen: () =>
        faults.unnoticed('shop upgraded', async () => {
          // The other shop sells meanwhile, as in an upgrade of one shop after another.
          await shop.stop()
          await shop.start()
          return undefined
        }),
    },
  ]
}
