import { expect, test } from 'bun:test'
import { lineForms, type ProxyEndpoint, toLine, toTelegram, toUrl } from './endpoint.ts'

const endpoint: ProxyEndpoint = { host: '192.0.2.7', port: 10_800, login: 'tp1', password: 'a:b@c', protocol: 'both' }

test('toUrl writes the scheme of the protocol and escapes the password', () => {
  expect(toUrl(endpoint)).toBe('http://tp1:a%3Ab%40c@192.0.2.7:10800')
  expect(toUrl({ ...endpoint, protocol: 'socks' })).toBe('socks5h://tp1:a%3Ab%40c@192.0.2.7:10800')
  expect(new URL(toUrl({ ...endpoint, host: '2001:db8::7' })).hostname).toBe('[2001:db8::7]')
})

test('toTelegram passes each part of an endpoint as a parameter', () => {
  const given = new URL(toTelegram(endpoint)).searchParams
  expect(Object.fromEntries(given)).toEqual({ server: '192.0.2.7', port: '10800', user: 'tp1', pass: 'a:b@c' })
})

test('toLine writes an endpoint in each of the 3 forms of a line, with brackets around an IPv6 address', () => {
  expect(lineForms.map((form) => toLine(endpoint, form))).toEqual([
    '192.0.2.7:10800:tp1:a:b@c',
    'tp1:a:b@c@192.0.2.7:10800',
    'http://tp1:a%3Ab%40c@192.0.2.7:10800',
  ])
  expect(toLine({ ...endpoint, host: '2001:db8::7' }, '1')).toBe('[2001:db8::7]:10800:tp1:a:b@c')
})
