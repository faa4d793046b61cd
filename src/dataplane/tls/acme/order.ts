import { type Certificate, readCertificate } from '../certificate.ts'
import { AcmeProblem, type Answer, type Authority, fieldsOf, problemOf } from './authority.ts'
import { type AccountKey, keyAuthorization } from './jws.ts'
import { makeKey, makeRequest } from './request.ts'

/** Where an authority finds what it was told to look for. */
export type Challenges = {
  readonly put: (token: string, text: string) => void
  readonly remove: (token: string) => void
}

export type Account = { readonly key: AccountKey; readonly url: string }

/** How long an authority may take to make up its mind, and how often it is asked meanwhile. */
const mostPolls = 60
const shippedPollMs = 500
const mostPollMs = 10_000

/** Opens an account, or finds the one that the key has already (RFC 8555, 7.3). */
export async function openAccount(
  authority: Authority,
  key: AccountKey,
  contact: string | undefined,
): Promise<Account> {
  const wish = {
    termsOfServiceAgreed: true,
    ...(contact !== undefined && { contact: [`mailto:${contact}`] }),
  }
  const { location } = await authority.post(key, undefined, await authority.placeOf('newAccount'), wish)
  if (location === undefined) throw new AcmeProblem('the authority gave the account no address', '', undefined)
  return { key, url: location }
}

/** Gets a certificate for these names, with a key of its own (RFC 8555, 7.4). */
export async function orderCertificate(
  authority: Authority,
  { key, url: kid }: Account,
  names: readonly string[],
  challenges: Challenges,
  pollMs = shippedPollMs,
): Promise<Certificate> {
  const post = (url: string, payload: object | ''): Promise<Answer> => authority.post(key, kid, url, payload)

  /** Asks again until it is neither pending nor processing. */
  async function settle(url: string): Promise<Record<string, unknown>> {
    for (let polls = 0; polls < mostPolls; polls += 1) {
      const answer = await post(url, '')
      const fields = fieldsOf(answer.body)
      if (fields['status'] !== 'pending' && fields['status'] !== 'processing') return fields
      await Bun.sleep(Math.min(mostPollMs, Math.max(pollMs, answer.retryAfterMs ?? pollMs)))
    }
    throw new AcmeProblem('the authority takes too long', '', undefined)
  }

  async function prove(url: string): Promise<void> {
    const fields = fieldsOf((await post(url, '')).body)
    if (fields['status'] === 'valid') return
    const all = Array.isArray(fields['challenges']) ? fields['challenges'].map(fieldsOf) : []
    const challenge = all.find((each) => each['type'] === 'http-01')
    const [token, place] = [challenge?.['token'], challenge?.['url']]
    // Nothing else can stand in a path, or in a file's name (RFC 8555, 8.1).
    if (typeof place !== 'string' || typeof token !== 'string' || !/^[A-Za-z0-9_-]{1,200}$/.test(token)) {
      throw new AcmeProblem('the authority offers no http-01 for a name', '', undefined)
    }
    challenges.put(token, keyAuthorization(token, key))
    try {
      await post(place, {})
      const proven = await settle(url)
      if (proven['status'] !== 'valid') throw problemIn(proven)
    } finally {
      challenges.remove(token)
    }
  }

  const wish = { identifiers: names.map((value) => ({ type: 'dns', value })) }
  const made = await post(await authority.placeOf('newOrder'), wish)
  const { authorizations, finalize } = fieldsOf(made.body)
  if (made.location === undefined || !Array.isArray(authorizations) || typeof finalize !== 'string') {
    throw new AcmeProblem('the authority’s order cannot be read', '', undefined)
  }
  for (const each of authorizations.slice(0, names.length + 1)) await prove(String(each))
  const keyPem = makeKey()
  await post(finalize, { csr: Buffer.from(makeRequest(names, keyPem)).toString('base64url') })
  const done = await settle(made.location)
  if (done['status'] !== 'valid' || typeof done['certificate'] !== 'string') {
    throw problemOf(0, { body: done['error'], retryAfterMs: undefined })
  }
  const { text } = await post(done['certificate'], '')
  return readCertificate(text, keyPem)
}

/** Why a name was not proven: the challenge says. */
function problemIn(authorization: Record<string, unknown>): AcmeProblem {
  const all = Array.isArray(authorization['challenges']) ? authorization['challenges'].map(fieldsOf) : []
  const { value } = fieldsOf(authorization['identifier'])
  const body = all.find((each) => each['error'] !== undefined)?.['error']
  const problem = problemOf(0, { body, retryAfterMs: undefined })
  return new AcmeProblem(`${String(value)} was not proven: ${problem.message}`, problem.kind, undefined)
}
