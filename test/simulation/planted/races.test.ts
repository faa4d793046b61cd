import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../../../tools/program.ts'
import { plantedRaces } from './races.ts'

test('each planted race names source text that is in its file exactly once', () => {
  for (const { name, edits } of plantedRaces) {
    for (const { file, find } of edits) {
      const times = readFileSync(join(projectRoot, file), 'utf8').split(find).length - 1
      expect(`${name}: ${file} ${times}`).toBe(`${name}: ${file} 1`)
    }
  }
})
