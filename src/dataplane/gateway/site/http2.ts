import { type MaybePromise, whenReady } from '../../../core/maybe-promise.ts'
import { prefixesOf } from '../../tls/seats.ts'
import { isHop, isToken } from '../ways-in/http1/head.ts'
import type { Field } from '../ways-in/http2/hpack.ts'
import { readParts } from '../ways-in/http2/request.ts'
import type { Http2Stream, StreamOwner } from '../ways-in/http2/stream.ts'
import { AnswerWriter, bodyMs, createDeadline, type Deadline, RequestBody, stallMs } from './answer.ts'
import { plainAnswer, type SiteAnswer, type SiteRequest } from './content.ts'
import type { FairBudget } from './fair-budget.ts'
import type { VisitedSite } from './visited-site.ts'

/** Undefined if the request is malformed (RFC 9113, 8.1.1 and 8.3). */
export function readStreamRequest(all: readonly Field[]): Omit<SiteRequest, 'body' | 'source'> | undefined {
  const parts = readParts(all)
  const method = parts?.pseudo.get(':method')
  if (!parts || method === undefined || !isToken(method)) return undefined
  const { pseudo, fields } = parts
  const [scheme, path] = [pseudo.get(':scheme'), pseudo.get(':path')]
  const host = pseudo.get(':authority') ?? fields.find(([name]) => name === 'host')?.[1] ?? ''
  const isPlainConnect = method === 'CONNECT' && !pseudo.has(':protocol')
  if (isPlainConnect ? scheme !== undefined || path !== undefined : !scheme || !path || !/^[\x21-\x7e]+$/.test(path))
    return undefined
  if (!isPlainConnect && !path?.startsWith('/') && !(method === 'OPTIONS' && path === '*')) return undefined
  const ended = fields.filter(([name]) => !isHop(name, new Set()) && name !== 'cookie')
  const cookies = fields.flatMap(([name, value]) => (name === 'cookie' ? value : []))
  if (cookies.length > 0) ended.push(['cookie', cookies.join('; ')])
  return { method, path: path ?? '', host, fields: ended }
}

/** A request of a visitor over HTTP/2. */
export class StreamVisitor implements StreamOwner {
  private readonly body: RequestBody
  private readonly aborter = new AbortController()
  private readonly deadline: Deadline
  private readonly writer: AnswerWriter
  private hasBegun = false

  constructor(
    private readonly stream: Http2Stream,
    private readonly request: Omit<SiteRequest, 'body' | 'source'>,
    private readonly source: string,
    private readonly site: VisitedSite,
  ) {
    const { clientPrefix } = prefixesOf(source)
    const open = (budget: FairBudget) => budget.open(clientPrefix, () => stream.reset('cancel'))
    this.writer = new AnswerWriter(stream, open(site.answers))
    this.body = new RequestBody(open(site.bodies))
    this.deadline = createDeadline(site.deps.after)
    this.deadline.set(bodyMs, () => stream.reset('cancel'))
    // The stream of a CONNECT stays open.
    if (request.method === 'CONNECT') this.serve()
  }

  get isClosed(): boolean {
    return this.stream.isClosed
  }

  onSocketData(bytes: Uint8Array): void {
    if (this.hasBegun || this.body.add(bytes)) return
    this.hasBegun = true
    this.body.release()
    void this.respond(plainAnswer(413))
  }

  onSocketEnd(): void {
    this.serve()
  }

  onSocketDrain(): void {
    if (!this.writer.flush()) this.awaitProgress()
  }

  onSocketClose(): void {
    this.deadline.clear()
    this.body.release()
    this.writer.close()
    this.aborter.abort()
  }

  private serve(): void {
    if (this.hasBegun) return
    this.hasBegun = true
    this.deadline.set(stallMs, () => this.aborter.abort())
    const { request, source, site } = this
    const answer = site.answer({ ...request, source, body: this.body.take() }, this.aborter.signal)
    const written = whenReady(answer, (ready) => this.respond(ready))
    if (written instanceof Promise)
      void written.catch((fault: unknown) => {
        site.noteFault(fault, this.aborter.signal)
        this.stream.reset('internal')
      })
  }

  private respond(answer: SiteAnswer): MaybePromise<void> {
    const { body } = answer
    const { fields, hasBody } = this.site.complete(answer, this.request.method === 'HEAD')
    this.stream.respond([[':status', String(answer.status)], ...fields], !hasBody)
    if (hasBody && body instanceof Uint8Array) this.writer.push(body)
    else if (hasBody && 'read' in body) this.writer.pushFile(body)
    return this.finish()
  }

  private finish(): MaybePromise<void> {
    if (this.isClosed) return
    if (!this.writer.isSent) {
      this.awaitProgress()
      return this.writer.drained().then(() => this.finish())
    }
    this.deadline.clear()
    this.stream.end()
  }

  /** The client may keep its window at 0. */
  private awaitProgress(): void {
    this.deadline.set(stallMs, () => this.stream.reset('cancel'))
  }
}
