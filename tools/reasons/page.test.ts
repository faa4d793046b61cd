import { expect, test } from 'bun:test'
import { reasonsFile, toReasonsPage } from './page.ts'

test.each(['en', 'ru'] as const)('every message of the page of reasons in %s is whole sentences', (language) => {
  const messages = toReasonsPage(language)
    .split('\n')
    .flatMap((line) => /^\| \d+ \| `\w+` \| `(\w+)` \| (.*) \|$/.exec(line)?.slice(1) ?? [])
  expect(messages.length).toBeGreaterThan(2 * 200)
  const [lists, wrong] = [['invalid_request', 'prices_invalid'], /undefined|NaN|\[object|params/]
  for (let at = 0; at < messages.length; at += 2) {
    const [reason = '', message = ''] = messages.slice(at)
    expect([reason, wrong.test(message), lists.includes(reason) || message.endsWith('.')]).toEqual([
      reason,
      false,
      true,
    ])
  }
})

test.each(['en', 'ru'] as const)('the page of reasons in %s equals the output of npm run reasons', async (language) => {
  expect(await Bun.file(reasonsFile(language)).text()).toBe(toReasonsPage(language))
})
