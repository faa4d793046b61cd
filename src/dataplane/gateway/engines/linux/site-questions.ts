import type { SiteAnswer, SiteContent, SiteRequest } from '../../site/content.ts'

/** To the main thread, which has the event loop that another server needs. */
export type ToSite =
  | { readonly type: 'site-ask'; readonly ticket: number; readonly request: SiteRequest }
  /** The answer is not wanted any more. */
  | { readonly type: 'site-stop'; readonly ticket: number }

export type FromSite =
  | { readonly type: 'site-answer'; readonly ticket: number; readonly answer: SiteAnswer }
  | { readonly type: 'site-failed'; readonly ticket: number }

type Question = { readonly resolve: (answer: SiteAnswer) => void; readonly reject: (fault: unknown) => void }

/** The site's content for a reactor: asks the main thread. */
export class SiteQuestions {
  private readonly asked = new Map<number, Question>()
  private last = 0

  constructor(private readonly post: (message: ToSite) => void) {}

  readonly content: SiteContent = (request, signal) => {
    this.last += 1
    const ticket = this.last
    const { promise, resolve, reject } = Promise.withResolvers<SiteAnswer>()
    this.asked.set(ticket, { resolve, reject })
    this.post({ type: 'site-ask', ticket, request })
    signal.addEventListener('abort', () => this.stop(ticket))
    return promise
  }

  takeAnswer(message: FromSite): void {
    const question = this.asked.get(message.ticket)
    if (!question) return
    this.asked.delete(message.ticket)
    if (message.type === 'site-answer') question.resolve(message.answer)
    else question.reject(new Error('the site has no answer'))
  }

  private stop(ticket: number): void {
    const question = this.asked.get(ticket)
    if (!question) return
    this.asked.delete(ticket)
    this.post({ type: 'site-stop', ticket })
    question.reject(new Error('the client has gone'))
  }
}

/** The main thread's part: asks the content for a reactor. Its answers are whole, so they cross threads. */
export class SiteAnswers {
  private readonly running = new Map<number, AbortController>()

  constructor(
    private readonly content: SiteContent,
    private readonly post: (message: FromSite) => void,
  ) {}

  takeQuestion(message: ToSite): void {
    if (message.type === 'site-ask') void this.answer(message.ticket, message.request)
    else this.stop(message.ticket)
  }

  /** The reactor has died. */
  stopAll(): void {
    for (const ticket of this.running.keys()) this.stop(ticket)
  }

  private async answer(ticket: number, request: SiteRequest): Promise<void> {
    const aborter = new AbortController()
    this.running.set(ticket, aborter)
    try {
      const answer = await this.content(request, aborter.signal)
      // A next reactor counts its tickets from 1 too.
      if (this.running.get(ticket) === aborter) this.post({ type: 'site-answer', ticket, answer })
    } catch {
      if (this.running.get(ticket) === aborter) this.post({ type: 'site-failed', ticket })
    } finally {
      if (this.running.get(ticket) === aborter) this.running.delete(ticket)
    }
  }

  private stop(ticket: number): void {
    this.running.get(ticket)?.abort()
    this.running.delete(ticket)
  }
}
