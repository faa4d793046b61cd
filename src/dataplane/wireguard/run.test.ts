import { describe, expect, test } from 'bun:test'
import { findMissing, hasNetAdmin, type Machine, refuseMissing } from './run.ts'

const bare: Machine = {
  platform: 'linux',
  mayChangeNetwork: false,
  hasProgram: () => false,
  kernelHasWireguard: false,
  hasTun: false,
}
const full: Machine = { ...bare, mayChangeNetwork: true, hasProgram: () => true, hasTun: true }

describe('the requirements of a VPN node', () => {
  test('findMissing() lists each missing requirement with its remedy', () => {
    expect(() => refuseMissing(findMissing(bare))).toThrow(
      [
        'This machine cannot be a VPN node yet. Missing:',
        '- the right to change the network (CAP_NET_ADMIN). Run it as root; in a container also with --cap-add NET_ADMIN.',
        '- the program wg, which drives WireGuard. On Debian or Ubuntu: apt-get install wireguard-tools.',
        '- the program ip, which makes and addresses the device. On Debian or Ubuntu: apt-get install iproute2.',
        '- the program nft, which makes the firewall. On Debian or Ubuntu: apt-get install nftables.',
        '- WireGuard: this kernel has none, and the program wireguard-go, which does without, is not there. On Debian or Ubuntu: apt-get install wireguard-go.',
        '- /dev/net/tun, which wireguard-go needs. As root: modprobe tun; in a container: --device /dev/net/tun.',
      ].join('\n'),
    )
  })

  test('findMissing() requires neither wireguard-go nor TUN where the kernel has WireGuard', () => {
    const hasProgram = (name: string) => name !== 'wireguard-go'
    expect(findMissing({ ...full, hasProgram, hasTun: false, kernelHasWireguard: true })).toEqual([])
    expect(findMissing({ ...full, hasProgram })).toHaveLength(1)
    expect(findMissing(full)).toEqual([])
  })

  test('findMissing() requires Linux', () => {
    expect(findMissing({ ...full, platform: 'darwin' }).map((each) => each.what)).toEqual(['Linux'])
  })

  test('hasNetAdmin() reads CAP_NET_ADMIN from the effective capabilities of a process', () => {
    expect(hasNetAdmin('Name:\tbun\nCapEff:\t000001ffffffffff\n')).toBe(true)
    expect(hasNetAdmin('CapEff:\t0000000000001000\n')).toBe(true)
    expect(hasNetAdmin('CapEff:\t000001ffffffefff\n')).toBe(false)
    expect(hasNetAdmin('')).toBe(false)
  })
})
