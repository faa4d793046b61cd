import { afterEach, describe, expect } from 'bun:test'
import { existsSync } from 'node:fs'
import { netAddresses } from '../harness/netns.ts'
import { findNetnsSupport } from '../harness/netns-support.ts'
import { isLong } from '../harness/scale.ts'
import {
  type Client,
  type Customer,
  makeCustomer,
  openClient,
  openNode,
  openScene,
  type Scene,
  until,
} from '../harness/vpn-tunnel.ts'

const { test } = await findNetnsSupport()

const endless = 1_000_000_000
type Transfer = { bytes: number; isDone: boolean; problem: string | null }

describe('a restart of a VPN node', () => {
  let scene: Scene | undefined
  afterEach(async () => {
    await scene?.net.close()
    scene = undefined
  })

  const transferOf = (client: Client) => client.worker.ask<Transfer>('transfer')

  /** A customer with an open download, slow enough to last. */
  async function openDownload(): Promise<{ here: Scene; customer: Customer; client: Client }> {
    const here = await openScene()
    scene = here
    const made = await makeCustomer(0, here.publicKey)
    const customer = { ...made, peer: { ...made.peer, speed_mbit: 20 } }
    await here.node.ask('replace', { peers: [customer.peer] })
    const client = await openClient(here.net, 0, customer.config)
    await client.worker.ask('receive', { url: `http://${netAddresses.origin4}/bytes?count=${endless}` })
    await until('the download', async () => (await transferOf(client)).bytes > 0)
    return { here, customer, client }
  }

  /** Packets of the origin arrive while no node runs. */
  const untilOriginSends = async ({ net }: Scene): Promise<void> => {
    const packets = async () => Number(await net.inside(net.node, ['cat', '/sys/class/net/w0/statistics/rx_packets']))
    const before = await packets()
    await until('packets of the origin', async () => (await packets()) > before)
  }

  const untilMore = async (client: Client): Promise<void> => {
    const { bytes } = await transferOf(client)
    await until('more bytes', async () => {
      const now = await transferOf(client)
      return now.isDone || now.bytes > bytes + 1_000_000
    })
    expect(await transferOf(client)).toMatchObject({ isDone: false, problem: null })
  }

  test('a download continues after a restart, and the client need not begin a handshake', async () => {
    const { here, customer, client } = await openDownload()
    await here.net.inside(here.net.node, ['nft', '-f', '-'], dropInitiations(here.setup.listen_port))
    await here.node.ask('close', { restarts: true })
    await untilOriginSends(here)
    const clientAddress = '172.30.1.2'
    const sessions = `/var/run/wireguard/${here.deviceName}.sessions`
    expect(await Bun.file(sessions).text()).toContain(clientAddress)
    await openNode(here)
    expect(existsSync(sessions)).toBe(false)
    const files = new Bun.Glob('**/*').scan({ cwd: here.folder, absolute: true, dot: true })
    for await (const path of files) expect(await Bun.file(path).text()).not.toContain(clientAddress)
    await here.node.ask('replace', { peers: [customer.peer] })
    await untilMore(client)
    expect(await client.worker.ask<string>('fetch', { url: `http://${netAddresses.origin4}/who` })).toBe(
      netAddresses.node4,
    )
  })

  if (isLong) {
    // The client repeats its handshake after 15 s.
    test('a download continues after `kill -9` of the node', async () => {
      const { here, customer, client } = await openDownload()
      await here.node.kill()
      await untilOriginSends(here)
      const node = await here.net.start(here.net.node)
      await openNode({ ...here, node })
      await node.ask('replace', { peers: [customer.peer] })
      await untilMore(client)
    })
  }
})

/** A client begins a handshake with a message of type 1 (wireguard.com/protocol). */
const dropInitiations = (port: number): string => `
table inet test_initiations {
  chain input {
    type filter hook input priority filter; policy accept;
    udp dport ${port} @th,64,8 1 drop
  }
}
`
