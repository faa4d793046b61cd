import { readAddress } from '../../../kernel/address.ts'
import type { NodeExit } from '../../../wire/node/state.ts'
import { formatAuthority, type Target } from '../protocol/authority.ts'

/**
 * What an upstream proxy is to be told next, or that it is open with the first bytes of the destination, or that it
 * failed.
 */
type UpstreamStep =
  | { readonly type: 'write'; readonly bytes: Uint8Array }
  | { readonly type: 'open'; readonly rest: Uint8Array }
  | { readonly type: 'failed' }

/**
 * Bytes in, steps out: the same ones however the bytes are split. After `open` or `failed` there is nothing more to
 * say.
 */
export type UpstreamTalk = { begin(): Uint8Array; feed(chunk: Uint8Array): readonly UpstreamStep[] }

const mostHeadBytes = 16 * 1024
const failed: UpstreamStep = { type: 'failed' }

/** The client's side of a proxy's handshake, to a literal address: what the name means was settled here. */
export function talkTo(exit: NodeExit, target: Target): UpstreamTalk {
  return exit.kind === 'http' ? connectTalk(exit, target) : socksTalk(exit, target)
}

/** RFC 9110, 9.3.6. */
function connectTalk({ credentials }: NodeExit, target: Target): UpstreamTalk {
  let answer = Buffer.alloc(0)
  return {
    begin() {
      const authority = formatAuthority(target)
      const basic = credentials && Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')
      const login = basic === null ? '' : `Proxy-Authorization: Basic ${basic}\r\n`
      return Buffer.from(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${login}\r\n`)
    },
    feed(chunk) {
      answer = Buffer.concat([answer, chunk])
      const end = answer.indexOf('\r\n\r\n')
      if (end < 0 ? answer.length >= mostHeadBytes + 4 : end > mostHeadBytes) return [failed]
      if (end < 0) return []
      const isOpen = /^HTTP\/1\.[01] 2\d\d(?: |\r|$)/.test(answer.toString('latin1', 0, end))
      return [isOpen ? { type: 'open', rest: answer.subarray(end + 4) } : failed]
    },
  }
}

type Stage = 'greeting' | 'login' | 'request'

/** RFC 1928 with RFC 1929. */
function socksTalk({ credentials }: NodeExit, target: Target): UpstreamTalk {
  let stage: Stage = 'greeting'
  let answer = Buffer.alloc(0)

  function ask(next: Stage, bytes: Uint8Array, used: number): UpstreamStep {
    stage = next
    answer = answer.subarray(used)
    return { type: 'write', bytes }
  }

  /** Undefined while more is needed. */
  function read(): UpstreamStep | undefined {
    if (answer.length < 2) return undefined
    if (stage === 'greeting') {
      if (answer[0] !== 5) return failed
      if (answer[1] === 0) return ask('request', socksRequest(target), 2)
      return answer[1] === 2 && credentials ? ask('login', socksLogin(credentials), 2) : failed
    }
    if (stage === 'login') return answer[1] === 0 ? ask('request', socksRequest(target), 2) : failed
    if (answer[0] !== 5 || answer[1] !== 0) return failed
    if (answer.length < 5) return undefined
    const length = replyLength(answer)
    if (length === undefined) return failed
    return answer.length < length ? undefined : { type: 'open', rest: answer.subarray(length) }
  }

  return {
    begin: () => (credentials ? Uint8Array.of(5, 2, 0, 2) : Uint8Array.of(5, 1, 0)),
    feed(chunk) {
      answer = Buffer.concat([answer, chunk])
      const steps: UpstreamStep[] = []
      for (let step = read(); step; step = read()) {
        steps.push(step)
        if (step.type !== 'write') break
      }
      return steps
    },
  }
}

function socksLogin({ username, password }: { username: string; password: string }): Uint8Array {
  const [name, secret] = [Buffer.from(username), Buffer.from(password)]
  return Buffer.concat([Uint8Array.of(1, name.length), name, Uint8Array.of(secret.length), secret])
}

function socksRequest({ host, port }: Target): Uint8Array {
  const address = readAddress(host)
  if (!address) throw new Error('an upstream proxy is given an address, never a name')
  const kind = address.version === 4 ? 1 : 4
  return Buffer.concat([Uint8Array.of(5, 1, 0, kind), address.bytes, Uint8Array.of(port >> 8, port & 255)])
}

/** RFC 1928, 6: the length of a reply depends on the kind of address in it. */
function replyLength([, , , kind, first = 0]: Uint8Array): number | undefined {
  if (kind === 1) return 10
  if (kind === 4) return 22
  return kind === 3 ? 7 + first : undefined
}
