import { type Answer, createAnswerChecker } from './answers.ts'

type Base = '/api/v1' | '/admin/v1' | '/auth/v1'

/** The browser side of a session: it keeps cookies and sends the console's header. Every answer is checked. */
export type BrowserSession = {
  readonly cookies: Map<string, string>
  /** The last Set-Cookie header. */
  setCookie(): string | null
  get(path: `${Base}/${string}`, headers?: Record<string, string>): Promise<Answer>
  post(path: `${Base}/${string}`, body?: unknown, headers?: Record<string, string>): Promise<Answer>
}

const bases: readonly Base[] = ['/api/v1', '/admin/v1', '/auth/v1']

export async function createBrowserSession(url: string): Promise<BrowserSession> {
  const checkers = new Map<Base, Awaited<ReturnType<typeof createAnswerChecker>>>()
  const cookies = new Map<string, string>()
  let last: string | null = null

  async function call(method: string, path: string, body: unknown, extra: Record<string, string>): Promise<Answer> {
    const base = bases.find((each) => path.startsWith(each)) ?? '/api/v1'
    const checker = checkers.get(base) ?? (await createAnswerChecker(url, base))
    checkers.set(base, checker)
    const headers = {
      Cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      'X-Turnpike-Console': '1',
      ...(method === 'POST' && { 'Content-Type': 'application/json', Origin: url }),
      ...extra,
    }
    const response = await fetch(`${url}${path}`, {
      method,
      headers,
      ...(method === 'POST' && { body: JSON.stringify(body ?? {}) }),
    })
    last = response.headers.get('set-cookie')
    const [pair = ''] = (last ?? '').split(';')
    const [name = '', value = ''] = pair.split('=')
    if (value !== '') cookies.set(name, value)
    else if (name !== '') cookies.delete(name)
    return checker.read(method, path.slice(base.length), response)
  }

  return {
    cookies,
    setCookie: () => last,
    get: (path, headers = {}) => call('GET', path, undefined, headers),
    post: (path, body, headers = {}) => call('POST', path, body, headers),
  }
}
