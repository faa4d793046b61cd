import type { Dice } from '../../harness/dice.ts'
import { addressesOf, rangeOf } from './net.ts'
import type { FleetWorld, Gateway } from './world.ts'

/** All faults of a fleet. */
export const fleetFaults = [
  'gateway killed',
  'gateway paused',
  'gateway exchanged',
  'gateway cut from the shops',
  'gateway cut from a shop',
  'machine unplugged',
  'address lost',
  'shop killed',
  'shop paused',
  'range moved',
] as const
export type FleetFault = (typeof fleetFaults)[number]

/** A fault, its site, and its end after a while. */
type Event = {
  readonly where: string
  /** The fault must have no effect: a failure during it is not excused. */
  readonly isUnnoticed?: true
  readonly begin: () => Promise<unknown>
  readonly end?: () => Promise<unknown>
}

/** Draws the site of a fault; undefined if all sites have one already. */
type Draw = () => Event | undefined

/** The time until a moved range is served by its new gateway. */
const movedWithinMs = 15_000
const betweenMs = 4_000
const atOnce = 2

function drawsOf(
  world: FleetWorld,
  dice: Dice,
  sold: () => readonly string[],
  isBusy: (where: string) => boolean,
): Record<FleetFault, Draw> {
  const { net, balancer, faults } = world
  const pick = <Item>(items: readonly Item[]): Item | undefined => items[dice(Math.max(1, items.length))]
  const ofGateway = (act: (gateway: Gateway) => Omit<Event, 'where'>) => (): Event | undefined => {
    const gateway = pick(world.gateways.filter(({ machine }) => !isBusy(machine.name)))
    return gateway && { where: gateway.machine.name, ...act(gateway) }
  }
  const lastShop = world.shops.length - 1
  return {
    'gateway killed': ofGateway(({ process }) => ({
      begin: () => {
        faults.gatewayKills.push(performance.now())
        return process.kill()
      },
      end: () => process.start(),
    })),
    'gateway paused': ofGateway(({ process }) => ({ begin: () => process.halt(), end: () => process.resume() })),
    'gateway exchanged': ofGateway(({ process }) => ({ isUnnoticed: true, begin: () => process.takeOver() })),
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
      return { where: address, begin: () => net.lose(address), end: () => net.restore(address) }
    },
    'shop killed': () => {
      const shop = isBusy('shops') ? undefined : pick(world.shops)
      return shop && { where: 'shops', begin: () => shop.kill(), end: () => shop.start() }
    },
    'shop paused': () => {
      const shop = isBusy('shops') ? undefined : pick(world.shops)
      return shop && { where: 'shops', begin: () => shop.halt(), end: () => shop.resume() }
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
 * Makes random faults of gateways, shops, links and addresses, some in parallel, until time is up; then all are
 * repaired.
 */
export async function injectFleetFaults(
  world: FleetWorld,
  dice: Dice,
  forMs: number,
  sold: () => readonly string[],
  options: { readonly only?: readonly FleetFault[]; readonly print: (line: string) => void },
): Promise<void> {
  const { print, only = fleetFaults } = options
  const busy = new Set<string>()
  const draws = drawsOf(world, dice, sold, (where) => busy.has(where))
  const endMs = performance.now() + forMs
  // Each kind occurs once before any occurs twice.
  let left: FleetFault[] = []
  const draw = (): FleetFault => {
    if (left.length === 0) left = [...only]
    return left.splice(dice(left.length), 1)[0] ?? 'gateway killed'
  }
  const injectFaults = async (): Promise<void> => {
    while (performance.now() < endMs - betweenMs) {
      await Bun.sleep(500 + dice(betweenMs))
      const what = draw()
      const event = draws[what]()
      if (!event || busy.has(event.where)) continue
      busy.add(event.where)
      const lastsMs = drawLasting(dice, forMs)
      const startedMs = performance.now()
      const work = () => happen(event, Math.min(lastsMs, endMs - startedMs))
      if (event.isUnnoticed) await world.faults.unnoticed(what, work)
      else await world.faults.during(what, work, event.where)
      busy.delete(event.where)
      print(`  ${what} ${event.where}, ${((performance.now() - startedMs) / 1000).toFixed(1)} s`)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, injectFaults))
}

async function happen({ begin, end }: Event, lastsMs: number): Promise<void> {
  await begin()
  if (!end) return
  await Bun.sleep(Math.max(1_000, lastsMs))
  await end()
}

/** Mostly some seconds; sometimes longer than the time until an outage is compensated. */
function drawLasting(dice: Dice, forMs: number): number {
  const isLong = dice(4) === 0
  return Math.min(isLong ? 45_000 + dice(45_000) : 2_000 + dice(14_000), forMs / 3)
}
