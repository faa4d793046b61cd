import { describe, expect, test } from 'bun:test'
import { type Address, addressFromNumber, addressToNumber, readAddress, readPrefix } from '../../../core/address.ts'
import { isPortAllowed, mayName, mayReach, type Policy, shippedPorts, toUdpPolicy } from './policy.ts'

const shipped: Policy = {
  allowLoopback: false,
  ownAddresses: [],
  denyPrefixes: [],
  denyNames: new Set(),
  ports: shippedPorts,
}

function at(text: string): Address {
  const address = readAddress(text)
  if (!address) throw new Error(`${text} is not an address`)
  return address
}

function prefixes(...texts: string[]) {
  return texts.map((text) => {
    const prefix = readPrefix(text)
    if (!prefix) throw new Error(`${text} is not a prefix`)
    return prefix
  })
}

/** An IPv4-mapped IPv6 address as 16 bytes; readAddress would convert it to IPv4. */
const raw6 = (high: bigint, address: Address): Address => addressFromNumber(6, (high << 32n) | addressToNumber(address))

describe('the destination policy', () => {
  test('the shipped policy allows a public address on ports 80, 443, 1024, 8080, 8443 and 65535', () => {
    for (const port of [80, 443, 8080, 8443, 1024, 65_535])
      expect(mayReach(at('1.1.1.1'), port, shipped)).toBeUndefined()
  })

  test('the shipped policy denies ports below 1024 except 80 and 443, mail and discovery ports, and invalid ports', () => {
    for (const port of [0, 1, 22, 23, 25, 53, 79, 81, 110, 123, 135, 139, 161, 389, 442, 445, 465, 587, 1023]) {
      expect(mayReach(at('1.1.1.1'), port, shipped)).toBe('port_denied')
    }
    for (const port of [1900, 2525, 3702, 5353, 5355, 11_211, 65_536, -1]) {
      expect(mayReach(at('2606:4700::1111'), port, shipped)).toBe('port_denied')
    }
  })

  test('the policy for UDP allows port 53, and denies mail, file sharing and the ports of traffic amplifiers', () => {
    const udp = toUdpPolicy(shipped)
    for (const port of [53, 443, 1024, 3478, 27_015, 51_820]) expect(mayReach(at('1.1.1.1'), port, udp)).toBeUndefined()
    const all = toUdpPolicy({ ...shipped, ports: { ...shippedPorts, allow: [{ from: 1, to: 65_535 }] } })
    const amplifiers = [17, 19, 69, 111, 123, 161, 389, 427, 520, 1900, 3283, 3702, 5353, 5355, 5683, 10_001, 11_211]
    for (const port of [...amplifiers, 27_960, 33_848, 37_810, 25, 137, 138, 445, 465, 587])
      expect(mayReach(at('1.1.1.1'), port, all)).toBe('port_denied')
  })

  test('port 25 stays denied when the operator allows ports 1 to 65535', () => {
    const ports = { allow: [{ from: 1, to: 65_535 }], deny: shippedPorts.deny }
    expect(isPortAllowed(22, ports)).toBe(true)
    expect(isPortAllowed(25, ports)).toBe(false)
  })

  test('mayReach denies loopback, private and link-local addresses in every notation', () => {
    for (const text of [
      '127.0.0.1',
      '::1',
      '::ffff:10.0.0.1',
      '::7f00:1',
      '169.254.169.254',
      '0.0.0.0',
      '::',
      'fd00::1',
    ]) {
      expect(mayReach(at(text), 443, shipped)).toBe('destination_not_public')
    }
  })

  test('mayReach denies own and denied prefixes, also as IPv4-mapped IPv6 addresses', () => {
    const policy = {
      ...shipped,
      ownAddresses: prefixes('1.2.3.0/24', '2600::/64'),
      denyPrefixes: prefixes('8.8.8.0/24'),
    }
    expect(mayReach(at('1.2.3.4'), 443, policy)).toBe('destination_is_ours')
    expect(mayReach(raw6(0xffffn, at('1.2.3.4')), 443, policy)).toBe('destination_is_ours')
    expect(mayReach(at('2600::1'), 443, policy)).toBe('destination_is_ours')
    expect(mayReach(raw6(0xffffn, at('8.8.8.8')), 443, policy)).toBe('destination_denied')
    expect(mayReach(at('1.2.4.4'), 443, policy)).toBeUndefined()
  })

  test('a sandbox policy allows loopback and no other address that is not public', () => {
    const sandbox = { ...shipped, allowLoopback: true, ownAddresses: prefixes('127.0.0.0/8', '::1') }
    for (const text of ['127.0.0.1', '::1', '::ffff:127.0.0.1'])
      expect(mayReach(at(text), 8080, sandbox)).toBeUndefined()
    expect(mayReach(raw6(0xffffn, at('127.0.0.1')), 8080, sandbox)).toBeUndefined()
    expect(mayReach(at('127.0.0.1'), 25, sandbox)).toBe('port_denied')
    for (const text of ['::7f00:1', '10.0.0.1', '169.254.169.254', '0.0.0.0', '::', '64:ff9b::7f00:1']) {
      expect(mayReach(at(text), 8080, sandbox)).toBe('destination_not_public')
    }
    const denied = { ...sandbox, denyPrefixes: prefixes('127.0.0.2') }
    expect(mayReach(at('127.0.0.2'), 8080, denied)).toBe('destination_denied')
  })

  test('mayName denies a denied name and its subdomains, and no name that only has it as a suffix', () => {
    const policy = { ...shipped, denyNames: new Set(['bad.example', 'localhost']) }
    for (const name of ['bad.example', 'a.bad.example', 'a.b.bad.example', 'localhost', 'x.localhost']) {
      expect(mayName(name, policy)).toBe('destination_denied')
    }
    for (const name of ['notbad.example', 'example', 'bad.example.com', 'localhost.example']) {
      expect(mayName(name, policy)).toBeUndefined()
    }
    expect(mayName('bad.example', shipped)).toBeUndefined()
  })
})
