import { describe, expect, test } from 'bun:test'
import { readPrefix } from './address.ts'
import { isPublic } from './reserved.ts'

const judge = (text: string): boolean => {
  const prefix = readPrefix(text)
  if (!prefix) throw new Error(`${text} is not a prefix`)
  return isPublic(prefix)
}

describe('addresses that strangers can have', () => {
  test.each(['8.8.8.8', '1.1.1.0/24', '93.184.216.34', '2606:4700::1111', '2a00:1450::/56'])('%s is public', (text) => {
    expect(judge(text)).toBe(true)
  })

  test.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '169.254.169.254',
    '172.31.0.1',
    '192.0.2.1',
    '192.168.1.0/24',
    '198.18.0.1',
    '203.0.113.9',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    '::7f00:1',
    '64:ff9b::7f00:1',
    'fe80::1',
    'fc00::1',
    'ff02::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '2001::1',
    '3fff::1',
  ])('%s is not', (text) => {
    expect(judge(text)).toBe(false)
  })

  test('a mapped address is judged as the IPv4 address that it is', () => {
    expect(judge('::ffff:127.0.0.1')).toBe(false)
    expect(judge('::ffff:8.8.8.8')).toBe(true)
  })
})
