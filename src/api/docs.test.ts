import { expect, test } from 'bun:test'
import { startService } from '../../test/harness/service.ts'
import { docUrlOf } from './answers.ts'
import { readDocs } from './docs.ts'
import { apiReasons } from './operation.ts'

const articles = ['/docs/login-grammar', '/docs/errors', '/docs/events', '/docs/reasons'] as const
const languages = ['en', 'ru'] as const

test.each(articles.flatMap((path) => languages.map((language) => [path, language] as const)))(
  'the keyboard reaches each table and listing of %s in %s, which scroll on a phone',
  async (path, language) => {
    const { body } = await readDocs(path, language)
    expect(body.match(/<(table|pre)\b/g)).not.toBeNull()
    expect(body).not.toMatch(/<(table|pre)(?! tabindex="0")/)
  },
)

test('doc_url of every reason is an address that answers 200, and one row of that page, in both languages', async () => {
  const service = await startService('sqlite')
  try {
    const refused = (await (await fetch(`${service.url}/api/v1/balance`)).json()) as { error: { doc_url: string } }
    expect(refused.error.doc_url).toBe(`${service.url}/docs/reasons#token_missing`)
    const addresses = new Set(apiReasons.map((reason) => docUrlOf(reason, service.url).split('#')[0] ?? ''))
    expect([...addresses]).toEqual([`${service.url}/docs/reasons`])
    for (const language of languages) {
      const page = await fetch([...addresses].join(''), { headers: { 'Accept-Language': language } })
      expect([page.status, page.headers.get('content-language')]).toEqual([200, language])
      const ids = [...(await page.text()).matchAll(/ id="(\w+)"/g)].map(([, id]) => id ?? '')
      expect(ids.toSorted()).toEqual(apiReasons.toSorted())
    }
  } finally {
    await service.stop()
  }
})

test('doc_url is relative while the shop does not know its address', () => {
  expect(docUrlOf('token_missing', '')).toBe('/docs/reasons#token_missing')
  expect(docUrlOf('token_missing', 'https://shop.example/')).toBe('https://shop.example/docs/reasons#token_missing')
})

test('the search index of /docs has each article and each reason, at addresses that answer 200, in at most 40 KB gzipped', async () => {
  const service = await startService('sqlite')
  try {
    for (const language of languages) {
      const answer = await fetch(`${service.url}/docs/search.json?lang=${language}`)
      const text = await answer.text()
      expect(Bun.gzipSync(text).length).toBeLessThan(40_000)
      const entries = JSON.parse(text) as [string, string, string][]
      const reasons = entries.filter(([, href]) => href.includes('#'))
      expect(reasons.map(([reason]) => reason).toSorted()).toEqual(apiReasons.toSorted())
      const pages = entries.filter(([, href]) => !href.includes('#'))
      expect(pages.map(([, href]) => href)).toContain(`/docs/guides/rounding?lang=${language}`)
      for (const [, href] of pages) expect([href, (await fetch(service.url + href)).status]).toEqual([href, 200])
      const word = language === 'ru' ? 'копейках' : 'kopecks'
      expect(pages.flatMap(([, href, words]) => (words.includes(word) ? [href] : []))).toEqual([
        `/docs/guides/rounding?lang=${language}`,
      ])
    }
  } finally {
    await service.stop()
  }
})
