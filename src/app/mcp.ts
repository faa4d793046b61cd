import { randomBytes } from 'node:crypto'
import manifest from '../../package.json' with { type: 'json' }
import { machineCommand } from '../cli/command.ts'
import { refuseHere } from '../core/refusal.ts'
import type { Send } from '../mcp/shop-call.ts'
import { readToolGroups, toolGroups } from '../mcp/tools.ts'
import { readShopOrigin } from './shop-url.ts'

const answerMs = 60_000
/** A request that can be repeated is sent so often while the shop or the network fails. */
const attempts = 3
/** Also after `Retry-After` of a shop that names a longer time: the program that waits is a dialogue. */
const longestPauseMs = 5_000

export const mcpCommand = machineCommand({
  name: 'mcp',
  summary:
    'Serves the API of a customer as tools of MCP, over standard input and output, to the program that starts it.',
  options: [
    {
      flag: 'write',
      meaning: 'also offer tools that change and buy, where the scopes of the token allow them',
    },
    { flag: 'tools', value: 'GROUP,…', meaning: `list only these tools: ${toolGroups.join(', ')}. Default: all.` },
  ],
  async run(given) {
    const { TURNPIKE_URL: url, TURNPIKE_TOKEN: token } = process.env
    if (!url || !token) {
      throw refuseHere("Set TURNPIKE_URL to the shop's address and TURNPIKE_TOKEN to a token of a customer.", 'usage')
    }
    const { tools } = given.flags
    const groups = tools === undefined ? undefined : readToolGroups(tools)
    if (tools !== undefined && !groups) {
      throw refuseHere(`--tools takes one or more of ${toolGroups.join(', ')}, separated by commas.`, 'usage')
    }
    const origin = readShopOrigin(url, 'TURNPIKE_URL')
    const send = createSend(origin, token)
    const { serveStandardStreams } = await import('../mcp/stdio.ts')
    const { createConfirmations } = await import('../mcp/confirmation.ts')
    const { loadScopes } = await import('../mcp/token-scopes.ts')
    const random = (bytes: number): Uint8Array => new Uint8Array(randomBytes(bytes))
    await serveStandardStreams(
      {
        send,
        confirmations: createConfirmations(token, Date.now, random),
        random,
        docUrl: `${origin}/docs/mcp`,
        version: manifest.version,
        shop: new URL(origin).host,
        mayWrite: given.has('write'),
        groups,
        howToWrite: 'Start "turnpike mcp" with --write, and a token with the scope, for tools that change or buy.',
        loadScopes: () => loadScopes(send),
      },
      (fault) => void process.stderr.write(`turnpike: ${fault.message}\n`),
    )
    return { json: null, lines: [] }
  },
})

/** Answers after which the same request may succeed: of a proxy, of a shop that restarts, or while a repeat runs. */
const isPassing = (status: number, body: string): boolean =>
  status === 502 || status === 503 || status === 504 || (status === 409 && body.includes('"request_in_progress"'))

/** Repeats a request that fails on its way, if a repeat has no second effect. */
function createSend(origin: string, token: string): Send {
  return async (path, init) => {
    const headers = new Headers(init.headers)
    headers.set('Authorization', `Bearer ${token}`)
    headers.set('User-Agent', `turnpike-mcp/${manifest.version}`)
    const mayRepeat = init.method !== 'POST' || headers.has('idempotency-key')
    for (let attempt = 1; ; attempt += 1) {
      const isLast = !mayRepeat || attempt === attempts
      let pauseMs = 200 * attempt
      try {
        const signal = AbortSignal.timeout(answerMs)
        const response = await fetch(origin + path, { ...init, headers, redirect: 'error', signal })
        // An answer that is cut short fails here, and not where it is used.
        const body = await response.text()
        if (isLast || !isPassing(response.status, body)) return new Response(body, response)
        const after = response.headers.get('retry-after')
        if (after !== null) pauseMs = Math.min(Number(after) * 1000 || 0, longestPauseMs)
      } catch (error) {
        if (isLast) throw error
      }
      await Bun.sleep(pauseMs)
    }
  }
}
