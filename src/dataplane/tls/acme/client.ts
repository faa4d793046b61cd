import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import { parseJson, readBody } from '../../agent/runtime.ts'
import { type Certificate, readCertificate } from '../certificate.ts'
import { der, makeKey, oid, tag, toNamesExtension, toSigned } from '../der.ts'

/** ES256 account key (RFC 8555, 6.2) with its public JWK. */
type AccountKey = { readonly pem: string; readonly key: KeyObject; readonly jwk: Readonly<Record<string, string>> }

export const makeAccountKey = (): AccountKey => readAccountKey(makeKey())

export function readAccountKey(pem: string): AccountKey {
  const jwk = createPublicKey(pem).export({ format: 'jwk' }) as Record<string, string>
  const { crv = '', kty = '', x = '', y = '' } = jwk
  // Member order matters for the thumbprint (RFC 7638, 3).
  return { pem, key: createPrivateKey(pem), jwk: { crv, kty, x, y } }
}

const toBase64Url = (value: string | Uint8Array): string => Buffer.from(value).toString('base64url')

/** RFC 8555, 8.1. */
const keyAuthorization = (token: string, { jwk }: AccountKey): string =>
  `${token}.${toBase64Url(createHash('sha256').update(JSON.stringify(jwk)).digest())}`

/** A JWS request (RFC 8555, 6.2). */
function signRequest(key: KeyObject, header: object, payload: object | ''): string {
  const head = toBase64Url(JSON.stringify(header))
  const body = payload === '' ? '' : toBase64Url(JSON.stringify(payload))
  const signature = sign('sha256', Buffer.from(`${head}.${body}`), { key, dsaEncoding: 'ieee-p1363' })
  return JSON.stringify({ protected: head, payload: body, signature: toBase64Url(signature) })
}

/** 1.2.840.113549.1.9.14, extensionRequest. */
const extensionRequest = oid(0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x0e)

/** A certificate request (PKCS #10, RFC 2986) with an empty subject. */
function makeRequest(names: readonly string[], keyPem: string): Uint8Array {
  const publicKey = createPublicKey(keyPem).export({ type: 'spki', format: 'der' })
  const extensions = toNamesExtension(names)
  const attributes = der(tag.attributes, der(tag.sequence, extensionRequest, der(tag.set, extensions)))
  const about = der(tag.sequence, der(tag.whole, Uint8Array.of(0)), der(tag.sequence), publicKey, attributes)
  return toSigned(about, keyPem)
}

/** An authority's error (RFC 7807), for the operator. */
export class AcmeProblem extends Error {
  override readonly name = 'AcmeProblem'

  constructor(
    message: string,
    /** The last part of its type, such as `rateLimited`. */
    readonly kind = '',
    readonly retryAfterMs?: number | undefined,
  ) {
    super(message)
  }
}

type Answer = {
  readonly body: unknown
  readonly text: string
  readonly location: string | undefined
  readonly retryAfterMs: number | undefined
}

const answerWithinMs = 30_000
const maxBytes = 256 * 1024
/** Retries with a new nonce (RFC 8555, 6.5). */
const maxNonces = 10
const maxRetryMs = 7 * 86_400_000

/** ACME directory and signed requests. */
export class Authority {
  private endpoints: Record<string, unknown> | undefined
  private nonce: string | undefined

  constructor(
    private readonly deps: {
      readonly directory: string
      /** CA certificates of a private authority, as PEM. */
      readonly ca?: string | undefined
      readonly agent: string
    },
  ) {}

  async endpointOf(name: string): Promise<string> {
    if (!this.endpoints) {
      const { response, answer } = await this.call(this.deps.directory)
      if (!response.ok) throw problemOf(response.status, answer)
      this.endpoints = fieldsOf(answer.body)
    }
    const endpoint = this.endpoints[name]
    if (typeof endpoint !== 'string') throw new AcmeProblem(`the directory has no ${name}`)
    return endpoint
  }

  /** An empty payload reads (POST-as-GET, RFC 8555, 6.3). */
  async post(account: AccountKey, kid: string | undefined, url: string, payload: object | ''): Promise<Answer> {
    for (let left = maxNonces; ; left -= 1) {
      const signer = kid === undefined ? { jwk: account.jwk } : { kid }
      const header = { alg: 'ES256', ...signer, url, nonce: await this.takeNonce() }
      const { response, answer } = await this.call(url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/jose+json' },
        body: signRequest(account.key, header, payload),
      })
      if (response.ok) return answer
      const problem = problemOf(response.status, answer)
      if (problem.kind !== 'badNonce' || left === 1) throw problem
    }
  }

  private async call(url: string, init: RequestInit = {}): Promise<{ response: Response; answer: Answer }> {
    if (!url.startsWith('https://')) throw new AcmeProblem('the authority named an address that is not https')
    const tls: object = this.deps.ca === undefined ? {} : { tls: { ca: this.deps.ca } }
    const headers = { 'User-Agent': this.deps.agent, ...(init.headers as Record<string, string> | undefined) }
    const signal = AbortSignal.timeout(answerWithinMs)
    const response = await fetch(url, { ...init, ...tls, headers, signal, redirect: 'error' })
    const text = await readBody(response, maxBytes)
    if (text === undefined) throw new AcmeProblem('the answer of the authority is too long')
    this.nonce = response.headers.get('replay-nonce') ?? this.nonce
    const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '')
    const location = response.headers.get('location') ?? undefined
    const retryAfterMs = readRetryAfter(response.headers.get('retry-after'))
    return { response, answer: { body: isJson ? parseJson(text) : undefined, text, location, retryAfterMs } }
  }

  private async takeNonce(): Promise<string> {
    if (this.nonce === undefined) await this.call(await this.endpointOf('newNonce'), { method: 'HEAD' })
    const taken = this.nonce
    this.nonce = undefined
    if (taken === undefined) throw new AcmeProblem('the authority gave no nonce')
    return taken
  }
}

