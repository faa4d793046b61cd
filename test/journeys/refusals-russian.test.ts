import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { resolve } from 'node:path'
import { Glob } from 'bun'
import { CallRefused } from '../../src/console/client/call.ts'
import { meanings, sayRefusal } from '../../src/console/shared/refusals/say.ts'
import { Refusal } from '../../src/kernel/refusal.ts'
import { type Service, startService } from '../harness/service.ts'

const format = { moment: (iso: string) => iso.slice(0, 10) }

const say = ({ code, message, details }: { code: string; message: string; details?: unknown }): string =>
  sayRefusal(new CallRefused(400, code, message, details ?? null, null, false), 'ru', format)

/** Words that would be English in a Russian sentence; names, commands and what was typed are not. */
const isEnglish = (text: string): boolean => /\b(?:the|is|are|was|this|there|must|not|a|of)\b/i.test(text)

type Example = { readonly code: string; readonly message: string; readonly details: unknown }
type Described = {
  readonly components: {
    readonly schemas: { Refusal: { properties: { error: { properties: { code: { enum: string[] } } } } } }
  }
}

/** Every example of a refusal, wherever it stands in a description. */
function examplesIn(value: unknown): Example[] {
  if (typeof value !== 'object' || value === null) return []
  if ('ok' in value && value.ok === false && 'error' in value) return [value.error as Example]
  return Object.values(value).flatMap(examplesIn)
}

describe('refusals in Russian', () => {
  let shop: Service
  const described: Described[] = []
  beforeAll(async () => {
    shop = await startService('sqlite')
    for (const api of ['api', 'auth', 'admin']) {
      described.push((await (await fetch(`${shop.url}/${api}/v1/openapi.json`)).json()) as Described)
    }
  })
  afterAll(() => shop.stop())

  test('every code that a description names has a text', () => {
    for (const each of described) {
      const codes = each.components.schemas.Refusal.properties.error.properties.code.enum
      expect(codes.length).toBeGreaterThan(10)
      expect(codes.filter((code) => !(code in meanings))).toEqual([])
    }
  })

  test('every refusal that a description shows is said in Russian', () => {
    const examples = described.flatMap(examplesIn)
    expect(examples.length).toBeGreaterThan(500)
    expect([...new Set(examples.map(say))].filter(isEnglish)).toEqual([])
  })

  test('every refusal of every domain is said in Russian, whatever it is about', async () => {
    const domains = resolve(import.meta.dir, '../../src/domains')
    const texts = new Set<string>()
    for await (const file of new Glob('*/errors.ts').scan({ cwd: domains, absolute: true })) {
      const made: unknown = await import(file)
      for (const make of Object.values(made as object)) for (const each of refusalsOf(make)) texts.add(say(each))
    }
    expect(texts.size).toBeGreaterThan(100)
    expect([...texts].filter(isEnglish)).toEqual([])
  })

  test('what varies is filled in as it is written here; what nobody has translated keeps its own words', () => {
    const costs = {
      code: 'insufficient_funds',
      message: 'This costs 171.00 RUB and the balance is 42.50 RUB. Top up and try again.',
    }
    expect(say(costs)).toBe('Это стоит 171,00 ₽, а на балансе 42,50 ₽. Пополните его и повторите.')
    const problems = [
      { field: 'email', problem: 'must be an e-mail address' },
      { field: 'period', problem: 'must be one of 7, 14; did you mean it by "perod"?' },
      { field: 'shoe_size', problem: 'must shine' },
    ]
    expect(say({ code: 'invalid_request', message: 'The request is not valid.', details: problems })).toBe(
      'Эл. почта: должно быть адресом эл. почты. Срок: должно быть одним из: 7, 14. shoe_size: must shine.',
    )
    expect(say({ code: 'conflict', message: 'The moon is full.' })).toBe('Сейчас это невозможно. (The moon is full.)')
    expect(say({ code: 'brand_new', message: 'The moon is full.' })).toBe('The moon is full.')
  })
})

/** Whether it was made of the right kind of thing: a problem that is no text was not. */
const isWhole = ({ details }: Refusal): boolean =>
  !Array.isArray(details) ||
  details.every((each: { problem?: unknown }) => typeof each.problem === 'string' && /^[a-z]/.test(each.problem))

/** What a maker of refusals makes of one kind of thing or another: it takes amounts, names, lists or numbers. */
function refusalsOf(make: unknown): Refusal[] {
  if (typeof make !== 'function') return []
  return [2n, 'X', ['X', 'Y'], 3].flatMap((given) => {
    try {
      const made: unknown = make(given, given, given, given)
      return made instanceof Refusal && isWhole(made) ? [made] : []
    } catch {
      return []
    }
  })
}
