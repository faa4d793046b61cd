import { expect, test } from 'bun:test'
import { readDocs } from './docs.ts'

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
