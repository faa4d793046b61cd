import type { Dice } from '../../harness/dice.ts'
import { addressesOf, type Machine, rangeOf } from './net.ts'
import type { FleetWorld, Gateway } from './world.ts'

/** What is done, to whom, and what undoes it after a while. */
type Event = {
  readonly what: string
  readonly where: string
  readonly begin: () => Promise<unknown>
  readonly end?: () => Promise<unknown>
}

/** How long after an operator's command a range is carried by its new gateway. */
const movedWithinMs = 15_000
const betweenMs = 4_000
const atOnce = 2

/** Draws what is to be done next; undefined when all that it could be done to is in trouble already. */
type Draw = () => Event | undefined

function drawsOf(
  world: FleetWorld,
  dice: Dice,
  sold: () => readonly string[],
  isBusy: (where: string) => boolean,
): Draw[] {
  const { net, balancer, troubles } = world
  const pick = <Item>(items: readonly Item[]): Item | undefined => items[dice(Math.max(1, items.length))]
  const freeMachines = () => net.machines.filter(({ name }) => !isBusy(name))
  const ofGateway =
    (what: string, act: (gateway: Gateway) => Pick<Event, 'begin' | 'end'>) => (): Event | undefined => {
      const gateway = pick(world.gateways.filter(({ machine }) => !isBusy(machine.name)))
      return gateway && { what, where: gateway.machine.name, ...act(gateway) }
    }
  const ofMachine = (what: string, act: (machine: Machine) => Pick<Event, 'begin' | 'end'>): Draw =>
    ofGateway(what, ({ machine }) => act(machine))
  const killed = ofGateway('gateway killed', ({ process }) => ({
    begin: () => {
      troubles.gatewayKills.push(performance.now())
      return process.kill()
    },
    end: () => process.start(),
  }))
  return [
    killed,
    killed,
    ofGateway('gateway stood still', ({ process }) => ({ begin: () => process.halt(), end: () => process.goOn() })),
    ofMachine('gateway cut from the shops', (machine) => ({
      begin: () => net.cut(machine),
      end: () => net.heal(machine),
    })),
    ofMachine('machine unplugged', (machine) => ({
      begin: () => net.unplug(machine),
      end: () => net.plug(machine),
    })),
    ofMachine('gateway cut from a shop', ({ name }) => ({
      begin: async () => balancer.cut.add(`${name} ${world.shops.length - 1}`),
      end: async () => balancer.cut.delete(`${name} ${world.shops.length - 1}`),
    })),
    () => {
      const address = pick(sold().filter((each) => !isBusy(each) && !isBusy(rangeOf(each))))
      if (address === undefined) return undefined
      return { what: 'address lost', where: address, begin: () => net.lose(address), end: () => net.give(address) }
    },
    () => {
      const shop = isBusy('shops') ? undefined : pick(world.shops)
      return shop && { what: 'shop killed', where: 'shops', begin: () => shop.kill(), end: () => shop.start() }
    },
    () => {
      const [from, to] = freeMachines().toSorted(() => dice(3) - 1)
      const prefix =
        from && pick(net.prefixesAt(from).filter((each) => !isBusy(each) && !addressesOf(each).some(isBusy)))
      if (!to || prefix === undefined) return undefined
      const begin = async () => {
        await net.move(prefix, to)
        await world.tool('stock', 'assign', prefix, '--node', to.name)
        await Bun.sleep(movedWithinMs)
      }
      return { what: 'range moved', where: prefix, begin }
    },
  ]
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
  say: (line: string) => void,
): Promise<void> {
  const busy = new Set<string>()
  const draws = drawsOf(world, dice, sold, (where) => busy.has(where))
  const endMs = performance.now() + forMs
  // Each kind comes once before any comes twice.
  let left: Draw[] = []
  const draw = (): Event | undefined => {
    if (left.length === 0) left = [...draws]
    const [next] = left.splice(dice(left.length), 1)
    return next?.()
  }
  const blow = async (): Promise<void> => {
    while (performance.now() < endMs - betweenMs) {
      await Bun.sleep(500 + dice(betweenMs))
      const event = draw()
      if (!event || busy.has(event.where)) continue
      busy.add(event.where)
      const lastsMs = drawLasting(dice, forMs)
      const startedMs = performance.now()
      await world.troubles.during(event.what, () => happen(event, Math.min(lastsMs, endMs - startedMs)), event.where)
      busy.delete(event.where)
      say(`  ${event.what} ${event.where}, ${((performance.now() - startedMs) / 1000).toFixed(1)} s`)
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
