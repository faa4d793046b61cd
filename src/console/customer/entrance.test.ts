import { expect, test } from 'bun:test'
import { type Entrance, toTelegram, toUrl } from './entrance.ts'

const entrance: Entrance = { host: '192.0.2.7', port: 10_800, login: 'tp1', password: 'a:b@c', protocol: 'both' }

test('where and with what is one address, whatever the password holds', () => {
  expect(toUrl(entrance)).toBe('http://tp1:a%3Ab%40c@192.0.2.7:10800')
  expect(toUrl({ ...entrance, protocol: 'socks' })).toBe('socks5h://tp1:a%3Ab%40c@192.0.2.7:10800')
  expect(new URL(toUrl({ ...entrance, host: '2001:db8::7' })).hostname).toBe('[2001:db8::7]')
})

test('Telegram is given each part by its name', () => {
  const given = new URL(toTelegram(entrance)).searchParams
  expect(Object.fromEntries(given)).toEqual({ server: '192.0.2.7', port: '10800', user: 'tp1', pass: 'a:b@c' })
})
