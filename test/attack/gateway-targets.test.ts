import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openEngine, type TestGateway } from '../harness/engine.ts'
import { fillIn, type RawCase, type RawCaseServers, rawCases } from '../harness/raw-case.ts'
import { RawClient } from '../harness/raw-client.ts'
import { startRecordingOrigin } from '../harness/recording-origin.ts'
import { greet, socksTo } from '../harness/socks-client.ts'

const bad = ['400 bad_request']
const notPublic = ['403 destination_not_public']
const connect = (authority: string, who = 'anna'): string =>
  `CONNECT ${authority} HTTP/1.1\r\nHost: a.example\r\nLOGIN:${who}\r\n\r\n`
const get = (authority: string, who = 'anna'): string =>
  `GET http://${authority}/ HTTP/1.1\r\nHost: a.example\r\nLOGIN:${who}\r\n\r\n`

/** Answers of an attacker's name server for each name. */
const names: Readonly<Record<string, readonly string[]>> = {
  'loopback.example': ['127.0.0.1', '::1'],
  'private.example': ['10.0.0.1', 'fd00::1'],
  'shared.example': ['100.64.0.1'],
  'metadata.example': ['169.254.169.254', 'fd00:ec2::254'],
  'mapped.example': ['::ffff:127.0.0.1'],
  'compatible.example': ['::7f00:1'],
  'nat64.example': ['64:ff9b::7f00:1'],
  'sixtofour.example': ['2002:7f00:1::'],
  'nothing.example': ['0.0.0.0', '::'],
  'both.example': ['203.0.113.1', '127.0.0.1'],
  'nonsense.example': ['127.1', 'localhost', ''],
}

async function lookup(name: string, version: 4 | 6) {
  const known = names[name]
  if (!known) throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' })
  return known.filter((text) => text.includes(':') === (version === 6)).map((address) => ({ address, ttl: 60 }))
}

const ports: readonly RawCase[] = [
  ['a port past 65535 that wraps to 25', connect('a.example:65561'), bad],
  ['a port past 32 bits that wraps to 25', connect('a.example:4294967321'), bad],
  ['a port past 64 bits', connect('a.example:18446744073709551641'), bad],
  ['a port with zeros in front', connect('a.example:0025'), bad],
  ['a port with a plus', connect('a.example:+25'), bad],
  ['a port with a minus', connect('a.example:-1'), bad],
  ['a port in hexadecimal', connect('a.example:0x19'), bad],
  ['a port with an exponent', connect('a.example:8e1'), bad],
  ['port 0', connect('a.example:0'), bad],
  ['an empty port', connect('a.example:'), bad],
  ['no port', connect('a.example'), bad],
  ['two ports', connect('a.example:443:25'), bad],
  ['a port and a comma', connect('a.example:443,25'), bad],
  ['a port with an escape', connect('a.example:%32%35'), bad],
  ['a port in other digits', connect('a.example:\xd9\xa2\xd9\xa5'), bad],
  ['a port and a NUL', connect('a.example:443\0'), bad],
  ['the mail port', connect('127.0.0.1:25'), ['403 port_denied']],
  ['the mail port with a request', get('127.0.0.1:25'), ['403 port_denied']],
  ['the port of ssh', connect('127.0.0.1:22'), ['403 port_denied']],
  ['an amplifier', connect('127.0.0.1:11211'), ['403 port_denied']],
  ['a port past 65535 in a URI', get('a.example:65616'), bad],
  ['an empty port in a URI', get('a.example:'), bad],
]

