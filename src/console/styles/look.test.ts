import { expect, test } from 'bun:test'
import { contrast } from '../../core/colour.ts'
import { colours } from './tokens.ts'

const sheets = ['frame', 'motion', 'pages', 'parts', 'rows'] as const
const read = async (name: string) => Bun.file(new URL(`${name}.css`, import.meta.url)).text()

/** Each declaration of a property, with its sheet. */
async function findValues(property: string): Promise<readonly string[]> {
  const found = await Promise.all(
    sheets.map(async (name) =>
      [...(await read(name)).matchAll(new RegExp(`(?<![\\w-])${property}: ([^;]+);`, 'g'))].map(
        ([, value = '']) => value,
      ),
    ),
  )
  return found.flat()
}

test('every size of text, radius and duration of the console is a value of tokens.ts', async () => {
  const sizes = (await findValues('font-size')).filter((each) => !each.startsWith('var(--text-'))
  // The page's own size, code in the size of its text, and a head of a table that is a button.
  expect(sizes).toEqual(['15px', '0.9em', 'inherit'])
  const radii = (await findValues('border-radius')).filter((each) => !each.startsWith('var(--radius-'))
  expect(radii.filter((each) => each !== '50%' && each !== '3px')).toEqual([])
  const moving = [...(await findValues('transition')), ...(await findValues('animation'))]
  expect(moving.filter((each) => /\d+m?s/.test(each))).toEqual([])
})

test('the console names colours by the variables of tokens.ts; only white marks, codes and previews have their own', async () => {
  const literal = (await Promise.all(sheets.map(read))).flatMap((text) => text.match(/#[0-9a-f]{3,8}\b/g) ?? [])
  expect([...new Set(literal)].toSorted()).toEqual(['#111615', '#16201e', '#e4eae8', '#fff'])
})

test.each([0, 1] as const)('texts of colour scheme %p have a contrast of 4.5 on the page and on a card', (at) => {
  for (const name of ['text', 'dim', 'good', 'warn-text', 'bad'] as const) {
    for (const under of ['ground', 'card', 'sunken'] as const) {
      const has = contrast(colours[name][at], colours[under][at])
      expect([name, under, has >= 4.5]).toEqual([name, under, true])
    }
  }
})
