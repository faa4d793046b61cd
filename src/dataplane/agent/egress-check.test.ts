import { describe, expect, test } from 'bun:test'
import { type Address, formatAddress, readAddress, readPrefix } from '../../core/address.ts'
import { EgressCheck } from './egress-check.ts'

const at = (text: string): Address => {
  const address = readAddress(text)
  if (!address) throw new Error(`${text} is no address`)
  return address
}

/** An egress check whose fake shop fails calls from `lost` addresses. `calls` records the source addresses. */
function open(text: string, given: { isBlock?: boolean; isNotHere?: (address: string) => boolean } = {}) {
  const prefix = readPrefix(text)
  if (!prefix) throw new Error(`${text} is no prefix`)
  const shop = { isThere: true, code: 'ECONNREFUSED', lost: new Set<string>(), seesAs: undefined as string | undefined }
  const calls: string[] = []
  let drawn = 0
  const check = new EgressCheck({
    prefix,
    isBlock: given.isBlock ?? false,
    canUse: (address) => !given.isNotHere?.(formatAddress(address)),
    chance: () => (drawn++ % 1000) / 1000,
    async call(_version, from) {
      if (from !== undefined) calls.push(from)
      if (!shop.isThere || (from !== undefined && shop.lost.has(from))) {
        throw Object.assign(new Error('away'), { code: shop.code })
      }
      return shop.seesAs ?? from ?? '192.0.2.1'
    },
  })
  return { check, shop, calls, end: new AbortController().signal }
}

describe('the egress check of the addresses of a range', () => {
  test('EgressCheck.begin() calls from each of 8 addresses and reports one that fails as cannot_leave', async () => {
    const { check, shop, calls, end } = open('45.12.0.0/29')
    shop.lost.add('45.12.0.3')
    await check.begin(256, end)
    expect(new Set(calls).size).toBe(8)
    expect(check.problemOf(at('45.12.0.3'))).toBe('cannot_leave')
    expect(check.problemOf(at('45.12.0.4'))).toBeUndefined()
  })

  test('EgressCheck.begin(256) calls from 256 addresses of a /22, and step() from the other 768', async () => {
    const { check, calls, end } = open('45.12.0.0/22')
    await check.begin(256, end)
    expect(calls.length).toBe(256)
    expect(check.stepsPerRound).toBe(1024)
    for (let turn = 256; turn < 1024; turn += 1) await check.step(end)
    expect(new Set(calls).size).toBe(1024)
  })

  test('EgressCheck.step() repeats a failed call once, then reports cannot_leave until a call succeeds', async () => {
    const { check, shop, calls, end } = open('45.12.0.0/32')
    shop.lost.add('45.12.0.0')
    expect(await check.step(end)).toBe(true)
    expect(calls.length).toBe(2)
    expect(check.problemOf(at('45.12.0.0'))).toBe('cannot_leave')
    expect(await check.step(end)).toBe(false)
    shop.lost.clear()
    expect(await check.step(end)).toBe(true)
    expect(check.problemOf(at('45.12.0.0'))).toBeUndefined()
  })

  test('the egress check reports no address while the shop is unreachable from any address', async () => {
    const { check, shop, end } = open('45.12.0.0/31')
    shop.isThere = false
    await check.begin(256, end)
    for (let turn = 0; turn < 10; turn += 1) await check.step(end)
    expect(check.problemOf(at('45.12.0.0'))).toBeUndefined()
  })

  test('EgressCheck.step() skips addresses that the machine does not have or that are being checked', async () => {
    const { check, calls, end } = open('45.12.0.0/31', { isNotHere: (address) => address === '45.12.0.1' })
    await check.begin(256, end)
    expect(calls).toEqual(['45.12.0.0'])
    const first = check.step(end)
    expect(first).toBeDefined()
    expect(check.step(end)).toBeUndefined()
    expect(check.step(end)).toBeUndefined()
    await first
  })

  test('EgressCheck.seenAs is the source address that the shop saw', async () => {
    const { check, shop, end } = open('45.12.0.0/32')
    shop.seesAs = '198.51.100.7'
    await check.begin(256, end)
    expect(check.seenAs).toBe('198.51.100.7')
  })

  test('the egress check of a /48 block calls from 16 random addresses', async () => {
    const { check, shop, calls, end } = open('2a0c:aaaa::/48', { isBlock: true })
    await check.begin(256, end)
    expect(new Set(calls).size).toBe(16)
    expect(check.stepsPerRound).toBe(16)
    expect(check.problemOf(at('2a0c:aaaa::1234'))).toBeUndefined()
    shop.lost = { has: (from: string) => from.startsWith('2a0c') } as Set<string>
    await check.step(end)
    expect(check.problemOf(at('2a0c:aaaa::1234'))).toBe('cannot_leave')
  })

  test.each([
    ['ENOTFOUND', 'egress_not_checked_no_shop_address'],
    ['ENETUNREACH', 'egress_not_checked_no_route'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'egress_not_checked_shop_not_trusted'],
    ['ECONNREFUSED', 'egress_not_checked_shop_not_reached'],
  ])('a call that fails with %s is reported as %s', async (code, obstacle) => {
    const { check, shop, end } = open('2001:db8::/126')
    Object.assign(shop, { isThere: false, code })
    await check.begin(4, end)
    expect([check.isReached, check.obstacle]).toEqual([false, obstacle])
  })
})