const spellings: readonly RawCase[] = [
  ['a name in brackets', connect('[example.com]:443'), bad],
  ['an IPv4 address in brackets', connect('[127.0.0.1]:443'), bad],
  ['an IPv6 address without brackets', connect('::1:443'), bad],
  ['an IPv6 zone', connect('[fe80::1%25lo]:443'), bad],
  ['an unclosed bracket', connect('[::1:443'), bad],
  ['a future address', connect('[v1.127.0.0.1]:443'), bad],
  ['127.1', connect('127.1:443'), bad],
  ['127.0.1', connect('127.0.1:443'), bad],
  ['0x7f.1', connect('0x7f.1:443'), bad],
  ['0x7f000001', connect('0x7f000001:443'), bad],
  ['2130706433', connect('2130706433:443'), bad],
  ['017700000001', connect('017700000001:443'), bad],
  ['0177.0.0.1', connect('0177.0.0.1:443'), bad],
  ['127.0.0.01', connect('127.0.0.01:443'), bad],
  ['127.0.0.1 with a dot behind', connect('127.0.0.1.:443'), bad],
  ['127.0.0.1 with two dots behind', connect('127.0.0.1..:443'), bad],
  ['127.0.0.256', connect('127.0.0.256:443'), bad],
  ['383.0.0.1, which wraps', connect('383.0.0.1:443'), bad],
  ['circled digits', connect('\xe2\x91\xa0\xe2\x91\xa1\xe2\x91\xa6.\xe2\x93\xaa.\xe2\x93\xaa.\xe2\x91\xa0:443'), bad],
  ['an ideographic full stop', connect('127\xe3\x80\x820\xe3\x80\x820\xe3\x80\x821:443'), bad],
  ['an escape', connect('127%2e0.0.1:443'), bad],
  ['a user before it', connect('a.example@127.0.0.1:443'), bad],
  ['a user and a password', connect('a:b@127.0.0.1:443'), bad],
  ['a path behind it', connect('127.0.0.1:443/a'), bad],
  ['an empty host', connect(':443'), bad],
  ['a dot alone', connect('.:443'), bad],
  ['127.1 in a URI', get('127.1'), bad],
  ['2130706433 in a URI', get('2130706433'), bad],
  ['127.0.0.1', connect('127.0.0.1:443'), notPublic],
  ['127.255.255.254', connect('127.255.255.254:443'), notPublic],
  ['0.0.0.0', connect('0.0.0.0:443'), notPublic],
  ['10.0.0.1', connect('10.0.0.1:443'), notPublic],
  ['172.31.255.255', connect('172.31.255.255:443'), notPublic],
  ['192.168.0.1', connect('192.168.0.1:443'), notPublic],
  ['100.64.0.1', connect('100.64.0.1:443'), notPublic],
  ['169.254.169.254', connect('169.254.169.254:80'), notPublic],
  ['168.63.129.16', connect('168.63.129.16:80'), notPublic],
  ['255.255.255.255', connect('255.255.255.255:443'), notPublic],
  ['224.0.0.1', connect('224.0.0.1:443'), notPublic],
  ['[::ffff:7f00:1]', connect('[::ffff:7f00:1]:443'), notPublic],
  ['[::ffff:127.0.0.1]', connect('[::ffff:127.0.0.1]:443'), notPublic],
  ['[0:0:0:0:0:FFFF:7F00:0001]', connect('[0:0:0:0:0:FFFF:7F00:0001]:443'), notPublic],
  ['[::1]', connect('[::1]:443', 'clara'), notPublic],
  ['[0:0:0:0:0:0:0:1]', connect('[0:0:0:0:0:0:0:1]:443', 'clara'), notPublic],
  ['[::]', connect('[::]:443', 'clara'), notPublic],
  ['[::7f00:1]', connect('[::7f00:1]:443', 'clara'), notPublic],
  ['[::127.0.0.1]', connect('[::127.0.0.1]:443', 'clara'), notPublic],
  ['[64:ff9b::7f00:1]', connect('[64:ff9b::7f00:1]:443', 'clara'), notPublic],
  ['[2002:7f00:1::]', connect('[2002:7f00:1::]:443', 'clara'), notPublic],
  ['[fe80::1]', connect('[fe80::1]:443', 'clara'), notPublic],
  ['[fd00:ec2::254]', connect('[fd00:ec2::254]:80', 'clara'), notPublic],
  ['[fc00::1]', connect('[fc00::1]:443', 'clara'), notPublic],
  ['[::1] from an address that has no IPv6', connect('[::1]:443'), ['502 no_such_family']],
  ['localhost', connect('localhost:443'), notPublic],
  ['LOCALHOST.', connect('LOCALHOST.:443'), notPublic],
  ['a name below localhost', connect('a.localhost:443'), notPublic],
  ['localhost from an IPv6 address', connect('localhost:443', 'clara'), notPublic],
  ['localhost in a URI', get('localhost:8080'), notPublic],
  ['127.0.0.1 in a URI', get('127.0.0.1'), notPublic],
  ['the origin of this test', connect('ORIGIN'), notPublic],
  ['the origin of this test in a URI', get('ORIGIN'), notPublic],
]

