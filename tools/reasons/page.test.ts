import { expect, test } from 'bun:test'
import { reasonsFile, toReasonsPage } from './page.ts'

test.each(['en', 'ru'] as const)('the page of reasons in %s equals the output of npm run reasons', async (language) => {
  expect(await Bun.file(reasonsFile(language)).text()).toBe(toReasonsPage(language))
})
