import { articles, readDocs } from './docs.ts'
import type { AnswerLanguage } from './language.ts'

/** What the search of /docs finds beside operations. The page loads it when its search field gets the focus. */
export const searchIndexPath = '/docs/search.json'

/** Title, address, and the words that it is found by. */
type Entry = readonly [title: string, href: string, words: string]

const reasonsPage = '/docs/reasons'

/** The search index in a language: each article but the page of reasons, and each reason. */
export async function readSearchIndex(language: AnswerLanguage): Promise<string> {
  const found = await Promise.all(
    articles.map(async (path): Promise<readonly Entry[]> => {
      const { body } = await readDocs(`${path}.md`, language)
      if (path === reasonsPage) return reasonsOf(body, language)
      const title = /^# (.+)$/m.exec(body)?.[1] ?? path
      return [[title, `${path}?lang=${language}`, wordsOf(body)]]
    }),
  )
  return JSON.stringify(found.flat())
}

/** Each word once, without programs and marks. */
const wordsOf = (text: string): string =>
  [
    ...new Set(
      text
        .replace(/^```[^]*?^```$/gm, '')
        .toLowerCase()
        .match(/[\p{L}\p{N}_]{2,}/gu),
    ),
  ].join(' ')

/** Rows of the table of reasons: status, code, reason, meaning. */
const reasonsOf = (text: string, language: AnswerLanguage): readonly Entry[] =>
  [...text.matchAll(/^\|[^|]*\|[^|]*\| `(\w+)` \|(.*)\|$/gm)].map(([, reason = '', meaning = '']) => [
    reason,
    `${reasonsPage}?lang=${language}#${reason}`,
    `${reason} ${wordsOf(meaning)}`,
  ])
