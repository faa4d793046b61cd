import type { Dice } from '../harness/dice.ts'
import type { World } from './world.ts'

/** The kinds of faults in a part of the storm. In a clear one there are only attackers. */
export const faultMixes = ['clear', 'shop', 'gateway', 'both'] as const
export type FaultMix = (typeof faultMixes)[number]

type Event = { readonly what: string; readonly happen: (world: World, dice: Dice) => Promise<void> }

const downMs = (dice: Dice): number => 100 + dice(1_500)
const pauseMs = (dice: Dice): number => 500 + dice(2_500)

const shopEvents: readonly Event[] = [
  {
    what: 'shop killed',
    async happen({ shop }, dice) {
      await shop.kill()
      await Bun.sleep(downMs(dice))
      await shop.start()
    },
  },
  {
    what: 'shop stopped and started',
    async happen({ shop }, dice) {
      await shop.stop()
      await Bun.sleep(downMs(dice))
      await shop.start()
    },
  },
  { what: 'shop paused', happen: ({ shop }, dice) => shop.pause(pauseMs(dice)) },
]

const databaseEvents: readonly Event[] = [{ what: 'database crashed', happen: (world) => world.crashDatabase() }]

const gatewayEvents: readonly Event[] = [
  {
    what: 'gateway killed',
    async happen({ gateway, faults }, dice) {
      faults.gatewayKills.push(performance.now())
      await gateway.kill()
      await Bun.sleep(downMs(dice))
      await gateway.start()
    },
  },
  {
    what: 'gateway stopped and started',
    async happen({ gateway }, dice) {
      await gateway.stop()
      await Bun.sleep(downMs(dice))
      await gateway.start()
    },
  },
  { what: 'gateway paused', happen: ({ gateway }, dice) => gateway.pause(pauseMs(dice)) },
]

function eventsOf(faultMix: FaultMix, world: World): readonly Event[] {
  const shop = [...shopEvents, ...(world.engine === 'postgres' ? databaseEvents : [])]
  if (faultMix === 'shop') return shop
  if (faultMix === 'gateway') return gatewayEvents
  return faultMix === 'both' ? [...shop, ...gatewayEvents] : []
}

/** Makes random faults one after another until time is up; then all processes are up again. */
export async function injectFaults(world: World, faultMix: FaultMix, dice: Dice, forMs: number): Promise<void> {
  const events = eventsOf(faultMix, world)
  const endMs = performance.now() + forMs
  const longestGapMs = Math.min(8_000, Math.floor(forMs / 3))
  while (events.length > 0) {
    const gapMs = 700 + dice(longestGapMs)
    if (performance.now() + gapMs > endMs) break
    await Bun.sleep(gapMs)
    const event = events[dice(events.length)]
    if (event) await world.faults.during(event.what, () => event.happen(world, dice))
  }
  await Bun.sleep(Math.max(0, endMs - performance.now()))
  await world.startAll()
}
