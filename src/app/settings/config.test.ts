import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { databaseAddress, listenUrl, readConfig, settings } from './config.ts'

/** The message of a refused setting, or undefined. */
function complaint(env: Record<string, string>): string | undefined {
  try {
    readConfig(env)
    return undefined
  } catch (error) {
    return error instanceof Error && error.name === 'BadSetting' ? error.message : String(error)
  }
}

describe('readConfig', () => {
  test('the default settings open a sandbox on SQLite at 127.0.0.1 with the shipped limits', () => {
    const config = readConfig({})
    expect(config).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      sandbox: true,
      readsPerMinute: 1200,
      chargesPerMinute: 300,
      customerTokens: 100,
      trustedProxies: [],
      log: 'info',
    })
    expect(databaseAddress(config)).toBe(join(process.cwd(), 'data', 'turnpike.db'))
  })

  test('listenUrl is a loopback URL for a shop that listens on every address', () => {
    const urlOf = (host: string) => listenUrl(readConfig({ TURNPIKE_HOST: host }))
    expect(['0.0.0.0', '::', '192.0.2.1', '127.0.0.1'].map(urlOf)).toEqual([
      'http://127.0.0.1:8080',
      'http://[::1]:8080',
      'http://192.0.2.1:8080',
      'http://127.0.0.1:8080',
    ])
  })

  test('a flag takes precedence over its environment variable', () => {
    expect(readConfig({ TURNPIKE_PORT: '1' }, { port: '2' }).port).toBe(2)
  })

  test('each setting has its own environment variable and its own flag', () => {
    const all = Object.values(settings)
    expect(new Set(all.map((each) => each.env)).size).toBe(all.length)
    expect(new Set(all.map((each) => each.flag)).size).toBe(all.length)
    for (const each of all) expect(each.env).toMatch(/^TURNPIKE_[A-Z_]+$/)
  })

  test('TURNPIKE_CORS_ORIGINS is empty by default, and accepts origins separated by commas', () => {
    expect(readConfig({}).corsOrigins).toEqual([])
    expect(readConfig({ TURNPIKE_CORS_ORIGINS: 'https://app.example, http://localhost:3000' }).corsOrigins).toEqual([
      'https://app.example',
      'http://localhost:3000',
    ])
  })

  test('TURNPIKE_LOCAL_NODES accepts kinds of nodes separated by commas and removes repeats', () => {
    expect(readConfig({}).localNodes).toEqual([])
    expect(readConfig({ TURNPIKE_LOCAL_NODES: 'gateway' }).localNodes).toEqual(['gateway'])
    expect(readConfig({ TURNPIKE_LOCAL_NODES: 'vpn, gateway,vpn' }).localNodes).toEqual(['vpn', 'gateway'])
    expect(readConfig({ TURNPIKE_LOCAL_NODES: 'sandbox-vpn' }).localNodes).toEqual(['sandbox-vpn'])
  })

  test('TURNPIKE_CONTACT is empty by default, and becomes a mailto: link or an https: link', () => {
    const contactOf = (text: string) => readConfig({ TURNPIKE_CONTACT: text }).contact
    expect([readConfig({}).contact, contactOf('')]).toEqual([undefined, undefined])
    expect(contactOf('help+eu@shop.example')).toEqual({
      text: 'help+eu@shop.example',
      url: 'mailto:help+eu@shop.example',
    })
    expect(contactOf('https://t.me/shop')).toEqual({ text: 'https://t.me/shop', url: 'https://t.me/shop' })
    expect(contactOf('https://shop.example/?a="b"')?.url).toBe('https://shop.example/?a=%22b%22')
    expect(complaint({ TURNPIKE_CONTACT: 'shop' })).toBe(
      'TURNPIKE_CONTACT (--contact) must be an e-mail address, like help@shop.example, or an https:// URL without a login.',
    )
  })

  test('TURNPIKE_DATABASE_URL accepts a PostgreSQL URL unchanged', () => {
    for (const url of ['postgres://u:p@h:5432/d', 'postgresql://h/d?sslmode=require']) {
      expect(databaseAddress(readConfig({ TURNPIKE_DATABASE_URL: url }))).toBe(url)
    }
  })

  const secret = 'hunter2secret'
  test.each([
    ['TURNPIKE_PORT', 'http'],
    ['TURNPIKE_PORT', '70000'],
    ['TURNPIKE_PORT', '-1'],
    ['TURNPIKE_PORT', '8080 '],
    ['TURNPIKE_PORT', '0x50'],
    ['TURNPIKE_PORT', '1e3'],
    ['TURNPIKE_HOST', 'not a host'],
    ['TURNPIKE_HOST', 'http://x'],
    ['TURNPIKE_HOST', ''],
    ['TURNPIKE_DATABASE_URL', `mysql://root:${secret}@db/x`],
    ['TURNPIKE_DATABASE_URL', `postgres://root:${secret}@[::1/x`],
    ['TURNPIKE_DATABASE_URL', `postgres://root:${secret} @h/x`],
    ['TURNPIKE_DATABASE_URL', secret],
    ['TURNPIKE_SANDBOX_TOKEN', `${secret} `],
    ['TURNPIKE_SANDBOX_TOKEN', 'hunter2'],
    ['TURNPIKE_SANDBOX_TOKEN', secret.repeat(20)],
    ['TURNPIKE_SANDBOX_TOKEN', `${secret}\n`],
    ['TURNPIKE_SANDBOX', 'maybe'],
    ['TURNPIKE_RATE_READS', '-1'],
    ['TURNPIKE_RATE_READS', ''],
    ['TURNPIKE_RATE_CHARGES', '1e3'],
    ['TURNPIKE_CUSTOMER_TOKENS', '0'],
    ['TURNPIKE_TRUSTED_PROXIES', '10.0.0.1/8'],
    ['TURNPIKE_TRUSTED_PROXIES', 'localhost'],
    ['TURNPIKE_CORS_ORIGINS', '*'],
    ['TURNPIKE_CORS_ORIGINS', 'null'],
    ['TURNPIKE_CORS_ORIGINS', 'app.example'],
    ['TURNPIKE_CORS_ORIGINS', 'https://app.example/'],
    ['TURNPIKE_CORS_ORIGINS', 'https://app.example:443'],
    ['TURNPIKE_CORS_ORIGINS', 'https://*.example'],
    ['TURNPIKE_CORS_ORIGINS', 'https://App.example'],
    ['TURNPIKE_CORS_ORIGINS', 'file:///x'],
    ['TURNPIKE_CORS_ORIGINS', `https://app.example,https://u:${secret}@app.example`],
    ['TURNPIKE_LOCAL_NODES', 'router'],
    ['TURNPIKE_LOCAL_NODES', 'gateway;vpn'],
    ['TURNPIKE_CONTACT', 'javascript:alert(1)'],
    ['TURNPIKE_CONTACT', 'javascript:alert(1)@shop.example'],
    ['TURNPIKE_CONTACT', 'http://shop.example'],
    ['TURNPIKE_CONTACT', 'https://'],
    ['TURNPIKE_CONTACT', 'https://shop.example/a b'],
    ['TURNPIKE_CONTACT', ' https://shop.example'],
    ['TURNPIKE_CONTACT', `https://root:${secret}@shop.example`],
    ['TURNPIKE_CONTACT', 'mailto:help@shop.example'],
    ['TURNPIKE_CONTACT', 'help @shop.example'],
    ['TURNPIKE_CONTACT', 'help@shop.example '],
    ['TURNPIKE_CONTACT', 'help@shop.example?subject=x'],
    ['TURNPIKE_LOG', 'loud'],
    ['TURNPIKE_LOG', 'INFO'],
  ])('%s=%p is refused in one line that names the setting and contains no secret', (name, value) => {
    const message = complaint({ [name]: value })
    expect(message).toStartWith(`${name} (--`)
    expect(message).not.toContain('\n')
    expect(message).not.toContain('hunter2')
  })
})