const resolved: readonly RawCase[] = [
  ['a name that is loopback', connect('loopback.example:443'), notPublic],
  ['a name that is loopback, in capitals with a dot', connect('LoopBack.Example.:443'), notPublic],
  ['a name that is loopback, in a URI', get('loopback.example'), notPublic],
  ['a name that is IPv6 loopback', connect('loopback.example:443', 'clara'), notPublic],
  ['a name that is private', connect('private.example:443'), notPublic],
  ['a name that is private over IPv6', connect('private.example:443', 'clara'), notPublic],
  ['a name that is shared by carriers', connect('shared.example:443'), notPublic],
  ['a name that is metadata', connect('metadata.example:80'), notPublic],
  ['a name that is metadata over IPv6', connect('metadata.example:80', 'clara'), notPublic],
  ['a name that is a mapped address', connect('mapped.example:443', 'clara'), notPublic],
  ['a name that is a compatible address', connect('compatible.example:443', 'clara'), notPublic],
  ['a name that is translated', connect('nat64.example:443', 'clara'), notPublic],
  ['a name that is 6to4', connect('sixtofour.example:443', 'clara'), notPublic],
  ['a name that is nothing', connect('nothing.example:443'), notPublic],
  ['a name that is nothing over IPv6', connect('nothing.example:443', 'clara'), notPublic],
  ['a name with two addresses that are not public', connect('both.example:443'), notPublic],
  ['a name that is no address', connect('nonsense.example:443'), ['502 name_not_found']],
  ['a name without an address of the right kind', connect('compatible.example:443'), ['502 no_such_family']],
  ['a name that does not exist', connect('unknown.example:443'), ['502 name_not_found']],
]

let servers: RawCaseServers
let sandbox: TestGateway
beforeAll(() => {
  servers = { gateway: openEngine({ mode: 'production', lookup }), origin: startRecordingOrigin() }
  sandbox = openEngine()
})
afterAll(async () => {
  servers.origin.stop()
  expect(await servers.gateway.stop()).toMatchObject({ open: 0, connections: 0, tunnels: 0 })
  await sandbox.stop()
})

describe('destinations in production', () => {
  rawCases('destination port', ports, () => servers)
  rawCases('destination address', spellings, () => servers)
  rawCases('destination name', resolved, () => servers)
})

const v4 = (text: string): string => `\x01${String.fromCharCode(...text.split('.').map(Number))}`
const v6 = (groups: readonly number[]): string =>
  `\x04${groups.map((group) => String.fromCharCode(group >> 8, group & 255)).join('')}`
const name = (text: string): string => `\x03${String.fromCharCode(text.length)}${text}`

