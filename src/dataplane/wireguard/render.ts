import { formatAddress, type Prefix } from '../../core/address.ts'
import type { Difference, WantedPeer } from './diff.ts'

/** An allowed block as `wg` writes it: always with its length, in canonical text, so that texts can be compared. */
export const toAllowed = (prefix: Prefix): string => `${formatAddress(prefix.base)}/${prefix.length}`

/** Well below what Linux takes on one command line (128 KiB is the least it may be set to). */
const mostInCall = 96 * 1024

/**
 * The fewest `wg set` calls that make a difference come true. `wg set` touches the peers that it names and no others;
 * what it is given is public keys and addresses. Those that go come first, so that an address is free before somebody
 * else gets it.
 */
export function toSetCalls(device: string, difference: Difference): string[][] {
  const calls: string[][] = []
  let room = 0
  for (const words of [...difference.remove.map(toRemoval), ...difference.set.map(toSetting)]) {
    const size = words.reduce((sum, word) => sum + word.length + 1, 0)
    if (size > room) {
      calls.push(['wg', 'set', device])
      room = mostInCall
    }
    calls.at(-1)?.push(...words)
    room -= size
  }
  return calls
}

const toRemoval = (publicKey: string): string[] => ['peer', publicKey, 'remove']
const toSetting = (peer: WantedPeer): string[] => ['peer', peer.public_key, 'allowed-ips', peer.allowed.join(',')]

/** Settles the device itself. The private key is read from the standard input: arguments are for everybody to see. */
export const toDeviceCall = (device: string, listenPort: number): string[] => [
  'wg',
  'set',
  device,
  'listen-port',
  String(listenPort),
  'private-key',
  '/dev/stdin',
]
