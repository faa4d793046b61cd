import { describe, expect, test } from 'bun:test'
import { readConfig } from './config.ts'
import { assertGatewayTls } from './tls.ts'

const acme = { TURNPIKE_ACME_NAMES: 'shop.example.net', TURNPIKE_ACME_TERMS: 'agreed' }
const files = { TURNPIKE_TLS_CERT: '/a.crt', TURNPIKE_TLS_KEY: '/a.key' }

describe('TLS settings', () => {
  test('readConfig refuses 19 wrong combinations of TLS settings with the reason', () => {
    const cases: [Record<string, string>, string][] = [
      [{ TURNPIKE_TLS_CERT: '/a.crt' }, 'TURNPIKE_TLS_KEY (--tls-key) must be given too'],
      [{ TURNPIKE_TLS_KEY: '/a.key' }, 'TURNPIKE_TLS_CERT (--tls-cert) must be given too'],
      [{ ...files, ...acme }, 'excludes TURNPIKE_TLS_CERT'],
      [{ TURNPIKE_ACME_NAMES: 'shop.example.net' }, 'TURNPIKE_ACME_TERMS (--acme-terms) must be "agreed"'],
      [{ ...acme, TURNPIKE_ACME_TERMS: 'yes' }, 'must be "agreed"'],
      [{ ...acme, TURNPIKE_ACME_CONTACT: 'a@b.example?cc=c@d.example' }, 'must be an e-mail address'],
      [{ ...acme, TURNPIKE_ACME_DIRECTORY: 'http://127.0.0.1/' }, 'must be an https:// address'],
      [{ ...acme, TURNPIKE_ACME_LISTEN: '80' }, 'like 0.0.0.0:80 or [::]:80'],
      [{ ...acme, TURNPIKE_PUBLIC_URL: 'http://shop.example.net' }, 'must begin with https://'],
      [{ ...files, TURNPIKE_GATEWAY_TLS_PORT: '10800' }, 'must be another port than TURNPIKE_GATEWAY_PORT'],
    ]
    for (const name of ['*.example.net', '192.0.2.1', 'localhost', 'a..b', '-a.example', 'a_b.example', 'a.example/']) {
      cases.push([{ ...acme, TURNPIKE_ACME_NAMES: name }, 'no addresses, no *'])
    }
    for (const [env, reason] of cases) expect(() => readConfig(env)).toThrow(reason)
  })

  test('TURNPIKE_GATEWAY_TLS_PORT without a certificate is refused by a gateway and accepted by a shop', () => {
    const config = readConfig({ TURNPIKE_GATEWAY_TLS_PORT: '10443' })
    expect(() => assertGatewayTls(config)).toThrow('needs a certificate')
    expect(() => assertGatewayTls({ ...config, gatewayTlsPort: 0 })).not.toThrow()
    expect(() => assertGatewayTls(readConfig({ ...files, TURNPIKE_GATEWAY_TLS_PORT: '10443' }))).not.toThrow()
  })

  test('publicUrl is https with the name of the certificate unless TURNPIKE_PUBLIC_URL is set', () => {
    expect(readConfig({}).publicUrl).toBeUndefined()
    expect(readConfig({ ...acme, TURNPIKE_PORT: '443' }).publicUrl).toBe('https://shop.example.net')
    expect(readConfig({ ...acme, TURNPIKE_PORT: '8443' }).publicUrl).toBe('https://shop.example.net:8443')
    const named = { ...acme, TURNPIKE_PUBLIC_URL: 'https://www.example.net' }
    expect(readConfig(named).publicUrl).toBe('https://www.example.net')
  })

  test('TURNPIKE_ACME_NAMES accepts names in any case and removes repeats', () => {
    const env = { ...acme, TURNPIKE_ACME_NAMES: 'Shop.Example.net, proxy.example.net,shop.example.net' }
    expect(readConfig(env).acmeNames).toEqual(['shop.example.net', 'proxy.example.net'])
  })
})
