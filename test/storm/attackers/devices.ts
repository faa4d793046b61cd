import { devicesPaid } from '../bounds.ts'
import { Shopper } from '../shopper.ts'
import type { OpenAttack } from './attacker.ts'

/** Adds and removes devices of one subscription without end: each takes an address that others then lack. */
export const openDeviceChurn: OpenAttack = async ({ world }) => {
  const { token } = await world.addAccount('churns devices', 10_000n)
  const shopper = new Shopper(world, token)
  const { data: bought } = await shopper.post('/vpn/buy', { period: 1 })
  const addresses = new Set<string>()
  let tried = 0
  return {
    name: 'devices added and removed',
    unit: 'addresses taken beyond its devices',
    everyMs: 150,
    async step() {
      tried += 1
      const added = await shopper.post('/vpn/devices', { uuid: bought.uuid, name: `d${tried}` })
      if (added.status !== 200) {
        await Bun.sleep(Math.min(5_000, added.retryAfterSeconds * 1000))
        return
      }
      addresses.add(/Address = ([\d.]+)/.exec(added.text)?.[1] ?? added.data.device.id)
      await shopper.post('/vpn/devices/remove', { uuid: bought.uuid, device: added.data.device.id })
    },
    count: async () => ({ tried, gained: Math.max(0, addresses.size - devicesPaid) }),
  }
}
