import type { Dice } from '../../harness/dice.ts'
import { addressesOf, type Machine } from './net.ts'
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

const one = <Item>(items: readonly Item[], dice: Dice): Item => {
  const item = items[dice(items.length)]
  if (item === undefined) throw new Error('there is nothing to choose from')
  return item
}

function eventsOf(world: FleetWorld, dice: Dice, sold: () => readonly string[]): readonly (() => Event)[] {
  const { net, balancer, troubles } = world
  const ofGateway = (what: string, act: (gateway: Gateway) => Pick<Event, 'begin' | 'end'>) => (): Event => {
    const gateway = one(world.gateways, dice)
    return { what, where: gateway.machine.name, ...act(gateway) }
  }
  const ofMachine = (what: string, act: (machine: Machine) => Pick<Event, 'begin' | 'end'>) =>
    ofGateway(what, ({ machine }) => act(machine))
  const killed = (gateway: Gateway) => ({
    begin: () => {
      troubles.gatewayKills.push(performance.now())
      return gateway.process.kill()
    },
    end: () => gateway.process.start(),
  })
  return [
    ofGateway('gateway killed', killed),
    ofGateway('gateway killed', killed),
    ofGateway('gateway stood still', ({ process }) => ({
      begin: () => process.halt(),
      end: () => process.goOn(),
    })),
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
      const own = sold()
      const address =
        own.length > 0 ? one(own, dice) : one(addressesOf(one(net.prefixesAt(one(net.machines, dice)), dice)), dice)
      return { what: 'address lost', where: address, begin: () => net.lose(address), end: () => net.give(address) }
    },
    () => {
      const shop = one(world.shops, dice)
      return { what: 'shop killed', where: 'shops', begin: () => shop.kill(), end: () => shop.start() }
    },
    () => {
      const from = one(net.machines, dice)
      const prefix = one(net.prefixesAt(from), dice)
      const to = one(
        net.machines.filter((each) => each !== from),
        dice,
      )
      const begin = async () => {
        await net.move(prefix, to)
        await world.tool('stock', 'assign', prefix, '--node', to.name)
        await Bun.sleep(movedWithinMs)
      }
      return { what: 'range moved', where: prefix, begin }
    },
  ]
}

/** Does to gateways, shops, lines and addresses what the dice say, until time is up; then all is as it was. */
export async function blowOverFleet(
  world: FleetWorld,
  dice: Dice,
  forMs: number,
  sold: () => readonly string[],
  say: (line: string) => void,
): Promise<void> {
  const draws = eventsOf(world, dice, sold)
  const endMs = performance.now() + forMs
  // Each kind comes once before any comes twice.
  let left: (() => Event)[] = []
  while (performance.now() < endMs - betweenMs) {
    await Bun.sleep(500 + dice(betweenMs))
    if (left.length === 0) left = [...draws]
    const [draw] = left.splice(dice(left.length), 1)
    if (!draw) break
    const { what, where, begin, end } = draw()
    const lastsMs = drawLasting(dice, forMs)
    const startedMs = performance.now()
    await world.troubles.during(
      what,
      async () => {
        await begin()
        if (end) await Bun.sleep(Math.min(lastsMs, Math.max(1_000, endMs - performance.now())))
        await end?.()
      },
      where,
    )
    say(`  ${what} ${where}, ${((performance.now() - startedMs) / 1000).toFixed(1)} s`)
  }
}

/** Mostly some seconds; now and then longer than it takes until what is away is made good. */
function drawLasting(dice: Dice, forMs: number): number {
  const isLong = dice(4) === 0
  return Math.min(isLong ? 45_000 + dice(45_000) : 2_000 + dice(14_000), forMs / 3)
}
