import { Refusal } from '../../core/refusal.ts'

export const noSuchMailing = (): Refusal => new Refusal('mailing_not_found')
