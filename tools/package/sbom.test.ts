import { expect, test } from 'bun:test'
import manifest from '../../package.json' with { type: 'json' }
import { makeBom } from './sbom.ts'

test('the bill of materials has every dependency and none for development, and is the same twice', async () => {
  const bom = await makeBom()
  expect(JSON.stringify(await makeBom())).toBe(JSON.stringify(bom))
  const listed = bom.components.map((each) => each['bom-ref'])
  const direct = Object.entries(manifest.dependencies).map(([name, version]) => `${name}@${version}`)
  expect(direct.filter((each) => !listed.includes(each))).toEqual([])
  const development = Object.entries(manifest.devDependencies).map(([name, version]) => `${name}@${version}`)
  expect(development.filter((each) => listed.includes(each))).toEqual([])
  // What a package needs is listed too.
  const needed = bom.dependencies.flatMap(({ dependsOn }) => dependsOn)
  expect(needed.filter((each) => !listed.includes(each))).toEqual([])
  expect(listed.length).toBeGreaterThan(direct.length)
})
