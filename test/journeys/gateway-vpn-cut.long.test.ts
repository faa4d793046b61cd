import { afterAll, beforeAll, expect, test } from 'bun:test'
import { gatewayProtocols } from '../../src/core/vpn-protocols.ts'
import { opensTunnel } from '../harness/device-protocols.ts'
import { type DeviceStream, openTlsStream } from '../harness/device-stream.ts'
import { type BoughtDevice, keysOfDevice } from '../harness/gateway.ts'
import { KeyClient, vlessHead } from '../harness/key-client.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { openVpnPath, type VpnPath } from '../harness/vpn-path.ts'

/** Longest time from the loss of a slot until the last byte. */
const cutMs = 10_000
const [home, elsewhere] = ['127.0.0.1', '127.0.0.7']

let path: VpnPath
let second: BoughtDevice
beforeAll(async () => {
  path = await openVpnPath()
  await path.entry.shop.services.db.transact((tx) => tx.run('UPDATE vpn_subscriptions SET device_limit = 2'))
})
afterAll(() => path.stop())

/** A tunnel of the first device from an address, which carries a byte and back until it is closed. */
async function openBusy(from: string): Promise<DeviceStream> {
  const { entry } = path
  const line = await openTlsStream(entry.tlsPort, entry.made, from)
  line.send(Buffer.concat([vlessHead(entry.device, entry.echo.spot, 'tcp'), Buffer.from('hello')]))
  expect((await line.read(7)).subarray(2).toString()).toBe('hello')
  const sending = setInterval(() => line.send(Buffer.from('x')), 200)
  void line.closed.then(() => clearInterval(sending))
  return line
}

test('a machine that loses its slot to a device at another gateway loses its tunnel within 10 s, and no other does', async () => {
  const { shop, echo } = path.entry
  const own = await openBusy(home)
  const copied = await openBusy(elsewhere)
  const ownState = { isClosed: false }
  void own.closed.then(() => Object.assign(ownState, { isClosed: true }))
  const { data } = await shop.post('/vpn/devices', {})
  second = await keysOfDevice(shop, data.device.id)
  await untilTrue(async () => {
    const client = await KeyClient.open(path.exitAt.tlsPort, path.exitAt.made, vlessHead(second, echo.spot, 'tcp'))
    client.send('hello')
    const isCarried = (await client.readText(5)) === 'hello'
    client.close()
    return isCarried
  })
  const watch = startStopwatch()
  await copied.closed
  expect(watch.elapsedMs()).toBeLessThan(cutMs)
  expect(ownState.isClosed).toBe(false)
  own.close()
})

test.each([...gatewayProtocols])(
  'a third machine is refused over %s on a limit of two: at an entry, at its exit and through the path',
  async (protocol) => {
    const { entry, exitAt } = path
    const opens = opensTunnel[protocol]
    const atExit = { ...exitAt, echo: entry.echo }
    const forExit = await path.keysForExit(entry.device)
    expect(await opens(entry, entry.device, home)).toBe(true)
    expect(await opens(atExit, second, home)).toBe(true)
    expect(await opens(entry, entry.device, elsewhere)).toBe(false)
    expect(await opens(atExit, entry.device, elsewhere)).toBe(false)
    expect(await opens(entry, forExit, elsewhere)).toBe(false)
    expect(await opens(entry, forExit, home)).toBe(true)
    expect(await opens(atExit, entry.device, home)).toBe(true)
  },
)
