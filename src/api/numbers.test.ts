import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type BrowserSession, createBrowserSession } from '../../test/harness/browser-session.ts'
import { type Service, startService } from '../../test/harness/service.ts'
import { createActions } from '../app/shop/admin.ts'

type Schema = {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
}
type Described = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}
type DescribedOperation = {
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: Schema; readonly example?: object }>>
  }
}

let service: Service
let page: BrowserSession
beforeAll(async () => {
  service = await startService('sqlite')
  page = await createBrowserSession(service.url)
  const { db, signIn } = service.services
  const { customer } = await service.newCustomer()
  const { text: link } = await db.transact(async (tx) =>
    signIn.issueLink(tx, { kind: 'customer', owner: customer, purpose: 'enter' }),
  )
  await page.post('/auth/v1/customer/sign-in/link', { link })
})
afterAll(() => service.stop())

/** Steps to a value: the name of a field, `0` into a list, and any name into a record. */
type Path = readonly string[]

/** The paths of all fields of a body that are numbers and never text. */
function numbersIn(described: Described, given: Schema | undefined, path: Path = []): Path[] {
  const schema = given?.$ref ? described.components.schemas[given.$ref.split('/').at(-1) ?? ''] : given
  if (!schema) return []
  const types = [schema.type ?? []].flat()
  const isNumber = (types.includes('integer') || types.includes('number')) && !types.includes('string')
  const { additionalProperties: each } = schema
  return [
    ...(isNumber ? [path] : []),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, of]) => numbersIn(described, of, [...path, name])),
    ...numbersIn(described, schema.items, [...path, '0']),
    ...(typeof each === 'object' ? numbersIn(described, each, [...path, 'name']) : []),
  ]
}

/** The value with another one at a path. */
function withValue(of: unknown, [step, ...rest]: Path, value: unknown): unknown {
  if (step === undefined) return value
  if (step === '0') return [withValue(undefined, rest, value)]
  const fields = typeof of === 'object' && of !== null ? (of as Record<string, unknown>) : {}
  return { ...fields, [step]: withValue(fields[step], rest, value) }
}

test('every number in the body of every operation is refused as a text, with the reason type', async () => {
  await createActions(service.services).addOperator('olga', 'owner')
  const { text: token } = await service.services.operators.issueToken('olga', { name: 't', expiresAt: null })
  const tried: string[] = []
  for (const base of ['/api/v1', '/auth/v1', '/admin/v1'] as const) {
    const described = (await (await fetch(`${service.url}${base}/openapi.json`)).json()) as Described
    for (const [pattern, { post }] of Object.entries(described.paths)) {
      const body = post?.requestBody?.content['application/json']
      for (const path of numbersIn(described, body?.schema)) {
        const sent = withValue(body?.example, path, '1')
        // The parameters of paths are ids, names and addresses: one text fits them all.
        const to = `${base}/${pattern.slice(1).replaceAll(/\{\w+\}/g, '127.0.0.1')}` as const
        const { error } =
          base === '/admin/v1'
            ? await page.post(to, sent, { Cookie: '', Authorization: `Bearer ${token}` })
            : await page.post(to, sent)
        const problems = Array.isArray(error?.details) ? error.details : []
        const name = path.join('.')
        const named = problems.find((each: { readonly field: string }) => each.field === name)
        expect([to, name, named?.reason]).toEqual([to, name, 'type'])
        tried.push(to)
      }
    }
  }
  expect(new Set(tried).size).toBeGreaterThan(35)
})
