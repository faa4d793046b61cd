import type { CustomerId, MailingId } from '../../core/ids.ts'
import { toIso } from '../../core/time.ts'
import type { DomainEvent } from '../events/rules.ts'

export const audienceProducts = ['dedicated', 'premium', 'vpn'] as const

/** Which customers a mailing is for. Without a limit all who are not blocked. */
export type Audience = {
  /** Those who have running services of this product. */
  readonly product: (typeof audienceProducts)[number] | null
  /** Those with a service that ends within so many days. */
  readonly endsWithinDays: number | null
  /** Those with a proxy that this gateway serves, or a VPN device at the location of this VPN node. */
  readonly node: string | null
}

/** One language at least has a text. */
type MailingTexts = {
  readonly subjectEn: string | null
  readonly textEn: string | null
  readonly subjectRu: string | null
  readonly textRu: string | null
}

export const mailingStates = ['walking', 'done', 'stopped'] as const
export const mailingKinds = ['price', 'message'] as const

export type Mailing = Audience &
  MailingTexts & {
    readonly id: MailingId
    readonly kind: (typeof mailingKinds)[number]
    /** When announced prices change; null for a message. */
    readonly effectiveAt: number | null
    readonly state: (typeof mailingStates)[number]
    readonly afterCustomer: CustomerId
    /** Customers who got it so far. */
    readonly customers: number
    readonly createdAt: number
  }

/** The event about prices that change. */
export const priceEvent = (customer: CustomerId, of: Mailing): DomainEvent => ({
  customer,
  type: 'price.announced',
  order: null,
  subject: of.id,
  data: {
    effective_at: of.effectiveAt === null ? null : toIso(of.effectiveAt),
    product: of.product,
    text_en: of.textEn,
    text_ru: of.textRu,
  },
})
