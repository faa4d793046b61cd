import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { emptyPage, openStandInShop, type StandInShop } from '../../../test/harness/stand-in-shop.ts'
import { waitLimitMs } from '../../../test/harness/until.ts'
import { createShopLink, LinkError, LinkSettingError } from './shop-link.ts'

const secret = `tpn_${'5ec7e7'.repeat(11).slice(0, 64)}`
/** Only a hang reaches this limit; the test of a silent shop uses `shortMs`. */
const longMs = waitLimitMs
const shortMs = 300
const emptyReport = {
  boot: 'boot-0001',
  version: '1',
  proxies: [],
  subusers: [],
  peers: [],
  lease_requests: [],
  hosts: [],
  sources: [],
}

async function failure(promise: Promise<unknown>): Promise<LinkError> {
  try {
    await promise
  } catch (error) {
    if (error instanceof LinkError) return error
    throw error
  }
  throw new Error('it did not fail')
}

describe('the link to the shop', () => {
  let shop: StandInShop
  let refusals = 0
  const open = (ms = longMs) =>
    createShopLink({
      url: shop.url,
      secret,
      limitsMs: { join: ms, state: ms, find: ms, report: ms, vpn: ms },
      onRefused: () => {
        refusals += 1
      },
    })

  beforeEach(async () => {
    shop = await openStandInShop()
    shop.secret = secret
    refusals = 0
  })
  afterEach(() => shop.stop())

  test('the link sends its secret as a bearer token with every request except join, and parses each answer', async () => {
    const link = open()
    expect(await link.state('x', 0)).toEqual(emptyPage)
    expect(await link.find({ username: 'u' })).toEqual({ proxy: null, subuser: null })
    expect(await link.report(emptyReport)).toEqual({ now: 0, replaced: false, allowances: [] })
    expect((await link.vpn()).mtu).toBe(1420)
    shop.keys.add(`tpj_${'a'.repeat(20)}`)
    expect(await link.join({ key: `tpj_${'a'.repeat(20)}`, secret, version: '1' })).toMatchObject({ kind: 'gateway' })
    expect(shop.requests.map((each) => each.authorization)).toEqual([
      ...Array.from({ length: 4 }, () => `Bearer ${secret}`),
      null,
    ])
  })

  test('the link reports 401 as refused, 429, 5xx and no answer as unreachable, other answers as a fault', async () => {
    const troubles: string[] = []
    for (const fault of [
      { status: 401 },
      { status: 500 },
      { status: 503 },
      { status: 429 },
      { status: 400 },
      { status: 404 },
      'cut',
      'silent',
      'nonsense',
      'redirect',
    ] as const) {
      shop.faults = [fault]
      const error = await failure(open(fault === 'silent' ? shortMs : longMs).report(emptyReport))
      troubles.push(error.trouble)
      expect(error.message).not.toContain('tpn_')
    }
    expect(troubles.join(' ')).toBe(
      'refused unreachable unreachable unreachable fault fault unreachable unreachable fault fault',
    )
    expect(shop.reports).toEqual([])
  })

  test('the link calls onRefused at the first 401, and again only after a request that succeeded in between', async () => {
    const link = open()
    shop.secret = 'another'
    await failure(link.vpn())
    await failure(link.vpn())
    expect(refusals).toBe(1)
    shop.secret = secret
    await link.vpn()
    shop.secret = 'another'
    await failure(link.find({ username: 'u' }))
    expect(refusals).toBe(2)
  })

  test('the link reports unreachable without a status when no shop listens', async () => {
    const link = open()
    shop.stop()
    const error = await failure(link.vpn())
    expect(error.trouble).toBe('unreachable')
    expect(error.status).toBeUndefined()
  })

  test('a long poll of the link fails when its signal is aborted', async () => {
    shop.faults = ['silent']
    const end = new AbortController()
    const pending = failure(createShopLink({ url: shop.url, secret }).state(undefined, 20, end.signal))
    end.abort()
    expect((await pending).message).toContain('given up')
  })

  test('createShopLink refuses plain HTTP except to loopback, and malformed URLs', () => {
    const clear = (url: string) => () => createShopLink({ url, secret })
    for (const url of [
      'http://shop.example.net',
      'http://192.0.2.1:8080',
      'http://[2001:db8::1]/',
      'http://localhost.example.net',
      'ftp://127.0.0.1',
      'shop',
      '',
      'https://user:tpn_x@shop.example.net',
    ]) {
      expect(clear(url)).toThrow(LinkSettingError)
    }
    for (const url of [
      'https://shop.example.net',
      'http://127.0.0.1:1',
      'http://127.9.9.9',
      'http://[::1]:1',
      'http://localhost:1',
    ]) {
      expect(clear(url)).not.toThrow()
    }
  })

  test('a link over a Unix socket has callFrom only with a public https URL that is not loopback', () => {
    const callFrom = (publicUrl?: string) =>
      createShopLink({ url: 'unix:/run/turnpike/join/shop.sock', publicUrl, secret }).callFrom
    expect(callFrom('https://shop.example.net')).toBeDefined()
    for (const url of [undefined, 'http://shop.example.net', 'https://127.0.0.1:8443', 'https://localhost']) {
      expect(callFrom(url)).toBeUndefined()
    }
  })
})
