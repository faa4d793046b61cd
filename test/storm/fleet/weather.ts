import type { Dice } from '../../harness/dice.ts'
import { addressesOf, rangeOf } from './net.ts'
import type { FleetWorld, Gateway } from './world.ts'

/** All that may happen to a fleet. */
export const fleetTroubles = [
  'gateway killed',
  'gateway stood still',
  'gateway exchanged',
  'gateway cut from the shops',
  'gateway cut from a shop',
  'machine unplugged',
  'address lost',
  'shop killed',
  'shop stood still',
  'range moved',
] as const
export type FleetTrouble = (typeof fleetTroubles)[number]

/** What is done, to whom, and what undoes it after a while. */
type Event = {
  readonly where: string
  /** Nobody may notice it: nothing that fails meanwhile is put down to it. */
  readonly isUnnoticed?: true
  readonly begin: () => Promise<unknown>
  readonly end?: () => Promise<unknown>
}

/** Draws to whom it is done; undefined when all of them are in trouble already. */
type Draw = () => Event | undefined

/** How long after an operator's command a range is carried by its new gateway. */
const movedWithinMs = 15_000
const betweenMs = 4_000
const atOnce = 2

function drawsOf(
  world: FleetWorld,
  dice: Dice,
  sold: () => readonly string[],
  isBusy: (where: string) => boolean,
): Record<FleetTrouble, Draw> {
  const { net, balancer, troubles } = world
  const pick = <Item>(items: readonly Item[]): Item | undefined => items[dice(Math.max(1, items.length))]
  const ofGateway = (act: (gateway: Gateway) => Omit<Event, 'where'>) => (): Event | undefined => {
    const gateway = pick(world.gateways.filter(({ machine }) => !isBusy(machine.name)))
    return gateway && { where: gateway.machine.name, ...act(gateway) }
  }
  const lastShop = world.shops.length - 1
  return {
    'gateway killed': ofGateway(({ process }) => ({
      begin: () => {
        troubles.gatewayKills.push(performance.now())
        return process.kill()
      },
      end: () => process.start(),
    })),
    'gateway stood still': ofGateway(({ process }) => ({ begin: () => process.halt(), end: () => process.goOn() })),
    'gateway exchanged': ofGateway(({ process }) => ({ isUnnoticed: true, begin: () => process.exchange() })),
    'gateway cut from the shops': ofGateway(({ machine }) => ({
      begin: () => net.cut(machine),
      end: () => net.heal(machine),
    })),
    'gateway cut from a shop': ofGateway(({ machine: { name } }) => ({
      begin: async () => balancer.cut.add(`${name} ${lastShop}`),
      end: async () => balancer.cut.delete(`${name} ${lastShop}`),
    })),
    'machine unplugged': ofGateway(({ machine }) => ({
      begin: () => net.unplug(machine),
      end: () => net.plug(machine),
    })),
    'address lost': () => {
      const address = pick(sold().filter((each) => !isBusy(each) && !isBusy(rangeOf(each))))
      if (address === undefined) return undefined
      return { where: address, begin: () => net.lose(address), end: () => net.give(address) }
    },
    'shop killed': () => {
      const shop = isBusy('shops') ? undefined : pick(world.shops)
      return shop && { where: 'shops', begin: () => shop.kill(), end: () => shop.start() }
    },
    'shop stood still': () => {
      const shop = isBusy('shops') ? undefined : pick(world.shops)
      return shop && { where: 'shops', begin: () => shop.halt(), end: () => shop.goOn() }
    },
    'range moved': () => drawMove(world, dice, isBusy),
  }
}

function drawMove(world: FleetWorld, dice: Dice, isBusy: (where: string) => boolean): Event | undefined {
  const { net } = world
  const free = net.machines.filter(({ name }) => !isBusy(name))
  const [from] = free.splice(dice(Math.max(1, free.length)), 1)
  const to = free[dice(Math.max(1, free.length))]
  const ranges = from ? net.prefixesAt(from).filter((each) => !isBusy(each) && !addressesOf(each).some(isBusy)) : []
  const prefix = ranges[dice(Math.max(1, ranges.length))]
  if (!to || prefix === undefined) return undefined
  const begin = async () => {
    await net.move(prefix, to)
    await world.tool('stock', 'assign', prefix, '--node', to.name)
    await Bun.sleep(movedWithinMs)
  }
  return { where: prefix, begin }
}

/**
 * Does to gateways, shops, lines and addresses what the dice say, some things at once, until time is up; then all is as
 * it was.
 */
export async function blowOverFleet(
  world: FleetWorld,
  dice: Dice,
  forMs: number,
  sold: () => readonly string[],
  options: { readonly only?: readonly FleetTrouble[]; readonly say: (line: string) => void },
): Promise<void> {
  const { say, only = fleetTroubles } = options
  const busy = new Set<string>()
  const draws = drawsOf(world, dice, sold, (where) => busy.has(where))
  const endMs = performance.now() + forMs
  // Each kind comes once before any comes twice.
  let left: FleetTrouble[] = []
  const draw = (): FleetTrouble => {
    if (left.length === 0) left = [...only]
    return left.splice(dice(left.length), 1)[0] ?? 'gateway killed'
  }
  const blow = async (): Promise<void> => {
    while (performance.now() < endMs - betweenMs) {
      await Bun.sleep(500 + dice(betweenMs))
      const what = draw()
      const event = draws[what]()
      if (!event || busy.has(event.where)) continue
      busy.add(event.where)
      const lastsMs = drawLasting(dice, forMs)
      const startedMs = performance.now()
      const work = () => happen(event, Math.min(lastsMs, endMs - startedMs))
      if (event.isUnnoticed) await world.troubles.unnoticed(what, work)
      else await world.troubles.during(what, work, event.where)
      busy.delete(event.where)
      say(`  ${what} ${event.where}, ${((performance.now() - startedMs) / 1000).toFixed(1)} s`)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, blow))
}

async function happen({ begin, end }: Event, lastsMs: number): Promise<void> {
  await begin()
  if (!end) return
  await Bun.sleep(Math.max(1_000, lastsMs))
  await end()
}

/** Mostly some seconds; now and then longer than it takes until what is away is made good. */
function drawLasting(dice: Dice, forMs: number): number {
  const isLong = dice(4) === 0
  return Math.min(isLong ? 45_000 + dice(45_000) : 2_000 + dice(14_000), forMs / 3)
}
