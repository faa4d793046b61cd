import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '../../tools/package/project.ts'
import type { Machine } from './empty-debian.ts'

/** Addresses of the page that shows the client’s address. They are public, as customers’ destinations are. */
export const pageAddress = '185.12.0.80'
export const pageAddress6 = '2a00:dead::80'

export const acmeDirectory = 'https://acme.example.net:14000/dir'

/** The place of a machine in the network. */
type Place = {
  /** Last number of its addresses on the link (192.0.2.0/24, 2001:db8::/64) and in the private network 10.0.0.0/24. */
  readonly link: number
  readonly inside: number
  /** Addresses on its device, and ranges that are routed to it. */
  readonly addresses?: readonly string[]
  readonly ranges?: readonly string[]
}

/** A network with a web server, a name server and an ACME authority, which machines can join. */
export type Network = {
  readonly inItsNetwork: readonly string[]
  /** Certificates of the authority: of its own address, and the root of those that it issues. */
  readonly certificates: string
  join(machine: Machine, place: Place): Promise<void>
  /** Lets names resolve to addresses, beside those that do already. */
  setNames(names: Readonly<Record<string, string>>): void
  end(): Promise<void>
}

export async function openNetwork(): Promise<Network> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-internet-'))
  const names: Record<string, string> = {}
  const setNames = (more: Readonly<Record<string, string>>): void =>
    writeFileSync(join(folder, 'names.json'), JSON.stringify(Object.assign(names, more)))
  setNames({ 'acme.example.net': '192.0.2.1' })
  const program = [process.execPath, join(import.meta.dir, 'internet-worker.ts'), folder]
  // The network forwards between its machines.
  const prepare =
    'ip link set lo up; for each in ipv4/ip_forward ipv6/conf/all/forwarding; do echo 1 >/proc/sys/net/$each; done'
  const apart = ['setpriv', '--pdeathsig', 'KILL', 'unshare', '--net', 'sh', '-c', `${prepare}; exec "$@"`, 'sh']
  const host = Bun.spawn([...apart, ...program], { stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' })
  const { done } = await host.stdout.getReader().read()
  if (done) throw new Error('the network did not open')
  const inItsNetwork = ['nsenter', `--target=${host.pid}`, '--net']
  const ip = (into: readonly string[], line: string) => run([...into, 'ip', ...line.split(' ')], '/')
  await ip(inItsNetwork, 'link add world type bridge')
  await ip(inItsNetwork, 'link set world up')
  for (const address of ['192.0.2.1/24', '2001:db8::1/64', `${pageAddress}/32`, `${pageAddress6}/128`])
    await ip(inItsNetwork, `address add ${address} dev world`)
  return {
    inItsNetwork,
    certificates: readFileSync(join(folder, 'ca.pem'), 'utf8'),
    setNames,
    async join(machine, { link, inside, addresses = [], ranges = [] }) {
      const [, target = ''] = /--target=(\d+)/.exec(machine.inItsNetwork.join(' ')) ?? []
      const here = (line: string) => ip(machine.inItsNetwork, line)
      const outside = `way${link}`
      await ip([], `link add name eth0 netns ${target} type veth peer name ${outside} netns ${host.pid}`)
      await ip(inItsNetwork, `link set ${outside} master world up`)
      await here('link set eth0 up')
      for (const address of [`192.0.2.${link}/24`, `10.0.0.${inside}/24`, ...addresses.map((each) => `${each}/32`)])
        await here(`address add ${address} dev eth0`)
      await here(`address add 2001:db8::${link}/64 dev eth0 nodad`)
      await here('route add default via 192.0.2.1')
      await here('route add default via 2001:db8::1')
      for (const range of [...addresses, ...ranges])
        await ip(inItsNetwork, `route add ${range} via ${range.includes(':') ? '2001:db8::' : '192.0.2.'}${link}`)
    },
    async end() {
      host.kill('SIGKILL')
      await host.exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
