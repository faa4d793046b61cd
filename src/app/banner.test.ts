import { expect, test } from 'bun:test'
import { banner } from './banner.ts'

const url = 'https://shop.example.net'

test('the banner calls the shop open only when it has a certificate', () => {
  expect(banner(url, undefined)).toStartWith(`Turnpike is open at ${url}\n`)
  const awaited = banner(url, undefined, { isAwaited: true })
  expect(awaited).not.toContain('is open')
  expect(awaited).toContain(`It opens by itself, at ${url}\n`)
})

test('the banner names the address that the shop listens at, and the public one if it differs', () => {
  const listensAt = 'http://127.0.0.1:8080'
  expect(banner(listensAt, undefined, { listensAt })).toBe(banner(listensAt, undefined))
  const [first, second] = banner(url, undefined, { listensAt }).split('\n')
  expect(first).toBe(`Turnpike is open at ${listensAt}`)
  expect(second).toBe(`Customers reach it at ${url} (TURNPIKE_PUBLIC_URL), if that address leads here.`)
})

test('the banner quotes a token with a quote in it for the shell', () => {
  expect(banner(url, `a'b`)).toContain(`export TOKEN='a'\\''b'`)
})

test('the banner of a sandbox shows how to start a VPN node, unless one is expected on this machine', () => {
  expect(banner(url, 'token')).toContain('turnpike up --local-nodes vpn')
  expect(banner(url, 'token', { hasVpnNode: true })).not.toContain('VPN')
})

test('the banner of a sandbox whose token was shown before names the command that creates another', () => {
  const again = banner(url, undefined, { hasEarlierToken: true })
  expect(again).toContain('turnpike token create CUSTOMER_ID')
  expect(again).toContain('sources: npx turnpike')
  expect(again).not.toContain('TOKEN=')
})

test('the banner of a production shop without an operator names the command that adds the first one', () => {
  expect(banner(url, undefined, { needsOperator: true })).toContain('turnpike operator add NAME --role owner')
  expect(banner(url, undefined)).not.toContain('operator')
})

test('the banner names the command that builds the console, in place of its links, if it is not built', () => {
  const links = { customer: 'c', operator: 'o' }
  const unbuilt = banner(url, 'token', { links, isConsoleBuilt: false })
  expect(unbuilt).toContain('npm run console')
  expect(unbuilt).not.toContain('#enter=')
  expect(banner(url, 'token', { links, isConsoleBuilt: true })).toContain(`${url}/operator#enter=o`)
})
