import type { Clock } from '../../core/time.ts'
import { type PaymentProvider, ProviderRefused } from './ports.ts'

/** How a provider has answered this process; nothing of it is kept. A no is an answer too, and one to look at. */
export type ProviderHealth = {
  readonly answeredAt: number | null
  readonly failedAt: number | null
  readonly failure: 'refused' | 'unavailable' | null
}

const unasked: ProviderHealth = { answeredAt: null, failedAt: null, failure: null }

/** Notes of every question to a provider whether it was answered. */
export function createHealth(clock: Clock) {
  const known = new Map<string, ProviderHealth>()
  const of = (name: string): ProviderHealth => known.get(name) ?? unasked

  const noteAnswer = (name: string) => void known.set(name, { ...of(name), answeredAt: clock() })

  function noteFailure(name: string, error: unknown): void {
    const failure = error instanceof ProviderRefused ? 'refused' : 'unavailable'
    known.set(name, { ...of(name), failedAt: clock(), failure })
  }

  async function asked<Answer>(name: string, ask: () => Promise<Answer>): Promise<Answer> {
    try {
      const answer = await ask()
      noteAnswer(name)
      return answer
    } catch (error) {
      noteFailure(name, error)
      throw error
    }
  }

  async function* listed<Each>(name: string, all: AsyncIterable<Each>): AsyncGenerator<Each> {
    try {
      yield* all
      noteAnswer(name)
    } catch (error) {
      noteFailure(name, error)
      throw error
    }
  }

  return {
    of,

    /** The same provider, listened to. */
    listen(name: string, connection: PaymentProvider): PaymentProvider {
      const refund = connection.refund?.bind(connection)
      const list = connection.list?.bind(connection)
      return {
        opensOnce: connection.opensOnce,
        open: (wish) => asked(name, () => connection.open(wish)),
        findOpened: (payment, createdAt) => asked(name, () => connection.findOpened(payment, createdAt)),
        find: (providerId, purpose) => asked(name, () => connection.find(providerId, purpose)),
        readNotification: (notification) => connection.readNotification(notification),
        ...(refund && { refund: (wish) => asked(name, () => refund(wish)) }),
        ...(connection.refundKeyMs !== undefined && { refundKeyMs: connection.refundKeyMs }),
        ...(list && { list: (fromAt, toAt) => listed(name, list(fromAt, toAt)) }),
      }
    },
  }
}
