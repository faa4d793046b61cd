import { expect, test } from 'bun:test'
import { makeClients } from './make.ts'
import { toClient } from './types.ts'

test('the client of the console is what the descriptions say; npm run client makes it anew', async () => {
  for (const { file, text } of await makeClients()) expect(await Bun.file(file).text()).toBe(text)
}, 60_000)

test('every part of a schema has its type', () => {
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
  expect(text).toContain('params: { id: string }; query: {}')
  expect(text).toContain("body: { count: number; kind?: 'a' | 4 | undefined }")
  expect(text).toContain('answer: readonly (Thing)[] | null')
  expect(text).toContain("changeThing: ['POST', '/things/{id}', 'keyed'],")
})
