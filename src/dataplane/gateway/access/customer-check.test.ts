import { expect, test } from 'bun:test'
import { sha256, someSubuser } from '../../../../test/harness/desired.ts'
import { hmacSha256 } from '../../../adapters/crypto.ts'
import { Snapshot } from '../../agent/snapshot.ts'
import { readBasic } from '../ways-in/http1/basic-auth.ts'
import { createCustomerCheck } from './customer-check.ts'

test.each([
  ['no credentials', []],
  ['a wrong password', [`Basic ${btoa('anna:wrong')}`]],
  ['a malformed login', ['Basic anna']],
  ['two values', ['Basic a', 'Basic b']],
])('the check for the site does the same work for %s', (_, values) => {
  let digests = 0
  const countingSha256 = (text: string) => {
    digests += 1
    return sha256(text)
  }
  const countingHmac = (key: Uint8Array, text: string) => {
    digests += 1
    return hmacSha256(key, text)
  }
  const { isCustomer } = createCustomerCheck({
    snapshot: new Snapshot(),
    passwordKeys: () => [new Uint8Array(32)],
    sha256: countingSha256,
    hmac: countingHmac,
  })
  expect([isCustomer(values), digests]).toEqual([false, 2])
})

test('a client with a wrong part in its login and the right password is a customer at the TLS port', () => {
  const snapshot = new Snapshot()
  snapshot.apply({ proxies: [], subusers: [someSubuser({ login: 'alice' })], exits: [] })
  const { isCustomer } = createCustomerCheck({ snapshot, passwordKeys: () => [], sha256, hmac: hmacSha256 })
  const ask = (login: string): boolean => isCustomer([`Basic ${btoa(login)}`])
  const right = ['alice:secret', 'alice-planet-mars:secret', 'Alice-country:secret']
  expect([...right, 'alice-planet-mars:wrong', 'boris-planet-mars:secret', '-:secret'].map(ask)).toEqual([
    ...right.map(() => true),
    false,
    false,
    false,
  ])
})

test('right credentials are digested once, and again after each change at the shop; wrong ones each time', () => {
  let digests = 0
  const countingSha256 = (text: string) => {
    digests += 1
    return sha256(text)
  }
  const snapshot = new Snapshot()
  const learn = (hasNewPassword: boolean): void => {
    const subuser = { ...someSubuser({ login: 'clara' }), ...(hasNewPassword && { digest: sha256('other').toHex() }) }
    snapshot.apply({ proxies: [], subusers: [subuser], exits: [] })
  }
  const { isCustomer } = createCustomerCheck({
    snapshot,
    passwordKeys: () => [],
    sha256: countingSha256,
    hmac: hmacSha256,
  })
  const askTwice = (login: string): readonly [boolean, boolean, number] => {
    digests = 0
    const value = [`Basic ${btoa(login)}`]
    return [isCustomer(value), isCustomer(value), digests]
  }
  learn(false)
  expect([askTwice('clara:secret'), askTwice('clara:wrong')]).toEqual([
    [true, true, 1],
    [false, false, 2],
  ])
  learn(true)
  expect(askTwice('clara:secret')).toEqual([false, false, 2])
})

test('credentials are proven after they were right once, until the shop changes what they open; wrong ones never', () => {
  const snapshot = new Snapshot()
  const learn = (digest: string): void => {
    snapshot.apply({ proxies: [], subusers: [{ ...someSubuser({ login: 'dora' }), digest }], exits: [] })
  }
  const { isCustomer, isProven } = createCustomerCheck({ snapshot, passwordKeys: () => [], sha256, hmac: hmacSha256 })
  const ask = (login: string): readonly boolean[] => {
    const value = `Basic ${btoa(login)}`
    const credentials = readBasic(value)
    if (!credentials) throw new Error(`${value} is malformed`)
    return [isProven(credentials), isCustomer([value]), isProven(credentials)]
  }
  learn(sha256('secret').toHex())
  expect([ask('dora:secret'), ask('dora:wrong')]).toEqual([
    [false, true, true],
    [false, false, false],
  ])
  learn(sha256('other').toHex())
  expect(ask('dora:secret')).toEqual([false, false, false])
})
