import { Refusal } from '../../kernel/refusal.ts'

export const noSuchNode = (): Refusal => new Refusal('missing', 'not_found', 'There is no such node.')
