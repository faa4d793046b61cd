import { expect, test } from 'bun:test'
import { z } from '@hono/zod-openapi'
import { choice, exampleAt, flag, list, moment, rows, text, whole } from './fields.ts'
import { exampleOf, operationsOf } from './operation.ts'

const thing = z.object({
  id: whole('The id.', 7),
  kind: choice('The kind.', ['small', 'large']),
  isNew: flag('Whether it is new.'),
  note: text('A note.').nullable(),
  location: text('A place.', 'DE').nullable(),
  made_at: moment('When it was made.'),
  ended_at: moment('When it ended.').nullable(),
  hint: text('A hint.', 'x').optional(),
  owner: z.object({ name: text('The name.', 'Anna') }).nullable(),
  tags: list('Tags.', z.string()),
  parts: rows('Parts.', { size: whole('The size.', 3) }),
})

const thingExample = {
  id: 7,
  kind: 'small' as const,
  isNew: true,
  note: null,
  location: 'DE',
  made_at: new Date(exampleAt).toISOString(),
  ended_at: null,
  owner: { name: 'Anna' },
  tags: [],
  parts: [{ size: 3 }],
}

test('exampleOf builds a value from the examples of the fields, without optional fields', () => {
  expect(exampleOf(thing)).toEqual(thingExample)
  expect(exampleOf(z.union([thing, z.null()]))).toEqual(thingExample)
})

test('an operation derives its examples from its fields, and given values replace single fields', () => {
  const operation = operationsOf({ tag: 'Things' })('addThing', 'POST /things/{id}', {
    summary: 'Add a thing',
    body: z.object({ name: text('A name.', 'lamp'), size: whole('A size.', 3).optional() }),
    exampleBody: { size: 4 },
    answer: thing,
    example: { note: 'new' },
  })
  expect(operation.example).toEqual({ ...thingExample, note: 'new' })
  expect(operation.exampleBody).toEqual({ name: 'lamp', size: 4 })
  expect(operation).toMatchObject({ method: 'POST', path: '/things/{id}', codes: ['not_found'], role: 'owner' })
})
