import { describe, expect, test } from 'bun:test'
import { checkOrigin } from './origin.ts'
import { rulesBroken } from './planted.ts'

const broken = (path: string, text: string) => rulesBroken(checkOrigin, path, text)

/** Joined at run time, so that this file does not contain a forbidden path. */
const under = (folder: string) => ['', folder, 'place'].join('/')
const registryHost = ['registry', 'npmjs', 'org'].join('.')

describe('checkOrigin', () => {
  test('checkOrigin refuses paths of the development machine in any text', () => {
    for (const folder of ['work', 'farm', 'root']) {
      expect(broken('docs/install.md', `cd ${under(folder)}`)).toEqual(['machine-path'])
      expect(broken('src/app/settings/config.ts', `const a = '${under(folder)}'`)).toEqual(['machine-path'])
      expect(broken('docs/install.md', `https://example.com${under(folder)} or ./a${under(folder)}`)).toEqual([])
    }
  })

  test('checkOrigin refuses the name of a package registry', () => {
    expect(broken('package-lock.json', `{ "resolved": "https://packages.example/a.tgz" }`)).toEqual(['registry'])
    expect(broken('package-lock.json', `{ "integrity": "sha512-a" }`)).toEqual([])
    expect(broken('.npmrc', 'registry=http://packages.example')).toEqual(['registry'])
    expect(broken('.npmrc', '@scope:registry = http://packages.example')).toEqual(['registry'])
    expect(broken('.npmrc', 'save-exact=true')).toEqual([])
    expect(broken('docs/install.md', `npm install from ${registryHost}`)).toEqual(['registry'])
    expect(broken('docs/install.md', 'installs from any registry')).toEqual([])
  })
})
