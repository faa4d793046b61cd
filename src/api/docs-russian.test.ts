import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Service, startService } from '../../test/harness/service.ts'
import { docsPaths, readDocs } from './docs.ts'
import texts from './docs-russian.json' with { type: 'json' }
import { partsOf, toRussian } from './docs-russian.ts'

let shop: Service
let english: string
beforeAll(async () => {
  shop = await startService('sqlite')
  english = await (await fetch(`${shop.url}/api/v1/openapi.json`)).text()
})
afterAll(() => shop.stop())

/** The texts in the markup of the two kinds of pages. */
async function readMarkupTexts(): Promise<string[]> {
  const found = await Promise.all(
    ['page', 'article'].map(async (name) => {
      const html = await Bun.file(new URL(`docs/${name}.html`, import.meta.url)).text()
      return [...html.matchAll(/(?: data-message>| aria-label="| name="description" content=")([^<"]+)/g)]
    }),
  )
  return found.flat().map(([, text = '']) => text)
}

test('every text of openapi.json and of the pages of /docs has one Russian translation, and each is used', async () => {
  const used = new Set(await readMarkupTexts())
  toRussian(JSON.parse(english), (text) => {
    for (const part of partsOf(text)) if (!/^`[a-z_]+`:$/.test(part)) used.add(part)
    return text
  })
  expect(used.size).toBeGreaterThan(500)
  const translated = Object.keys(texts)
  expect({
    missing: [...used].filter((text) => !translated.includes(text)),
    unused: translated.filter((text) => !used.has(text)),
  }).toEqual({ missing: [], unused: [] })
  const unchanged = Object.entries(texts).filter(([, russian]) => !/[а-я]/.test(russian))
  expect(unchanged.map(([text]) => text)).toEqual(['ISO 8601, UTC.', 'VPN'])
  const codeIn = (text: string) => [...text.matchAll(/`[^`]+`/g)].map(([code]) => code).toSorted()
  for (const [text, russian] of Object.entries(texts)) expect([text, codeIn(russian)]).toEqual([text, codeIn(text)])
})

test('openapi.ru.json has the operations, schemas and examples of openapi.json, and refusals in Russian', async () => {
  const answer = await fetch(`${shop.url}/docs/openapi.ru.json`)
  const russian = (await answer.json()) as object
  const sentences: string[] = []
  const withoutTexts = (name: string, value: unknown): unknown => {
    if (typeof value !== 'string') return value
    if (name === 'message' || name === 'problem') sentences.push(value)
    return ['summary', 'description', 'name', 'message', 'problem'].includes(name) ? '' : value
  }
  const tags = (document: object) => JSON.stringify(document, withoutTexts).replace(/"tags":\["[^"]+"\]/g, '')
  expect(tags(russian)).toBe(tags(JSON.parse(english)))
  const examples = JSON.stringify(russian).match(/"(?:message|problem)":"(?:[^"\\]|\\.)+"/g) ?? []
  expect(examples.length).toBeGreaterThan(500)
  expect(examples.filter((each) => !/[а-я]/.test(each))).toEqual([])
})

const cases = [
  ['', null, 'en'],
  ['', 'ru-RU,ru;q=0.9,en;q=0.8', 'ru'],
  ['', 'en-US,en;q=0.9,ru;q=0.5', 'en'],
  ['?lang=ru', 'en', 'ru'],
  ['?lang=en', 'ru', 'en'],
  ['?lang=de', 'ru', 'ru'],
] as const

test.each(cases)(
  'a page of /docs%s for Accept-Language %s is in the language %s',
  async (query, accepted, language) => {
    for (const path of ['/docs', '/docs/errors', '/docs/reasons', '/docs/events', '/docs/login-grammar']) {
      const headers = accepted === null ? {} : { 'Accept-Language': accepted }
      const answer = await fetch(shop.url + path + query, { headers })
      const html = await answer.text()
      expect([path, answer.headers.get('content-language')]).toEqual([path, language])
      expect([path, answer.headers.get('vary')]).toEqual([path, 'Accept-Language, Accept-Encoding'])
      expect(html).toContain(`<html lang="${language}">`)
      expect([path, /[а-я]/.test(html.replaceAll('По-русски', ''))]).toEqual([path, language === 'ru'])
    }
  },
)

test('links of the pages of /docs keep the language, except the link to the other language', async () => {
  const pages = docsPaths.filter((path) => !/\.\w+$/.test(path))
  const linksIn = (html: string) => [...html.matchAll(/ href="(\/docs[^".]*|[^"]*\.md[^"]*)"/g)].map(([, link]) => link)
  for (const language of ['en', 'ru'] as const) {
    const other = language === 'en' ? 'ru' : 'en'
    for (const path of pages) {
      const links = linksIn((await readDocs(path, language)).body)
      for (const link of links) expect(link).toMatch(/^\/docs[/\w-]*\?lang=(en|ru)(#\S+)?$/)
      const isArticle = links.length > 0
      expect([path, links.filter((link) => link?.includes(`lang=${other}`))]).toEqual([
        path,
        isArticle ? [`${path.replace(/\/$/, '')}?lang=${other}`] : [],
      ])
    }
  }
})

test.each([
  ['errors', 'api/errors'],
  ['events', 'api/events'],
  ['webhooks', 'api/webhooks'],
  ['login-grammar', 'login-grammar'],
])('docs/ru/%s.md has the headings, table rows and code of docs/%s.md', async (translation, original) => {
  const outlineOf = async (name: string) => {
    const text = await Bun.file(new URL(`../../docs/${name}.md`, import.meta.url)).text()
    const prose = text.replace(/^```[^]*?^```$/gm, '')
    return {
      headings: [...prose.matchAll(/^#+ /gm)].map(([mark]) => mark),
      rows: [...prose.matchAll(/^\| (?:(\d+) \| )?(`[^`]+`) \|/gm)].map(([row]) => row),
      code: [...new Set([...prose.matchAll(/`[^`]+`/g)].map(([code]) => code))].toSorted(),
    }
  }
  expect(await outlineOf(`ru/${translation}`)).toEqual(await outlineOf(original))
})