const overSocks: readonly (readonly [name: string, who: string, where: string, code: number])[] = [
  ['127.0.0.1', 'dora', v4('127.0.0.1'), 2],
  ['0.0.0.0', 'dora', v4('0.0.0.0'), 2],
  ['10.0.0.1', 'dora', v4('10.0.0.1'), 2],
  ['169.254.169.254', 'dora', v4('169.254.169.254'), 2],
  ['192.168.1.1', 'dora', v4('192.168.1.1'), 2],
  ['255.255.255.255', 'dora', v4('255.255.255.255'), 2],
  ['::1', 'emil', v6([0, 0, 0, 0, 0, 0, 0, 1]), 2],
  ['::', 'emil', v6([0, 0, 0, 0, 0, 0, 0, 0]), 2],
  ['::ffff:7f00:1', 'dora', v6([0, 0, 0, 0, 0, 0xffff, 0x7f00, 1]), 2],
  ['::ffff:7f00:1 from IPv6', 'emil', v6([0, 0, 0, 0, 0, 0xffff, 0x7f00, 1]), 4],
  ['::7f00:1', 'emil', v6([0, 0, 0, 0, 0, 0, 0x7f00, 1]), 2],
  ['64:ff9b::7f00:1', 'emil', v6([0x64, 0xff9b, 0, 0, 0, 0, 0x7f00, 1]), 2],
  ['fe80::1', 'emil', v6([0xfe80, 0, 0, 0, 0, 0, 0, 1]), 2],
  ['fd00:ec2::254', 'emil', v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254]), 2],
  ['the name 127.0.0.1', 'dora', name('127.0.0.1'), 2],
  ['the name ::1', 'emil', name('::1'), 2],
  ['the name localhost', 'dora', name('localhost'), 2],
  ['the name LOCALHOST.', 'dora', name('LOCALHOST.'), 2],
  ['the name 127.1', 'dora', name('127.1'), 1],
  ['the name 0x7f.1', 'dora', name('0x7f.1'), 1],
  ['the name 2130706433', 'dora', name('2130706433'), 1],
  ['the name [::1]', 'emil', name('[::1]'), 1],
  ['the name ::ffff:127.0.0.1', 'dora', name('::ffff:127.0.0.1'), 1],
  ['the name 127.0.0.1 with a NUL', 'dora', name('127.0.0.1\0.example'), 1],
  ['the name in circled digits', 'dora', name('\xe2\x91\xa0\xe2\x91\xa1\xe2\x91\xa6.1'), 1],
  ['a name that is loopback', 'dora', name('loopback.example'), 2],
  ['a name that is metadata', 'dora', name('metadata.example'), 2],
  ['a name that is a mapped address', 'emil', name('mapped.example'), 2],
  ['a name that does not exist', 'dora', name('unknown.example'), 4],
]

describe('SOCKS5 destinations in production', () => {
  test.each(overSocks)(
    'the gateway refuses a SOCKS5 request for %s with the expected reply and dials nothing',
    async (_, who, where, code) => {
      const port = String.fromCharCode(servers.origin.port >> 8, servers.origin.port & 255)
      for (const isSlow of [false, true]) {
        const client = await greet(servers.gateway.port, who)
        const request = `\x05\x01\0${where}${port}`
        if (isSlow) await client.sendSlowly(request)
        else client.send(request)
        await client.readToEnd()
        expect(client.bytes.toString('hex')).toBe(`05020100050${code}0001000000000000`)
        client.reset()
      }
      expect(servers.origin.records).toEqual([])
    },
  )

  test('the gateway refuses a SOCKS5 request for port 25 with reply 2', async () => {
    expect((await socksTo(servers.gateway.port, 'dora', '127.0.0.1', 25)).code).toBe(2)
  })
})

describe('destinations in a sandbox', () => {
  test('a sandbox gateway reaches a loopback origin by address, mapped address and localhost', async () => {
    for (const authority of [
      servers.origin.authority,
      `[::ffff:127.0.0.1]:${servers.origin.port}`,
      `localhost:${servers.origin.port}`,
    ]) {
      const client = await RawClient.open(sandbox.port)
      client.send(fillIn(connect(authority), servers.origin))
      await client.readUntil((text) => text.endsWith('\r\n\r\n'))
      expect(client.text).toStartWith('HTTP/1.1 200 ')
      client.reset()
    }
  })

  test('a sandbox gateway refuses addresses that are not loopback with 403 or 502', async () => {
    for (const host of ['0.0.0.0', '10.0.0.1', '169.254.169.254', '[::7f00:1]']) {
      const client = await RawClient.open(sandbox.port)
      client.send(fillIn(connect(`${host}:${servers.origin.port}`), servers.origin))
      await client.readUntil((text) => text.includes('\r\n\r\n'))
      expect(client.text).toMatch(/^HTTP\/1\.1 (?:403|502) /)
      client.reset()
    }
  })
})
