import { expect, test } from 'bun:test'
import { z } from '@hono/zod-openapi'
import { Glob } from 'bun'
import { decodeProblem, type FieldProblem, problem, type SentProblem } from '../core/messages/problems.ts'
import { problemsEn } from '../core/messages/problems-en.ts'
import { Refusal, toSentProblems } from '../core/refusal.ts'
import { tokenBody } from './customer/tokens/shapes.ts'
import { readFields } from './validate.ts'

function problemsOf(schema: z.ZodType, value: unknown, from: 'body' | 'query' = 'body'): readonly SentProblem[] {
  try {
    readFields(schema, value, from)
    return []
  } catch (error) {
    if (error instanceof Refusal) return toSentProblems(error.details as readonly FieldProblem[], problemsEn)
    throw error
  }
}

const cases: readonly (readonly [schema: z.ZodType, value: unknown, sentence: string])[] = [
  [z.string(), undefined, 'is required'],
  [z.enum(['a', 'b']), undefined, 'is required'],
  [z.string(), 5, 'must be a string'],
  [z.number(), '5', 'must be a number'],
  [z.int(), 1.5, 'must be a whole number'],
  [z.int(), '5', 'must be a number'],
  [z.boolean(), 'yes', 'must be true or false'],
  [z.array(z.int()), {}, 'must be a list'],
  [z.object({}), [], 'must be an object'],
  [z.record(z.string(), z.int()), 'x', 'must be an object'],
  [z.date(), 'x', 'has the wrong type'],
  [z.enum(['a', 'b']), 'c', 'must be one of a, b'],
  [z.literal([3, 4, 6]), 5, 'must be one of 3, 4, 6'],
  [z.string().min(1), '', 'must have at least 1 character'],
  [z.string().min(2), 'x', 'must have at least 2 characters'],
  [z.string().max(3), 'four', 'must have at most 3 characters'],
  [z.array(z.int()).min(1), [], 'must have at least 1 item'],
  [z.array(z.int()).max(2), [1, 2, 3], 'must have at most 2 items'],
  [z.number().min(0.01), 0, 'must be at least 0.01'],
  [z.number().max(100), 101, 'must be at most 100'],
  [z.number().gt(0), 0, 'must be more than 0'],
  [z.number().lt(100), 100, 'must be less than 100'],
  [z.number().multipleOf(5), 7, 'must be a multiple of 5'],
  [z.string().regex(/^a$/), 'b', 'has the wrong format'],
  [z.record(z.string().regex(/^a$/), z.int()), { b: 1 }, 'has a name that is not allowed'],
  [z.union([z.string(), z.int()]), true, 'has none of the allowed forms'],
  [z.strictObject({}), { x: 1 }, 'has unknown fields: x'],
  [z.string().refine(() => false), 'x', 'is not valid'],
  [z.string().max(3, problem('uuid')), 'four', 'must be a UUID'],
  [z.string().max(3, 'a text that is no problem'), 'four', 'is not valid'],
]

test('readFields describes the problem of each kind of check in English, and prefers a message of the check', () => {
  for (const [schema, value, sentence] of cases) {
    const [found] = problemsOf(z.object({ field: schema }), { field: value })
    expect(found?.problem).toBe(sentence)
  }
})

test('readFields lists the allowed values of a field with its problem', () => {
  const schema = z.object({ ipv: z.literal([3, 4, 6]), kind: z.enum(['a', 'b']) })
  expect(problemsOf(schema, { ipv: 5 })).toEqual([
    {
      field: 'ipv',
      problem: 'must be one of 3, 4, 6',
      reason: 'one_of',
      params: { allowed: [3, 4, 6] },
      allowed: [3, 4, 6],
    },
    { field: 'kind', problem: 'is required', reason: 'required', params: {} },
  ])
})

test('readFields refuses a query parameter that is given twice', () => {
  const schema = z.object({ limit: z.string() })
  expect(problemsOf(schema, { limit: ['1', '2'] }, 'query')).toEqual([
    { field: 'limit', problem: 'must be given once', reason: 'once', params: {} },
  ])
})

type Checked = { readonly _zod: { readonly def: { readonly error?: (issue: object) => unknown } } }

const isChecked = (value: unknown): value is Checked => typeof value === 'object' && value !== null && '_zod' in value

/** The messages that checks of a schema have of their own, at any depth. */
function messagesIn(value: unknown, seen = new Set<unknown>()): unknown[] {
  if (typeof value !== 'object' || value === null || seen.has(value)) return []
  seen.add(value)
  if (!isChecked(value)) return Object.values(value).flatMap((each) => messagesIn(each, seen))
  const { def } = value._zod
  return [...(def.error ? [def.error({})] : []), ...messagesIn({ ...def }, seen)]
}

test('every own message of a check in a request schema is an encoded field problem', async () => {
  const messages = new Set<unknown>()
  for await (const file of new Glob('**/shapes{,-access}.ts').scan({ cwd: import.meta.dir, absolute: true })) {
    const operations = Object.values((await import(file)) as object)
    for (const { params, query, body } of operations.filter((each) => each && typeof each === 'object')) {
      for (const message of messagesIn([params, query, body])) messages.add(message)
    }
  }
  expect(messages.size).toBeGreaterThan(20)
  expect([...messages].filter((each) => !(decodeProblem(String(each)).reason in problemsEn))).toEqual([])
  expect([...messages].filter((each) => decodeProblem(String(each)).reason === 'invalid')).toEqual([])
})

test('readFields names each faulty field once and at most 20 fields', () => {
  const schema = z.object({ comment: z.string().max(3), ids: z.array(z.int()) })
  expect(problemsOf(schema, { comment: [1, 2, 3, 4], ids: [1] }).map((each) => each.field)).toEqual(['comment'])
  const many = Array.from({ length: 30_000 }, () => '')
  expect(problemsOf(schema, { comment: 'a', ids: many })).toHaveLength(20)
  expect(problemsOf(tokenBody, { scopes: many }).map((each) => each.field)).toEqual(['scopes'])
})
