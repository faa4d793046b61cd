import { describe, expect, test } from 'bun:test'
import { checkManifest } from './manifest.ts'
import { rulesBroken } from './planted.ts'

const manifest = (version: string) => JSON.stringify({ devDependencies: { hono: version } }, undefined, 2)
const migrations = (...names: string[]) => new Map(names.map((name) => [`migrations/${name}`, '']))
const brokenBy = (...names: string[]) => checkManifest(migrations(...names)).map((violation) => violation.path)

describe('checkManifest', () => {
  test('checkManifest refuses a dependency without an exact version', () => {
    for (const version of ['^1.2.3', '~1.2.3', '1.x', '*', 'latest', '>=1.2.3', '1.2']) {
      expect(rulesBroken(checkManifest, 'package.json', manifest(version))).toEqual(['exact-version'])
    }
    for (const version of ['1.2.3', '18.4.0-beta.17']) {
      expect(rulesBroken(checkManifest, 'package.json', manifest(version))).toEqual([])
    }
  })

  test('checkManifest lets only direct dependencies run install scripts', () => {
    const allowing = (name: string) =>
      JSON.stringify({ dependencies: { bun: '1.2.3' }, allowScripts: { [name]: true } }, undefined, 2)
    expect(rulesBroken(checkManifest, 'package.json', allowing('bun'))).toEqual([])
    expect(rulesBroken(checkManifest, 'package.json', allowing('stranger'))).toEqual(['install-script'])
  })

  test('checkManifest refuses migrations that are not numbered from 0001 without a gap or a repeat', () => {
    expect(brokenBy('0001-start.sql', '0002-more-tables.sql', 'README.md')).toEqual([])
    expect(brokenBy('0002-start.sql')).toEqual(['migrations/0002-start.sql'])
    expect(brokenBy('0001-a.sql', '0003-b.sql')).toEqual(['migrations/0003-b.sql'])
    expect(brokenBy('0001-a.sql', '0001-b.sql')).toEqual(['migrations/0001-b.sql'])
    expect(brokenBy('0001_a.sql')).toEqual(['migrations/0001_a.sql'])
    expect(brokenBy('0001-a.sql', '2-b.sql')).toEqual(['migrations/2-b.sql'])
  })
})
