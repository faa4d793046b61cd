import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020'
import type { SentProblem } from '../../src/core/messages/problems.ts'
import { preparedFolder } from './database.ts'

/** An answer that matches the OpenAPI description. */
export type Answer = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly ok: boolean
  // The answer was validated; a test may read any field.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly data: any
  /** Warnings about fields that the shop ignored; undefined without any. */
  readonly warnings: readonly SentProblem[]
  readonly error: {
    readonly code: string
    readonly message: string
    readonly reason: string
    readonly charged?: false | null
    readonly params: object
    readonly doc_url: string
    // oxlint-disable-next-line typescript/no-explicit-any
    readonly details: any
  }
}

export type AnswerChecker = { read(method: string, path: string, response: Response): Promise<Answer> }

type DescribedHeader = { readonly $ref: string }
type DescribedAnswer = {
  readonly headers?: Readonly<Record<string, DescribedHeader>>
  readonly content?: Readonly<Record<string, { readonly schema: object }>>
}
type Description = {
  paths: Record<string, Record<string, { responses: Record<string, DescribedAnswer> }>>
  components: { headers: Record<string, { readonly required?: boolean }> }
}

/** An OpenAPI description and its compiled validators, by the JSON of their schemas. */
type Compiled = {
  readonly description: Description
  readonly ajv: Ajv2020
  readonly validators: Map<string, ValidateFunction>
}

/** By the text of the description: all shops of one test file serve the same. */
const compiled = new Map<string, Compiled>()

function compile(text: string): Compiled {
  const description = JSON.parse(text) as Description
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
  ajv.addSchema(description, 'description')
  return { description, ajv, validators: new Map() }
}

async function fetchDescription(url: string, base: string): Promise<string> {
  const response = await fetch(`${url}${base}/openapi.json`)
  if (response.status !== 200) throw new Error(`the description was answered with ${response.status}`)
  return response.text()
}

/** Fetched once per run of the test command: a shop takes 0.3 s to build it, and all shops build the same. */
async function readSharedDescription(url: string, base: string): Promise<string> {
  if (preparedFolder === undefined) return fetchDescription(url, base)
  const file = join(preparedFolder, `description${base.replaceAll('/', '-')}.json`)
  if (existsSync(file)) return readFileSync(file, 'utf8')
  const text = await fetchDescription(url, base)
  const written = `${file}.${process.pid}`
  writeFileSync(written, text)
  renameSync(written, file)
  return text
}

/**
 * Checks every answer against the OpenAPI description. `isOwn`: this shop's operations differ from those of other
 * shops, so its own description is fetched.
 */
export async function createAnswerChecker(url: string, base = '/api/v1', isOwn = false): Promise<AnswerChecker> {
  const described = await (isOwn ? fetchDescription : readSharedDescription)(url, base)
  const { description, ajv, validators } = compiled.get(described) ?? compile(described)
  compiled.set(described, { description, ajv, validators })

  /** Headers that the description requires for an answer. */
  const requiredOf = (answer: DescribedAnswer | undefined): string[] =>
    Object.entries(answer?.headers ?? {})
      .filter(([, { $ref }]) => description.components.headers[$ref.split('/').at(-1) ?? '']?.required)
      .map(([name]) => name)

  function validatorFor(method: string, path: string, status: number, headers: Headers): ValidateFunction | undefined {
    // As OpenAPI has it: a path without parameters comes before one that would match it.
    const isMatching = (each: string) => new RegExp(`^${each.replace(/\{\w+\}/g, '[^/]+')}$`).test(path)
    const known = description.paths[path] ? path : Object.keys(description.paths).find(isMatching)
    const verb = method.toLowerCase()
    if (!known || !description.paths[known]?.[verb]) return undefined
    if (!description.paths[known][verb].responses[status]) {
      throw new Error(`${method} ${path} answered ${status}, which its description does not know`)
    }
    const missing = requiredOf(description.paths[known][verb].responses[status]).filter((name) => !headers.has(name))
    if (missing.length > 0) throw new Error(`${method} ${path} answered ${status} without ${missing.join(', ')}`)
    const pointer = `description#/paths/${known.replaceAll('~', '~0').replaceAll('/', '~1')}/${verb}/responses/${status}/content/application~1json/schema`
    const schema = JSON.stringify(description.paths[known][verb].responses[status].content)
    const validator = validators.get(schema) ?? ajv.compile({ $ref: encodeURI(pointer) })
    validators.set(schema, validator)
    return validator
  }

  return {
    async read(method, path, answer) {
      const text = await answer.text()
      const bare = path.split('?')[0] ?? path
      const content = JSON.parse(text) as Answer
      const validate = validatorFor(method, bare, answer.status, answer.headers)
      if (validate && !validate(content)) {
        throw new Error(
          `${method} ${path} ${answer.status} is not as described: ${ajv.errorsText(validate.errors)}\n${text}`,
        )
      }
      if (!answer.headers.get('x-request-id')) throw new Error(`${method} ${path} carries no X-Request-Id`)
      if (content.ok !== (answer.status === 200))
        throw new Error(`${method} ${path}: "ok" and ${answer.status} disagree`)
      return {
        status: answer.status,
        headers: answer.headers,
        text,
        ok: content.ok,
        data: content.data,
        warnings: content.warnings,
        error: content.error,
      }
    },
  }
}
