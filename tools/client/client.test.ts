import { expect, test } from 'bun:test'
import { makeClients } from './make.ts'
import { findShared, toClient, toShared } from './types.ts'

test('the committed clients of the console equal the output of npm run client', async () => {
  for (const { file, text } of await makeClients()) expect(await Bun.file(file).text()).toBe(text)
})

test('toClient writes a type for every part of a schema', () => {
  const text = toClient(
    {
      paths: {
        '/things/{id}': {
          post: {
            operationId: 'changeThing',
            parameters: [
              { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
              { name: 'Idempotency-Key', in: 'header', schema: { type: 'string' } },
            ],
            requestBody: {
              content: {
                'application/json': {
                  schema: {
                    properties: { count: { type: 'integer' }, kind: { enum: ['a', 4] } },
                    required: ['count'],
                    anyOf: [{ required: ['kind'] }],
                  },
                },
              },
            },
            responses: {
              200: {
                content: {
                  'application/json': {
                    schema: {
                      properties: {
                        data: { type: ['array', 'null'], items: { anyOf: [{ $ref: '#/components/schemas/Thing' }] } },
                      },
                    },
                  },
                },
              },
            },
          },
        },
      },
      components: { schemas: { Thing: { type: 'object', additionalProperties: { type: 'boolean' } } } },
    },
    'a test',
  )
  expect(text).toContain('export type Thing = Readonly<Record<string, boolean>>')
  expect(text).toContain('params: { id: string }; body: ')
  expect(text).toContain("body: { count: number; kind?: 'a' | 4 }")
  expect(text).toContain('answer: readonly (Thing)[] | null')
  expect(text).toContain("changeThing: ['POST', '/things/{id}', 'keyed'],")
})

test('toShared writes a schema that all descriptions share once, and the clients that use it import it', () => {
  const refusal = { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] }
  const own = (type: string) => ({
    paths: {},
    components: { schemas: { Refusal: refusal, Thing: { type, items: { $ref: '#/components/schemas/Refusal' } } } },
  })
  const [first, second] = [own('array'), own('string')]
  const shared = findShared([first, second])
  expect([...shared]).toEqual(['Refusal'])
  expect(toShared(first, shared)).toContain('export type Refusal = { code: string }')
  expect(toClient(first, 'a test', shared)).toContain("import type { Refusal } from './shapes.ts'")
  for (const each of [first, second]) expect(toClient(each, 'a test', shared)).not.toContain('type Refusal =')
  expect(toClient(second, 'a test', shared)).not.toContain('import')
})

test('toClient writes a long answer once and refers to it in other operations', () => {
  const fields = Array.from({ length: 10 }, (_, index) => `a_long_field_${index}`)
  const data = { type: 'object', properties: Object.fromEntries(fields.map((name) => [name, { type: 'string' }])) }
  const answer = { 200: { content: { 'application/json': { schema: { properties: { data } } } } } }
  const get = (operationId: string) => ({ get: { operationId, responses: answer } })
  const text = toClient({ paths: { '/first': get('first'), '/second': get('second') } }, 'a test')
  expect(text.split('a_long_field_0')).toHaveLength(2)
  expect(text).toContain("second: { answer: Operations['first']['answer'] }")
})
