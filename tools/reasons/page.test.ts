import { expect, test } from 'bun:test'
import { reasonsFile, toReasonsPage } from './page.ts'

test('docs/api/reasons.md equals the output of npm run reasons', async () => {
  expect(await Bun.file(reasonsFile).text()).toBe(toReasonsPage())
})
