import { join } from 'node:path'
import type { Page } from 'playwright-core'

/** Texts that only the other language has: the first literals of `pair(…)` and `{ en: …, ru: … }` in the sources. */
async function readEnglish(): Promise<readonly string[]> {
  const root = join(import.meta.dir, '../..')
  const literal = String.raw`'((?:[^'\\]|\\.)*)'`
  const forms = [
    new RegExp(String.raw`pair\(\s*${literal},\s*${literal},?\s*\)`, 'g'),
    new RegExp(String.raw`\{\s*en: ${literal},\s*ru: ${literal},?\s*\}`, 'g'),
  ]
  const [english, russian] = [new Set<string>(), new Set<string>()]
  for await (const path of new Bun.Glob('src/{console,api}/**/*.{ts,tsx}').scan(root)) {
    const source = await Bun.file(join(root, path)).text()
    for (const form of forms) {
      for (const [, en = '', ru = ''] of source.matchAll(form)) {
        english.add(en)
        russian.add(ru)
      }
    }
  }
  // Names such as VPN are the same in both languages, and so are units.
  return [...english].filter((each) => /[a-z]{3}/.test(each) && !russian.has(each))
}

/** The link to the other language, and names that tests give their things. */
const ofTests = ['English', 'Phone', 'Laptop', 'Reseller']

let english: Promise<readonly string[]> | undefined

/**
 * Texts in the other language, with labels for screen readers: on an English page all with a Russian letter, on a
 * Russian page those that the sources have as English, and runs of three English words. Code, fields, announcements and
 * the names in `ofTests` are left out.
 */
export async function findForeign(page: Page, locale: string): Promise<string[]> {
  english ??= readEnglish()
  const texts = await page.evaluate<string[]>(`(() => {
    const leftOut = 'script, style, code, pre, kbd, samp, textarea, input, option[lang], [lang]:not(html), .announced'
    const found = [document.title]
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    while (walker.nextNode()) {
      const { parentElement } = walker.currentNode
      // The options of a closed list have no box of their own.
      const box = parentElement.closest('select') ?? parentElement
      if (parentElement.closest(leftOut) || !box.checkVisibility({ checkVisibilityCSS: true })) continue
      found.push(walker.currentNode.textContent.trim())
    }
    for (const element of document.querySelectorAll('[aria-label], [placeholder], [title], [alt]')) {
      if (element.closest('[lang]:not(html)')) continue
      for (const name of ['aria-label', 'placeholder', 'title', 'alt']) found.push(element.getAttribute(name) ?? '')
    }
    return [...new Set(found)].filter((each) => each !== '')
  })()`)
  if (!locale.startsWith('ru')) return texts.filter((each) => /[а-яё]/i.test(each) && each !== 'Русский')
  const known = new Set(await english)
  for (const each of ofTests) known.delete(each)
  return texts.filter((each) => known.has(each) || /(?<![\w-])[a-z]{2,}(?: [a-z]{2,}){2}/.test(each))
}