export const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

function problemOf(status: number, { body, retryAfterMs }: Partial<Answer>): AcmeProblem {
  const { type, detail } = fieldsOf(body)
  const kind = textOf(type).split(':').at(-1) ?? ''
  const explanation = textOf(detail).replace(/\s+/g, ' ').slice(0, 500)
  return new AcmeProblem(`${kind || `status ${status}`}${explanation ? `: ${explanation}` : ''}`, kind, retryAfterMs)
}

/** Seconds, or a date (RFC 9110, 10.2.3). */
function readRetryAfter(text: string | null): number | undefined {
  if (text === null) return undefined
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  return Number.isFinite(ms) ? Math.min(maxRetryMs, Math.max(0, ms)) : undefined
}

/** Serves http-01 tokens. */
export type Challenges = {
  readonly put: (token: string, text: string) => void
  readonly remove: (token: string) => void
}

export type AcmeAccount = { readonly key: AccountKey; readonly url: string }

const maxPolls = 60
const shippedPollMs = 500
const maxPollMs = 10_000

/** Creates or finds the account of a key (RFC 8555, 7.3). */
export async function openAccount(authority: Authority, key: AccountKey, contact: string | undefined) {
  const account = { termsOfServiceAgreed: true, ...(contact !== undefined && { contact: [`mailto:${contact}`] }) }
  const { location } = await authority.post(key, undefined, await authority.endpointOf('newAccount'), account)
  if (location === undefined) throw new AcmeProblem('the authority gave the account no address')
  return { key, url: location }
}

/** Orders a certificate with a new key (RFC 8555, 7.4). */
export async function orderCertificate(
  authority: Authority,
  { key, url: kid }: AcmeAccount,
  names: readonly string[],
  challenges: Challenges,
  pollMs = shippedPollMs,
): Promise<Certificate> {
  const post = (url: string, payload: object | ''): Promise<Answer> => authority.post(key, kid, url, payload)

  /** Polls until neither pending nor processing. */
  async function settle(url: string): Promise<Record<string, unknown>> {
    for (let polls = 0; polls < maxPolls; polls += 1) {
      const answer = await post(url, '')
      const fields = fieldsOf(answer.body)
      if (fields['status'] !== 'pending' && fields['status'] !== 'processing') return fields
      await Bun.sleep(Math.min(maxPollMs, Math.max(pollMs, answer.retryAfterMs ?? pollMs)))
    }
    throw new AcmeProblem('the authority takes too long')
  }

  async function prove(url: string): Promise<void> {
    const fields = fieldsOf((await post(url, '')).body)
    if (fields['status'] === 'valid') return
    const all = Array.isArray(fields['challenges']) ? fields['challenges'].map(fieldsOf) : []
    const challenge = all.find((each) => each['type'] === 'http-01')
    const [token, challengeUrl] = [challenge?.['token'], challenge?.['url']]
    // The token becomes part of a path (RFC 8555, 8.1).
    if (typeof challengeUrl !== 'string' || typeof token !== 'string' || !/^[A-Za-z0-9_-]{1,200}$/.test(token)) {
      throw new AcmeProblem('the authority offers no http-01 for a name')
    }
    challenges.put(token, keyAuthorization(token, key))
    try {
      await post(challengeUrl, {})
      const proven = await settle(url)
      if (proven['status'] !== 'valid') throw problemIn(proven)
    } finally {
      challenges.remove(token)
    }
  }

  const order = { identifiers: names.map((value) => ({ type: 'dns', value })) }
  const made = await post(await authority.endpointOf('newOrder'), order)
  const { authorizations, finalize } = fieldsOf(made.body)
  if (made.location === undefined || !Array.isArray(authorizations) || typeof finalize !== 'string') {
    throw new AcmeProblem('the authority’s order cannot be read')
  }
  for (const each of authorizations.slice(0, names.length + 1)) await prove(String(each))
  const keyPem = makeKey()
  await post(finalize, { csr: toBase64Url(makeRequest(names, keyPem)) })
  const done = await settle(made.location)
  if (done['status'] !== 'valid' || typeof done['certificate'] !== 'string') throw problemOf(0, { body: done['error'] })
  const { text } = await post(done['certificate'], '')
  return readCertificate(text, keyPem)
}

function problemIn(authorization: Record<string, unknown>): AcmeProblem {
  const all = Array.isArray(authorization['challenges']) ? authorization['challenges'].map(fieldsOf) : []
  const { value } = fieldsOf(authorization['identifier'])
  const body = all.find((each) => each['error'] !== undefined)?.['error']
  const problem = problemOf(0, { body })
  return new AcmeProblem(`${String(value)} was not proven: ${problem.message}`, problem.kind)
}
