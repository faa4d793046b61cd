import { expect, test } from 'bun:test'
import { banner } from './banner.ts'

const url = 'https://shop.example.net'

test('a shop is said to be open only when it has a certificate to serve with', () => {
  expect(banner(url, undefined)).toStartWith(`Turnpike is open at ${url}\n`)
  const awaited = banner(url, undefined, { isAwaited: true })
  expect(awaited).not.toContain('is open')
  expect(awaited).toContain(`It opens by itself, at ${url}\n`)
})

test('a token with a quote in it is pasted into a shell as it is', () => {
  expect(banner(url, `a'b`)).toContain(`export TOKEN='a'\\''b'`)
})

test('the first lines of a sandbox say how to start a VPN node, unless one is expected on this machine', () => {
  expect(banner(url, 'token')).toContain('turnpike up --local-nodes vpn')
  expect(banner(url, 'token', { hasVpnNode: true })).not.toContain('VPN')
})
