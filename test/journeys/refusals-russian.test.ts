import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { CallRefused } from '../../src/console/client/call.ts'
import { loadFieldNames } from '../../src/console/shared/field-name.ts'
import { sayRefusal } from '../../src/console/shared/refusal.ts'
import { toText } from '../../src/core/messages/catalogue.ts'
import { en } from '../../src/core/messages/en.ts'
import { fieldProblem } from '../../src/core/messages/problems.ts'
import { problemsRu } from '../../src/core/messages/problems-ru.ts'
import { ru } from '../../src/core/messages/ru.ts'
import { type Reason } from '../../src/core/messages/sentences.ts'
import { malformed, Refusal, toSentDetails } from '../../src/core/refusal.ts'
import { type Service, startService } from '../harness/service.ts'

/** What the console shows of a refusal that the shop has sent in Russian. */
const show = (refusal: Refusal): string => {
  const details = toSentDetails(refusal.details, problemsRu)
  return sayRefusal(new CallRefused(400, refusal.code, refusal.say(ru), details, null, false), 'ru', {
    moment: String,
    money: String,
  })
}

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
    await loadFieldNames()
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

  test('the API answers field problems and warnings in Russian for Accept-Language: ru, with the same reasons', async () => {
    const ask = async (path: string, body: object, language: string) => {
      const { error, warnings } = await shop.post(path, body, { headers: { 'Accept-Language': language } })
      return { error, warnings }
    }
    const order = { country: 'DE', period: 'x', count: 0, ipv: 5 }
    const [english, russian] = [await ask('/dedicated/buy', order, 'en'), await ask('/dedicated/buy', order, 'ru')]
    const found = [
      ['country_code', 'misspelt', { sent: 'country' }],
      ['period', 'type', { expected: 'number' }],
      ['count', 'between', { from: 1, to: 1000 }],
      ['ipv', 'one_of', { allowed: [3, 4, 6] }],
    ]
    const sentences = {
      en: [
        'is required; did you mean it by "country"?',
        'must be a number',
        'must be from 1 to 1000',
        'must be one of 3, 4, 6',
      ],
      ru: [
        'нужно указать; возможно, вместо него указано «country»',
        'должно быть числом',
        'должно быть от 1 до 1000',
        'должно быть одним из: 3, 4, 6',
      ],
    }
    for (const [{ error }, language] of [[english, 'en'] as const, [russian, 'ru'] as const]) {
      const details = error.details as { field: string; problem: string; reason: string; params: object }[]
      expect(details.map((each) => [each.field, each.reason, each.params])).toEqual(found)
      expect(details.map((each) => each.problem)).toEqual(sentences[language])
      const begin = { en: 'The request is not valid. ', ru: 'В запросе ошибка. ' }[language]
      expect(error.message).toBe(begin + details.map((each) => `${each.field}: ${each.problem}`).join('; '))
    }
    const { warnings } = await ask('/premium/locations/cities', { pool_type: 'residential', countrys: ['US'] }, 'ru')
    expect(warnings).toEqual([
      {
        field: 'countrys',
        problem: 'неизвестное поле, не учтено; возможно, имелось в виду countries',
        reason: 'ignored_similar',
        params: { nearest: 'countries' },
      },
    ])
  })

  test('every refusal in the API descriptions has a Russian sentence', () => {
    const examples = described.flatMap(examplesIn)
    expect(examples.length).toBeGreaterThan(500)
    const sentences = new Set(examples.map((each) => toText(ru, each)))
    expect([...sentences].filter(isEnglish)).toEqual([])
  })

  test('every sentence of the catalogue of refusals is Russian, whatever its parameters are', () => {
    const texts = Object.values(ru).flatMap(textsOf)
    expect(texts.length).toBeGreaterThan(Object.keys(en).length)
    expect(texts.filter(isEnglish)).toEqual([])
  })

  test('the console shows the Russian sentences that it received, with the names that fields have on pages', () => {
    const costs = new Refusal('insufficient_funds', { required_rub: 171, balance_rub: 42.5 })
    expect(costs.say(ru)).toBe(
      'Это стоит 171,00 ₽, а на балансе 42,50 ₽. Деньги не списаны; пополните баланс и повторите.',
    )
    const problems = [
      fieldProblem('email', 'email'),
      fieldProblem('period', 'one_of', { allowed: [7, 14] }),
      fieldProblem('shoe_size', 'max_characters', { max: 21 }),
    ]
    expect(show(malformed(problems))).toBe(
      'Эл. почта: должно быть адресом эл. почты. Срок: должно быть одним из: 7, 14. ' +
        'Поле «shoe_size»: должно быть не длиннее 21 символа.',
    )
  })

  test('every field that the console sends has a Russian name, with which its problems begin', async () => {
    const sources = await Promise.all(
      [...new Bun.Glob('src/console/**/*.{ts,tsx}').scanSync()].map((path) => Bun.file(path).text()),
    )
    const console = sources.join('\n')
    const unnamed = described
      .flatMap((api) => operationsOf(api as Description))
      .filter(({ operationId }) => console.includes(`'${operationId}'`))
      .flatMap(({ operationId, requestBody }) =>
        Object.keys(requestBody?.content['application/json'].schema.properties ?? {})
          .filter((field) => /^(?:Поле «|(?!ALPN)[ -~])/.test(show(malformed([fieldProblem(field, 'required')]))))
          .map((field) => `${operationId} ${field}`),
      )
    expect(unnamed).toEqual([])
  })
})

type Described = {
  readonly operationId: string
  readonly requestBody?: {
    readonly content: { readonly 'application/json': { readonly schema: { readonly properties?: object } } }
  }
}
type Description = { readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>> }

const operationsOf = ({ paths }: Description): readonly Described[] =>
  Object.values(paths).flatMap((of) => Object.values(of))

/** A sentence of the catalogue with a number, name or list as every parameter. Values that do not fit are left out. */
function textsOf(sentence: unknown): string[] {
  if (typeof sentence !== 'function') return [String(sentence)]
  const texts = [3, 'X', ['X', 'Y'], null, [fieldProblem('X', 'duplicates')]].flatMap((value): string[] => {
    try {
      return [String(sentence(new Proxy({}, { get: () => value })))]
    } catch {
      return []
    }
  })
  if (texts.length === 0) throw new Error(`no parameters fit ${String(sentence)}`)
  return texts
}
