import { installPackages } from '../test/harness/apt.ts'
import { findObstacle, type Net, netAddresses, openNet } from '../test/harness/netns.ts'
import {
  type Customer,
  makeCustomer,
  makePeers,
  makeSetup,
  openClient,
  openScene,
  startWireguardGo,
} from '../test/harness/vpn-tunnel.ts'
import type { Bench, Context } from './context.ts'
import { alternate, type Peer, ratesOf, ratiosOf } from './measure.ts'
import { type Row, ratioRow, timeRow } from './report.ts'
import { median } from './statistics.ts'

const many = 1000
const byHand = 'two wireguard-go by hand, Mbit/s'
const throughNode = 'through the node, Mbit/s'

/** Real tunnels in network namespaces: the time to apply peers, and the throughput of a node against a manual setup. */
export const vpnNode: Bench = {
  name: 'vpn-node',
  about: `${many} peers applied, one change among them, and a TCP stream to an origin behind the node (iperf3, one stream)`,
  async run(context) {
    const obstacle = await findObstacle()
    if (obstacle !== undefined) throw new Error(`tunnels cannot be tried here: ${obstacle}`)
    return [...(await measurePeers(context)), ...(await measureStream(context))]
  },
}

async function measurePeers({ stage, rounds, say }: Context): Promise<Row[]> {
  const scene = await openScene()
  stage.atEnd(() => scene.net.close())
  const peers = makePeers(many)
  const [one] = peers
  const times = { all: [] as number[], off: [] as number[], on: [] as number[] }
  for (let round = 0; round < rounds; round += 1) {
    await scene.node.ask('replace', { peers: [] })
    times.all.push(await scene.node.ask<number>('replace', { peers }))
    times.off.push(await scene.node.ask<number>('apply', { peers: [{ ...one, state: 'down' }] }))
    times.on.push(await scene.node.ask<number>('apply', { peers: [one] }))
    say(`  round ${round + 1}/${rounds}  ${many} peers: ${times.all.at(-1)?.toFixed(0)} ms`)
  }
  await scene.net.close()
  return [
    timeRow(`${many} peers applied`, times.all, 5_000),
    timeRow('one of them taken away', times.off, 200),
    timeRow('one of them given back', times.on, 200),
  ]
}

/** The same tunnel twice, in equal namespaces, measured in turns. */
async function measureStream(context: Context): Promise<Row[]> {
  if (Bun.which('iperf3') === null) {
    const problem = await installPackages(['iperf3'])
    if (problem !== undefined) throw new Error(`iperf3 is missing, and ${problem}`)
  }
  const { stage, seconds } = context
  const scene = await openScene()
  stage.atEnd(() => scene.net.close())
  const customer = await makeCustomer(0, scene.publicKey)
  await scene.node.ask('replace', { peers: [customer.peer] })
  await openClient(scene.net, 0, customer.config)
  const hand = await openByHand(stage)
  const peers: Peer[] = [
    { name: byHand, measure: async () => ({ perSecond: await stream(hand, seconds) }) },
    { name: throughNode, measure: async () => ({ perSecond: await stream(scene.net, seconds) }) },
  ]
  for (const net of [hand, scene.net]) await serveStreams(net)
  for (const peer of peers) await peer.measure()
  const taken = await alternate(peers, context.rounds, context.say)
  return [
    megabitRow(byHand, ratesOf(taken, byHand)),
    megabitRow(throughNode, ratesOf(taken, throughNode)),
    ratioRow('through the node, of what it is by hand', ratiosOf(taken, throughNode, byHand), { min: 0.95 }),
  ]
}

const megabitRow = (what: string, rates: readonly number[]): Row => ({
  what: what.replace(', Mbit/s', ''),
  figure: `${Math.round(median(rates))} Mbit/s`,
  rounds: rates,
})

/** A manual setup: a device, its peer, forwarding, and one masquerading rule. */
async function openByHand(stage: Context['stage']): Promise<Net> {
  const net = await openNet()
  stage.atEnd(() => net.close())
  const { setup, publicKey } = await makeSetup()
  const customer: Customer = await makeCustomer(0, publicKey)
  const device = `h${net.tag}`
  await startWireguardGo(net, net.node, device)
  const inNode = (command: string, input?: string) => net.inside(net.node, command.split(' '), input)
  await inNode(`wg set ${device} listen-port ${setup.listen_port} private-key /dev/stdin`, setup.private_key)
  await inNode(`wg set ${device} peer ${customer.peer.public_key} allowed-ips ${customer.peer.allowed.join(',')}`)
  for (const address of setup.addresses) await inNode(`ip address add ${address} dev ${device}`)
  await inNode(`ip link set dev ${device} mtu ${setup.mtu} up`)
  await inNode('sysctl -q -w net.ipv4.ip_forward=1')
  const rule = 'type nat hook postrouting priority srcnat; ip saddr 10.66.0.0/16 masquerade'
  await inNode('nft -f -', `table ip hand {\n chain leaving { ${rule}; }\n}\n`)
  await openClient(net, 0, customer.config)
  return net
}

async function serveStreams(net: Net): Promise<void> {
  const child = Bun.spawn(['ip', 'netns', 'exec', net.origin, 'setpriv', '--pdeathsig', 'KILL', 'iperf3', '-s'], {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'ignore',
  })
  net.atEnd(async () => {
    child.kill()
    await child.exited
  })
  await Bun.sleep(200)
}

/** Megabits per second to the customer. */
async function stream(net: Net, seconds: number): Promise<number> {
  const args = ['iperf3', '-c', netAddresses.origin4, '-R', '-J', '-t', String(seconds)]
  const answer = JSON.parse(await net.inside(net.clients[0], args)) as {
    end: { sum_received: { bits_per_second: number } }
  }
  return answer.end.sum_received.bits_per_second / 1e6
}
