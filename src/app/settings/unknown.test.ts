import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { settings } from './config.ts'
import { findUnknownSettings } from './unknown.ts'

test('findUnknownSettings reports a misspelt setting with its likely name and without its value', () => {
  const given = {
    TURNPIKE_TRUSTED_PROXY: '10.0.0.0/8',
    TURNPIKE_DATABSE_URL: 'postgres://turnpike:secret@db/turnpike',
    turnpike_port: '80',
    TURNPIKE_PROT: '81',
    TURNPIKE_WEATHER: 'fine',
  }
  expect(findUnknownSettings(given)).toEqual([
    { name: 'TURNPIKE_DATABSE_URL', meant: 'TURNPIKE_DATABASE_URL', isRemoved: false },
    { name: 'TURNPIKE_PROT', meant: 'TURNPIKE_PORT', isRemoved: false },
    { name: 'TURNPIKE_TRUSTED_PROXY', meant: 'TURNPIKE_TRUSTED_PROXIES', isRemoved: false },
    { name: 'TURNPIKE_WEATHER', meant: undefined, isRemoved: false },
    { name: 'turnpike_port', meant: 'TURNPIKE_PORT', isRemoved: false },
  ])
  expect(JSON.stringify(findUnknownSettings(given))).not.toContain('secret')
})

test('findUnknownSettings names a setting that an earlier version had', () => {
  const name = 'TURNPIKE_GATEWAY_TLS_WORKERS'
  expect(findUnknownSettings({ [name]: '2' })).toEqual([{ name, meant: undefined, isRemoved: true }])
})

test('findUnknownSettings ignores known settings, internal and test variables, and those of Kubernetes and the client', () => {
  const given = {
    ...Object.fromEntries(Object.values(settings).map((each) => [each.env, 'x'])),
    TURNPIKE_LEASH: '0',
    TURNPIKE_SUPERVISED: '1',
    TURNPIKE_BETWEEN: '1',
    TURNPIKE_TEST_LONG: '1',
    TURNPIKE_URL: 'https://shop.example',
    TURNPIKE_TOKEN: 'secret',
    TURNPIKE_SHOP_SERVICE_HOST: '10.96.0.7',
    TURNPIKE_SHOP_SERVICE_PORT_HTTP: '8080',
    TURNPIKE_SHOP_PORT: 'tcp://10.96.0.7:8080',
    TURNPIKE_SHOP_PORT_8080_TCP_ADDR: '10.96.0.7',
    PATH: '/bin',
  }
  expect(findUnknownSettings(given)).toEqual([])
})

test('every TURNPIKE_ name in docs is a setting', () => {
  const folder = join(import.meta.dir, '../../../docs')
  const files = (readdirSync(folder, { recursive: true }) as string[]).filter((name) =>
    /\.(md|ya?ml|service|env)$/.test(name),
  )
  const named = files.flatMap(
    (name) => readFileSync(join(folder, name), 'utf8').match(/\bTURNPIKE_[A-Z_]*[A-Z]\b/g) ?? [],
  )
  expect(findUnknownSettings(Object.fromEntries(named.map((name) => [name, ''])))).toEqual([])
})
