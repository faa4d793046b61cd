import { expect, test } from 'bun:test'
import { runCommand, runTurnpike } from '../../test/harness/turnpike.ts'
import { readShopOrigin } from './shop-url.ts'

test('"turnpike mcp" without a shop or a token exits 2 and names the variables', async () => {
  const ended = await runCommand(['mcp'])
  expect(ended).toMatchObject({ exit: 2, out: '' })
  expect(ended.err).toContain("Set TURNPIKE_URL to the shop's address and TURNPIKE_TOKEN to a token of a customer.")
})

test('"turnpike mcp" ends with 0 when its input ends, and prints nothing but messages of the protocol', async () => {
  const env = { TURNPIKE_URL: 'http://127.0.0.1:1', TURNPIKE_TOKEN: 'tp_test_token' }
  expect(await runTurnpike(['mcp', '--write'], env)).toEqual({ exit: 0, out: '', err: '' })
})

test('a token is sent over TLS or to this machine only', () => {
  expect(readShopOrigin('https://shop.example.com/anything', 'TURNPIKE_URL')).toBe('https://shop.example.com')
  expect(readShopOrigin('http://127.0.0.1:8080', 'TURNPIKE_URL')).toBe('http://127.0.0.1:8080')
  for (const text of [
    'http://shop.example.com',
    'shop.example.com',
    'ftp://127.0.0.1',
    'http://127.0.0.1.example.com',
  ]) {
    expect(() => readShopOrigin(text, 'TURNPIKE_URL')).toThrow('TURNPIKE_URL is a URL that begins with https://')
  }
})
