import { type Service, startService } from '../test/harness/service.ts'
import { buyVpnDirectly, inParallel } from '../test/harness/vpn.ts'
import type { Bench } from './context.ts'
import { ratioRow, timeRow } from './report.ts'
import { type Engine, engineName, engines } from './stage.ts'
import { median } from './statistics.ts'

/** Five devices each: 10,000 devices in total. */
const subscriptions = 2000
const perSubscription = 5
const perRound = 10
const atOnce = 8

/** Adding a device must not read all others: it takes as long with 10,000 devices as with the first ones. */
export const vpnDevices: Bench = {
  name: 'vpn-devices',
  about: 'One more VPN device, in a shop with few devices and in one with 10,000, without HTTP',
  async run({ stage, rounds, say }) {
    const rows = []
    for (const engine of engines) {
      const [few, many] = [await open(engine), await open(engine)]
      stage.atEnd(async () => {
        await few.stop()
        await many.stop()
      })
      say(`vpn-devices: ${subscriptions * perSubscription} devices on ${engineName[engine]}`)
      await inParallel(subscriptions, atOnce, async () => void (await addDevices(many)))
      const times = { few: [] as number[], many: [] as number[] }
      for (let round = 0; round < rounds; round += 1) {
        times.few.push(await measure(few))
        times.many.push(await measure(many))
      }
      rows.push(
        timeRow(`${engineName[engine]}, one of the first`, times.few),
        timeRow(`${engineName[engine]}, after 10,000`, times.many),
        ratioRow(
          `${engineName[engine]}, after 10,000 to one of the first`,
          times.many.map((ms, round) => ms / (times.few[round] ?? Number.NaN)),
          { max: 2 },
        ),
      )
    }
    return rows
  },
}

const open = (engine: Engine): Promise<Service> => startService(engine)

/** Adds devices of a new customer, and returns the time of each after the first. */
async function addDevices(shop: Service): Promise<number[]> {
  const { customer } = await shop.newCustomer(1000n)
  const { view } = await buyVpnDirectly(shop, customer)
  const times: number[] = []
  for (let device = 2; device <= perSubscription; device += 1) {
    const startedAt = performance.now()
    await shop.services.vpn.addDevice(customer, { uuid: view.subscription.uuid })
    times.push(performance.now() - startedAt)
  }
  return times
}

async function measure(shop: Service): Promise<number> {
  const times: number[] = []
  for (let count = 0; count < perRound; count += 1) times.push(...(await addDevices(shop)))
  return median(times)
}
