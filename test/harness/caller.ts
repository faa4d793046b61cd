import { type Answer, createAnswerChecker } from './answers.ts'

type CallOptions = {
  readonly token?: string | null
  readonly body?: unknown
  /** Sent unchanged, instead of `body`. */
  readonly raw?: string | Uint8Array
  readonly key?: string
  readonly headers?: Record<string, string>
}

/** Calls the API over HTTP as a customer. Every answer is checked against the OpenAPI description. */
export type Caller = {
  call(method: 'GET' | 'POST', path: string, options?: CallOptions): Promise<Answer>
  get(path: string, options?: CallOptions): Promise<Answer>
  post(path: string, body: unknown, options?: CallOptions): Promise<Answer>
}

export async function createCaller(url: string, token: string, hasOwnOperations = false): Promise<Caller> {
  const checker = await createAnswerChecker(url, '/api/v1', hasOwnOperations)

  async function call(method: 'GET' | 'POST', path: string, options: CallOptions = {}): Promise<Answer> {
    const headers: Record<string, string> = { ...options.headers }
    const bearer = options.token === undefined ? token : options.token
    if (bearer !== null) headers['Authorization'] ??= `Bearer ${bearer}`
    if (options.key !== undefined) headers['Idempotency-Key'] = options.key
    const body = options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body))
    if (body !== undefined) headers['Content-Type'] ??= 'application/json'
    const response = await fetch(`${url}/api/v1${path}`, { method, headers, ...(body !== undefined && { body }) })
    return checker.read(method, path, response)
  }

  return {
    call,
    get: (path, options) => call('GET', path, options),
    post: (path, body, options) => call('POST', path, { ...options, body }),
  }
}
