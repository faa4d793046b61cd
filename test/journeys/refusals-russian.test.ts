import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { resolve } from 'node:path'
import { Glob } from 'bun'
import { CallRefused } from '../../src/console/client/call.ts'
import { sayRefusal } from '../../src/console/shared/refusals/say.ts'
import { en } from '../../src/core/messages/en.ts'
import { ru } from '../../src/core/messages/ru.ts'
import { type Reason, toSentence } from '../../src/core/messages/sentences.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { type Service, startService } from '../harness/service.ts'

const format = { moment: (iso: string) => iso.slice(0, 10) }

const saySentence = ({ code, message, details }: { code: string; message: string; details?: unknown }): string =>
  sayRefusal(new CallRefused(400, code, message, details ?? null, null, false), 'ru', format)

/** True when a sentence has common English words; names, commands and typed values are not matched. */
const isEnglish = (text: string): boolean => /\b(?:the|is|are|was|this|there|must|not|a|of)\b/i.test(text)

type Example = {
  readonly code: string
  readonly message: string
  readonly reason: Reason
  readonly params: object
  readonly details: unknown
}
/** Every example of a refusal anywhere in a description. */
function examplesIn(value: unknown): Example[] {
  if (typeof value !== 'object' || value === null) return []
  if ('ok' in value && value.ok === false && 'error' in value) return [value.error as Example]
  return Object.values(value).flatMap(examplesIn)
}

describe('refusals in Russian', () => {
  let shop: Service
  const described: unknown[] = []
  beforeAll(async () => {
    shop = await startService('sqlite')
    for (const api of ['api', 'auth', 'admin']) {
      described.push(await (await fetch(`${shop.url}/${api}/v1/openapi.json`)).json())
    }
  })
  afterAll(() => shop.stop())

  test('the API answers in Russian for Accept-Language: ru, with the same reason and parameters', async () => {
    const ask = async (language: string) => {
      const headers = { 'Accept-Language': language, Authorization: 'Bearer none' }
      const response = await fetch(`${shop.url}/api/v1/balance`, { headers })
      const { error } = (await response.json()) as { error: Record<string, unknown> }
      return { error, language: response.headers.get('content-language'), vary: response.headers.get('vary') }
    }
    const [english, russian] = [await ask('en, ru;q=0.5'), await ask('ru-RU, ru;q=0.9, en;q=0.8')]
    expect([english.language, russian.language]).toEqual(['en', 'ru'])
    expect(russian.vary).toContain('Accept-Language')
    expect(english.error['message']).toBe(en.token_malformed)
    expect(russian.error).toEqual({ ...english.error, message: ru.token_malformed })
    expect(english.error).toMatchObject({ code: 'invalid_token', reason: 'token_malformed', params: {} })
  })

  test('every refusal in the API descriptions has a Russian sentence', () => {
    const examples = described.flatMap(examplesIn)
    expect(examples.length).toBeGreaterThan(500)
    const listed = examples.filter((each) => Array.isArray(each.details))
    expect([...new Set(listed.map(saySentence))].filter(isEnglish)).toEqual([])
    const others = examples.filter((each) => !Array.isArray(each.details))
    expect(others.filter((each) => isEnglish(toSentence(ru, each.reason, each.params)))).toEqual([])
  })

  test('every refusal that a domain’s errors.ts can create has a Russian sentence', async () => {
    const domains = resolve(import.meta.dir, '../../src/domains')
    const texts = new Set<string>()
    for await (const file of new Glob('*/errors.ts').scan({ cwd: domains, absolute: true })) {
      const made: unknown = await import(file)
      for (const make of Object.values(made as object)) {
        for (const each of refusalsOf(make)) texts.add(Array.isArray(each.details) ? saySentence(each) : each.say(ru))
      }
    }
    expect(texts.size).toBeGreaterThan(100)
    expect([...texts].filter(isEnglish)).toEqual([])
  })

  test('a Russian refusal contains its values, and an unknown problem keeps its English text', () => {
    const costs = new Refusal('insufficient_funds', { required_rub: 171, balance_rub: 42.5 })
    expect(costs.say(ru)).toBe('Это стоит 171,00 ₽, а на балансе 42,50 ₽. Пополните его и повторите.')
    const problems = [
      { field: 'email', problem: 'must be an e-mail address' },
      { field: 'period', problem: 'must be one of 7, 14; did you mean it by "perod"?' },
      { field: 'shoe_size', problem: 'must shine' },
    ]
    expect(saySentence({ code: 'invalid_request', message: 'The request is not valid.', details: problems })).toBe(
      'Эл. почта: должно быть адресом эл. почты. Срок: должно быть одним из: 7, 14. shoe_size: must shine.',
    )
  })
})

/** True when field and problem are texts, so the factory was called with the right types. */
const isWellFormed = ({ details }: Refusal): boolean =>
  !Array.isArray(details) ||
  details.every(
    ({ field, problem }: { field?: unknown; problem?: unknown }) =>
      typeof field === 'string' && typeof problem === 'string' && /^[a-z]/.test(problem),
  )

/** Calls a factory of refusals with an amount, a name, a list and a number, and keeps what it creates. */
function refusalsOf(make: unknown): Refusal[] {
  if (typeof make !== 'function') return []
  return [2n, 'X', ['X', 'Y'], 3].flatMap((given) => {
    try {
      const made: unknown = make(given, given, given, given)
      return made instanceof Refusal && isWellFormed(made) ? [made] : []
    } catch {
      return []
    }
  })
}
