import { expect, test } from 'bun:test'
import manifest from '../../package.json' with { type: 'json' }
import { makeBom } from './sbom.ts'

test('makeBom lists every dependency and no development dependency, and two runs give the same text', async () => {
  const bom = await makeBom()
  expect(JSON.stringify(await makeBom())).toBe(JSON.stringify(bom))
  const listed = bom.components.map((each) => each['bom-ref'])
  const direct = Object.entries(manifest.dependencies).map(([name, version]) => `${name}@${version}`)
  expect(direct.filter((each) => !listed.includes(each))).toEqual([])
  const development = Object.entries(manifest.devDependencies).map(([name, version]) => `${name}@${version}`)
  expect(development.filter((each) => listed.includes(each))).toEqual([])
  // Indirect dependencies are listed too.
  const needed = bom.dependencies.flatMap(({ dependsOn }) => dependsOn)
  expect(needed.filter((each) => !listed.includes(each))).toEqual([])
  expect(listed.length).toBeGreaterThan(direct.length)
})
