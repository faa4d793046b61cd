import { describe, expect, test } from 'bun:test'
import { readConfig } from './config.ts'
import { BadSetting } from './reading.ts'
import { shippedVpn, vpnSettingsOf } from './vpn.ts'

const read = (name: string, value: string) => readConfig({ [name]: value })

describe('VPN settings', () => {
  test('the default VPN settings equal shippedVpn', () => {
    expect(vpnSettingsOf(readConfig({}))).toEqual(shippedVpn)
    expect(shippedVpn.tunnel).toEqual({
      endpoint: { host: '127.0.0.1', port: 51_820 },
      dns: ['1.1.1.1', '2606:4700:4700::1111'],
      mtu: 1420,
      allowed: ['0.0.0.0/0', '::/0'],
      keepaliveSeconds: 25,
    })
  })

  test('readConfig refuses an unusable VPN setting with a message that names it', () => {
    for (const [name, value] of [
      ['TURNPIKE_PUBLIC_URL', 'ftp://shop.example'],
      ['TURNPIKE_PUBLIC_URL', 'https://user:password@shop.example'],
      ['TURNPIKE_PUBLIC_URL', 'https://shop.example/?a=1'],
      ['TURNPIKE_VPN_HOST', 'a b'],
      ['TURNPIKE_VPN_PORT', '0'],
      ['TURNPIKE_VPN_DNS', 'one.one.one.one'],
      ['TURNPIKE_VPN_MTU', '1279'],
      ['TURNPIKE_VPN_ALLOWED_IPS', ''],
      ['TURNPIKE_VPN_ALLOWED_IPS', '10.0.0.1/8'],
      ['TURNPIKE_VPN_KEEPALIVE', '-1'],
      ['TURNPIKE_VPN_POOL', '10.66.0.0/30'],
      ['TURNPIKE_VPN_POOL', 'fd00::/64'],
      ['TURNPIKE_VPN_ULA', 'fd00::/97'],
      ['TURNPIKE_VPN_ULA', '10.0.0.0/8'],
      ['TURNPIKE_RATE_LINKS', 'many'],
      ['TURNPIKE_VPN_DEVICE', 'a device'],
      ['TURNPIKE_VPN_DEVICE', 'tpvpn0123456789'],
    ] as const) {
      expect(() => read(name, value)).toThrow(BadSetting)
      expect(() => read(name, value)).toThrow(name)
    }
  })

  test('TURNPIKE_PUBLIC_URL may have a path, and its trailing slash is removed', () => {
    expect(read('TURNPIKE_PUBLIC_URL', 'https://shop.example/vpn/').publicUrl).toBe('https://shop.example/vpn')
    expect(read('TURNPIKE_PUBLIC_URL', '').publicUrl).toBeUndefined()
  })

  test('TURNPIKE_VPN_DNS may be empty, and TURNPIKE_VPN_KEEPALIVE may be 0', () => {
    expect(read('TURNPIKE_VPN_DNS', '').vpnDns).toEqual([])
    expect(read('TURNPIKE_VPN_KEEPALIVE', '0').vpnKeepalive).toBe(0)
  })
})
