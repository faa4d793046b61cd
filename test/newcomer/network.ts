import { join } from 'node:path'
import { run } from '../../tools/package/project.ts'
import type { Machine } from './empty-debian.ts'

/** Address of the page that shows the client’s address. It is public, as customers’ destinations are. */
export const pageAddress = '185.12.0.80'

/** Ranges that machines may have addresses of besides 203.0.113.0/24. */
const ranges = ['192.0.2.0/24', '198.51.100.0/24']

/** A network with a web server, which machines can join. */
export type Network = {
  readonly inItsNetwork: readonly string[]
  /** Gives a machine its addresses; the first one has the default route. */
  join(machine: Machine, addresses: readonly string[]): Promise<void>
  end(): Promise<void>
}

export async function openNetwork(): Promise<Network> {
  const program = [process.execPath, join(import.meta.dir, 'internet-worker.ts')]
  const host = Bun.spawn(['setpriv', '--pdeathsig', 'KILL', 'unshare', '--net', ...program], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'ignore',
  })
  await host.stdout.getReader().read()
  const inItsNetwork = ['nsenter', `--target=${host.pid}`, '--net']
  const ip = (into: readonly string[], ...args: readonly string[]) => run([...into, 'ip', ...args], '/')
  await ip(inItsNetwork, 'link', 'set', 'lo', 'up')
  await ip(inItsNetwork, 'link', 'add', 'world', 'type', 'bridge')
  await ip(inItsNetwork, 'link', 'set', 'world', 'up')
  for (const address of ['203.0.113.1/24', `${pageAddress}/32`])
    await ip(inItsNetwork, 'address', 'add', address, 'dev', 'world')
  for (const range of ranges) await ip(inItsNetwork, 'route', 'add', range, 'dev', 'world')
  let count = 0
  return {
    inItsNetwork,
    async join(machine, addresses) {
      count += 1
      const [outside, inside] = [`way${count}`, machine.inItsNetwork]
      const [, target = ''] = /--target=(\d+)/.exec(inside.join(' ')) ?? []
      const ends = ['peer', 'name', outside, 'netns', String(host.pid)]
      await run(['ip', 'link', 'add', 'name', 'eth0', 'netns', target, 'type', 'veth', ...ends], '/')
      await ip(inItsNetwork, 'link', 'set', outside, 'master', 'world', 'up')
      await ip(inside, 'link', 'set', 'eth0', 'up')
      for (const [index, address] of addresses.entries())
        await ip(inside, 'address', 'add', `${address}/${index === 0 ? 24 : 32}`, 'dev', 'eth0')
      for (const range of ranges) await ip(inside, 'route', 'add', range, 'dev', 'eth0')
      await ip(inside, 'route', 'add', 'default', 'via', '203.0.113.1')
    },
    async end() {
      host.kill('SIGKILL')
      await host.exited
    },
  }
}
